"""
CPU mappings of GPU memory: a store through one takes a tenth of a microsecond, a copy several.

`recognition.py` finds the bytes of GPU memory that an object means, as `isthmus.move.arrays` reads
it; `opening.py` maps them; the copies are native.
`gdrapi.py` finds the library for programs written for GDRCopy.
"""
