"""
Says how well this machine can move data, and what to do if it could be better.

`read_*.py` read facts and never fail; `check_*.py` judge facts and read nothing; `facts.py` has
the facts.
"""
