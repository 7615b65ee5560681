"""Compares runs, result by result. Knows no format and prints nothing."""
