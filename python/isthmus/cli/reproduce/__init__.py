"""`isthmus reproduce`."""
