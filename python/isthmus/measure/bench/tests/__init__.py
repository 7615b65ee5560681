"""The tests of `isthmus bench`: what each measures, as data."""
