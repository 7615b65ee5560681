"""`isthmus fleet`: a module a command."""
