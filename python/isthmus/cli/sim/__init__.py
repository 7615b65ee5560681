"""`isthmus sim`: a module a command."""
