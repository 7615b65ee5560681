"""Runs what is tested in threads."""

import threading
from collections.abc import Callable


def run_in_threads(task: Callable[[int], None], num_threads: int = 1) -> None:
    """Run a task in new threads, with their numbers, and raise the first exception of any."""
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            task(number)
        except BaseException as failure:  # noqa: BLE001 - raised below
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(num_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
