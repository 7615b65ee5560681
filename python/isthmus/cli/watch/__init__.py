"""`isthmus watch` and `isthmus exec`: run a program, and say what its copies cost."""
