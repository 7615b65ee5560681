"""
For PyTorch programs: batches that are on the GPU when they are needed, and models and tensors that
move at the link's speed.

`prefetching.py` uploads the batches of a loader ahead of their use; `ahead.py` reads any iterable
ahead in a thread; `nesting.py` finds the tensors in a batch, and those of objects that move
themselves; `moving.py` moves tensors, modules and optimizers; `loading.py` loads files of
`torch.save`, once `bounds.py` has seen that their pickles are no bombs.
PyTorch is imported when something of this is first used.
"""

from isthmus.move.torch.moving import to
from isthmus.move.torch.prefetching import prefetch

__all__ = ["prefetch", "to"]
