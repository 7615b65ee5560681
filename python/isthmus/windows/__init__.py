"""
CPU mappings of GPU memory: a store through one takes a tenth of a microsecond, a copy several.

`recognition.py` finds out which bytes of GPU memory an object means, as `isthmus.arrays` reads it;
`opening.py` maps them; the copies are native.
`gdrapi.py` finds the library that serves programs written for GDRCopy.
"""
