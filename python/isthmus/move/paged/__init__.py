"""
Paged arrays: arrays in host memory of which the GPU holds what its kernels touch.

`array.py` has the class, and `built_in.py` what needs no kernel of one's own; `operands.py` reads
indices and values of any library; `given.py` reads numbers and ranges; `source.py` checks the
host's array and the budget; `file.py` has the file of a memory-mapped array; `kernels.py` gives the
kernels that are built in, and `header.py` the text of the headers for others.
"""
