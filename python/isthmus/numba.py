"""For programs of Numba: what `isthmus.move.numba` offers."""

from isthmus.move.numba import PagedAccess, paged_access

__all__ = ["PagedAccess", "paged_access"]
