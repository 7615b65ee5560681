"""
For programs of Numba: paged arrays in kernels that are written in Python.

`access.py` makes the functions. Numba is imported when something of this is first used.
"""

from isthmus.move.numba.access import PagedAccess, paged_access

__all__ = ["PagedAccess", "paged_access"]
