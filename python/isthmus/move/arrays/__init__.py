"""
Which memory an object means: where it lies, what its items are, and what pending work uses it.

The native module reads arrays (`bindings/arrays`). This part tells it what only Python knows:
the way to read each type (`reading.py`), the stream that an object means, how to export an array
and wait for its work (`streams.py`), and what is wrong with an object that can't be read
(`refusals.py`).
"""
