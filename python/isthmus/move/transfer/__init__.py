"""
One copy call between arrays of any library, by the cheapest path.

`copying.py` has the calls, and `transfers.py` the same for a driver that is named. The native
module reads both arrays, and copies them if their memory orders agree. For others `pairs.py` says
whether one can be copied to the other at all, and whether items may be converted; `work.py` makes
the copy, and `packing.py` packs a host array for it.
"""
