"""Tables of a run: one module for each suite, and what they share."""
