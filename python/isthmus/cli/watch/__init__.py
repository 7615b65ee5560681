"""`isthmus watch`: run a program, and say what its copies cost."""
