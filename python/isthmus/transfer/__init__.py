"""
One copy call between arrays of any library, by whichever way is cheapest.

`copying.py` has the calls. Arrays of everyday copies are read natively; for the others
`pairs.py` says whether they fit each other, `ordering.py` in which stream they are copied, and
`packing.py` copies by way of a contiguous host array what doesn't lie alike.
"""
