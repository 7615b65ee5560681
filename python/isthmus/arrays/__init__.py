"""
Which memory an object means: where it lies, what its items are, and in which stream it is used.

`recognition.py` finds out, by DLPack (`dlpack.py`), `__cuda_array_interface__` (`cuda_array.py`),
or as host memory (`host_array.py`); `layout.py` judges shapes and strides, `items.py` types, and
`streams.py` and `pending_work.py` what must be complete before the memory is touched.
"""
