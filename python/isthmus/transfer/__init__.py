"""
One copy call between arrays of any library, by the cheapest path.

`copying.py` has the calls. Common arrays are read natively; for others, `pairs.py` says whether
they fit each other, `ordering.py` in which stream they are copied, and `packing.py` copies
arrays with different memory orders through a contiguous host array.
"""
