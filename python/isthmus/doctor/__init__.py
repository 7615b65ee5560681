"""
Says what this machine is like for moving data, and what to do where it could be better.

`read_*.py` find facts out and never fail; `check_*.py` judge facts and touch nothing; `facts.py`
is what lies between them.
"""
