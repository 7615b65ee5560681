"""Short headings for tests: direction and memory, or direction and way of copying."""

from collections import Counter

from isthmus.run.model import Result, Run

BANDWIDTH = "bandwidth"
_ABOUT_WINDOWS = "window_"


def about_windows(result: Result) -> bool:
    """Tell the results of windows, and of their rivals, from those of CUDA's own copies."""
    return result.test.startswith(_ABOUT_WINDOWS)


def of_copies(run: Run) -> list[Result]:
    """List the results of CUDA's own copies."""
    return [result for result in run.results if not about_windows(result)]


def labels(run: Run) -> dict[str, str]:
    """Give each test of a run a heading of its own; its name where a short one would be shared."""
    short = {result.test: _short(result) for result in of_copies(run)}
    times_used = Counter(short.values())
    return {test: text if times_used[text] == 1 else test for test, text in short.items()}


def _short(result: Result) -> str:
    if result.metric == BANDWIDTH:
        host_memory = result.target if result.source == "device" else result.source
        return f"{_direction(result)} {host_memory}"
    return f"{_direction(result)} {result.test.rpartition('_')[2]}"


def _direction(result: Result) -> str:
    return (result.direction or "").upper()
