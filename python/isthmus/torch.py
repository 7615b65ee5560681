"""For PyTorch programs: what `isthmus.move.torch` offers."""

from isthmus.move.torch import prefetch, to

__all__ = ["prefetch", "to"]
