"""
Copies of every kind by several threads and tasks at once, beside all that may disturb them.

    make stress SECONDS=60 ARGS="--threads 4 --seed 7 --out result.json"

Every byte is compared. The exit code is 1 if a byte differs, memory is written to that was let go,
a capture is ended, an error isn't documented, or something stays behind.
"""

import argparse
import asyncio
import gc
import os
import platform
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import isthmus
from isthmus.ground.json_text import json_text
from stress import troubles
from stress.awaiting import all_await
from stress.copier import Copier
from stress.place import Place, resident_bytes

_NUM_TASKS = 4
_PACKAGES = ("isthmus", "numpy", "torch")


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress", description=__doc__.splitlines()[1])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--no-faults", action="store_true", help="let no call of the driver fail")
    parser.add_argument("--no-captures", action="store_true", help="use the default stream, too")
    parser.add_argument("--torch", action="store_true", help="let PyTorch do the captures")
    parser.add_argument("--out", type=Path, help="write what was done to this file")
    return parser.parse_args(arguments)


def on_a_thread(place: Place, work: Callable[[], None]) -> threading.Thread:
    """Start work whose every error is a failure of the run."""

    def run() -> None:
        try:
            work()
        except Exception:  # noqa: BLE001 - it is reported at the end
            place.tally.fail(traceback.format_exc())

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def work(place: Place, options: argparse.Namespace) -> None:
    """Copy until the time is up. The event loop and the handlers of signals have this thread."""
    copiers = [
        on_a_thread(place, Copier(place, index, options.seed).run)
        for index in range(options.threads)
    ]
    beside = [troubles.collect_and_trim, troubles.fork]
    if place.captures:
        beside.append(troubles.capture_by_torch if options.torch else troubles.capture)
    threads = [on_a_thread(place, lambda do=do: do(place)) for do in beside]  # type: ignore[misc]
    threads.append(on_a_thread(place, lambda: troubles.signal_threads(place, copiers)))
    if place.faults:
        threads.append(on_a_thread(place, lambda: troubles.fail_calls(place, options.seed)))
    timer = threading.Timer(options.seconds, place.ending.set)
    timer.start()
    try:
        asyncio.run(all_await(place, _NUM_TASKS, options.seed))
    except Exception:  # noqa: BLE001 - it is reported at the end
        place.tally.fail(traceback.format_exc())
    for thread in [*copiers, *threads]:
        thread.join()
    timer.cancel()


def require_nothing_left(place: Place) -> None:
    """Pinned memory is the pool's again once no copy is under way."""
    deadline = time.monotonic() + 60
    while isthmus.pinned.stats().used_bytes > 0 and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    used = isthmus.pinned.stats().used_bytes
    if used > 0 and not any("memory in use" in what for what in place.tally.counts):
        place.tally.fail(f"{used} bytes of pinned memory are still in use")


def machine() -> dict[str, Any]:
    driver = isthmus.Windows()._driver
    return {
        "emulated": driver.emulated,
        "device": driver.device(0).name,
        "cuda_version": driver.version,
        "num_cpus": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def tell_warnings_apart(place: Place) -> None:
    """A dropped copy's failure is told by a warning; where none may fail there are none."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if isinstance(message, DeprecationWarning) and "fork" in str(message):
            return  # Python 3.12 and later: threads don't live on in a child. It needs none.
        if place.faults and isinstance(message, isthmus.IsthmusWarning):
            place.tally.count("warning of a dropped copy's failure")
        else:
            place.tally.fail(f"a warning: {message}")

    warnings.simplefilter("always")
    warnings.showwarning = show


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    emulated = isthmus.Windows()._driver.emulated
    faults = emulated and not options.no_faults
    place = Place(folder, faults=faults, captures=not options.no_captures)
    tell_warnings_apart(place)
    handler = troubles.CopyInSignalHandler(place)
    signal.signal(signal.SIGUSR1, lambda *_: None)
    handler()  # what is imported when it is first used can't be imported in a handler, too
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    before = resident_bytes()
    try:
        work(place, options)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    require_nothing_left(place)
    return {
        "schema_version": 1,
        "machine": machine(),
        "seconds": options.seconds,
        "num_threads": options.threads,
        "seed": options.seed,
        "faults": place.faults,
        "captures": place.captures,
        "num_bytes": place.tally.num_bytes,
        "grown_bytes": resident_bytes() - before,
        "counts": dict(sorted(place.tally.counts.items())),
        "failures": place.tally.failures,
    }


def main(arguments: list[str]) -> int:
    options = parsed(arguments)
    random.seed(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        record = run(options, Path(folder))
    if options.out is not None:
        options.out.write_text(json_text(record), encoding="utf-8")
    for what, count in record["counts"].items():
        print(f"{count:>12,}  {what}")
    for failure in record["failures"]:
        print(f"FAILED: {failure}")
    print(
        f"seed {options.seed}, {record['machine']['device']}: {sum(record['counts'].values()):,} "
        f"operations, {record['num_bytes'] / 1e9:.1f} GB, {len(record['failures'])} differences "
        f"or failures; the process grew by {record['grown_bytes'] / 1e6:.0f} MB"
    )
    return 1 if record["failures"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
