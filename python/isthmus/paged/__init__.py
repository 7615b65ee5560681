"""
Paged arrays: arrays in host memory of which the GPU holds what its kernels touch.

`array.py` has the class; `operands.py` reads indices and values of any library; `given.py` reads
numbers; `source.py` checks the host's array and the budget; `header.py` gives the text of the
headers for kernels.
"""
