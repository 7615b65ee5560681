"""Many machines measured as one: which of them is bad, and why. Prints nothing."""
