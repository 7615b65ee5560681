"""What the programs share: rounds that are timed, and one line of JSON at the end."""

import json
import sys
import time
from collections.abc import Callable

PINNED = "--pinned" in sys.argv


def report(work: Callable[[], object], outcome: Callable[[], object], rounds: int) -> None:
    """Time some rounds of work, and print them with what came out."""
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": seconds, "outcome": str(outcome())}))
