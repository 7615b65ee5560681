"""`isthmus report`."""
