"""
Paged arrays: arrays in host memory of which the GPU holds what its kernels touch.

`array.py` has the class, and `built_in.py` what needs no kernel of one's own; `operands.py` reads
indices, values, numbers and ranges; `source.py` checks the host's array, its file and the budget;
`header.py` gives the kernels that are built in, and the text of the headers for others.
"""
