"""
For programs of Numba: paged arrays in kernels that are written in Python.

`paged_access.py` makes the functions. Numba is imported when something of this is first used.
"""

from isthmus.numba.paged_access import PagedAccess, paged_access

__all__ = ["PagedAccess", "paged_access"]
