"""
CPU mappings of GPU memory: a store through one takes a tenth of a microsecond, a copy several.

`device_bytes.py` finds out which bytes of GPU memory an object means, by DLPack (`dlpack.py`) or
`__cuda_array_interface__` (`cuda_array.py`); `opening.py` maps them; the copies are native.
`gdrapi.py` finds the library that serves programs written for GDRCopy.
"""
