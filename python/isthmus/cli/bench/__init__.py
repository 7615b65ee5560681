"""`isthmus bench`: its options, what it measures, and what it says meanwhile."""
