"""The experiments that this project grew from: their published figures, and ours beside them."""
