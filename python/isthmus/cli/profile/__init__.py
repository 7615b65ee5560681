"""`isthmus profile`, and profiles that other commands have measured."""
