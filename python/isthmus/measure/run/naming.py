"""
How tests are named: `<from>_to_<to>_<kind>_<way>`, as in nvbandwidth, or `<kind>_<way>`.

`bench` makes names with this, and results of all versions are classified with it.
"""

from enum import StrEnum
from functools import lru_cache


class Kind(StrEnum):
    """What several tests have in common; the words for it in their names."""

    MEMCPY = "memcpy"
    BIDIRECTIONAL = "bidirectional_memcpy"
    MANAGED = "managed"
    MANY_COPIES = "many_copies"
    BLOCKS = "blocks"
    SMALL_COPY = "small_copy"
    OVERLAP = "overlap"
    PINNED_VS_PAGEABLE = "pinned_vs_pageable"
    # These have no direction in their names.
    WINDOW_BANDWIDTH = "window_bandwidth"
    WINDOW = "window"
    HOST_MEMCPY = "host_memcpy"
    ALLOC = "alloc"
    PAGING = "paging"


_ENDS = {"h2d": "host_to_device", "d2h": "device_to_host"}
_UNDIRECTED = (Kind.WINDOW_BANDWIDTH, Kind.WINDOW, Kind.HOST_MEMCPY, Kind.ALLOC, Kind.PAGING)
# The beginnings of names. The longer of two that fit comes first.
_BEGINNINGS = {kind.value: kind for kind in _UNDIRECTED} | {
    f"{ends}_{kind}": kind for kind in Kind if kind not in _UNDIRECTED for ends in _ENDS.values()
}


def directed_name(direction: str, kind: Kind, way: str = "") -> str:
    """
    Name a test of copies between host and device by "h2d" or "d2h", what it does, and the way, if
    there are several.
    """
    return "_".join(filter(None, (_ENDS[direction], kind, way)))


@lru_cache(maxsize=1024)
def kind_and_way(test: str) -> tuple[Kind | None, str]:
    """Split a test's name: its kind and its way; None and the name if it is of no kind."""
    for beginning, kind in _BEGINNINGS.items():
        if test == beginning or test.startswith(f"{beginning}_"):
            return kind, test[len(beginning) + 1 :]
    return None, test
