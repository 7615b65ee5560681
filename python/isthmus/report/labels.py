"""Short headings for tests: direction and memory, or direction and way of copying."""

from collections import Counter

from isthmus.run.model import Result, Run

BANDWIDTH = "bandwidth"


def labels(run: Run) -> dict[str, str]:
    """Give each test of a run a heading of its own; its name where a short one would be shared."""
    short = {result.test: _short(result) for result in run.results}
    times_used = Counter(short.values())
    return {test: text if times_used[text] == 1 else test for test, text in short.items()}


def _short(result: Result) -> str:
    if result.metric == BANDWIDTH:
        host_memory = result.target if result.source == "device" else result.source
        return f"{result.direction.upper()} {host_memory}"
    return f"{result.direction.upper()} {result.test.rpartition('_')[2]}"
