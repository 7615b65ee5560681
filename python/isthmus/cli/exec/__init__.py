"""`isthmus exec`: run a program with its slow copies replaced."""
