"""
Places of a node with several GPUs, which are judged as GPUs are.

A place is a pair of GPUs that read and write each other's memory, or a GPU's share: what it gets
while all GPUs of the node copy at once. They are results of suite `multi`.
"""

import re

from isthmus.measure.compare.families import Family, is_sampled
from isthmus.measure.run.result import Result

Place = tuple[int, ...]
"""The numbers of a pair's GPUs, in ascending order; the number of a share's GPU."""
NOUNS = ("GPU", "share", "pair")
"""What is judged, by the length of its place."""
AT_ONCE = ", all GPUs at once"
"""Ends the name of a family that was measured while all GPUs of the node copied."""
_AXES = ("gpu", "peer")
_SHARES = {
    "host_to_all": "pinned copies, H2D",
    "all_to_host": "pinned copies, D2H",
    "all_to_one": "copies from all other GPUs",
    "one_to_all": "copies to all other GPUs",
}
_TEST = re.compile(f"(?P<ends>device_to_device|{'|'.join(_SHARES)})_")


def place_of(result: Result) -> Place:
    """Give the place that a result is about; () if it isn't about one."""
    if "gpu" not in result.axes or not _TEST.match(result.test):
        return ()
    return tuple(sorted(int(result.axes[axis]) for axis in _AXES if axis in result.axes))


def words_of(place: Place) -> str:
    """Name a place of a node."""
    return f"GPUs {place[0]} and {place[1]}" if len(place) > 1 else f"share of GPU {place[0]}"


def bare(result: Result) -> Result:
    """Give a result of a place with axes that it has in common with that of another place."""
    axes = {name: value for name, value in result.axes.items() if name not in _AXES}
    into = {"into": _into(result)} if "peer" in result.axes else {}
    return result.model_copy(update={"axes": axes | into})


def family_at(result: Result, *, emulated: bool) -> Family | None:
    """Give the family of a place's result, as `family_of` does."""
    match = _TEST.match(result.test)
    if match is None or not is_sampled(result):
        return None
    by_kernel, loaded = result.test.endswith("_sm"), result.metric != "alone"
    parts = [
        _SHARES.get(match["ends"]) or f"copies into the {_into(result)} of a pair",
        "by a kernel" if by_kernel else "",
        "both directions at once" if loaded and "bidirectional" in result.test else "",
    ]
    ending = AT_ONCE if loaded and match["ends"] in _SHARES else ""
    # Kernels of an emulated GPU run on this CPU.
    clock = "host" if emulated and by_kernel else result.clock
    return Family(name=", ".join(filter(None, parts)) + ending, unit=result.unit, clock=clock)


def _into(result: Result) -> str:
    """Say which GPU of a pair gets the bytes: the one of the lower number is the first."""
    gpu, peer = (int(result.axes[axis]) for axis in _AXES)
    target = gpu if result.source == "peer" else peer
    return "first" if target == min(gpu, peer) else "second"
