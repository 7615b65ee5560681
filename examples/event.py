"""Lets the work of another stream wait for a copy, while the CPU goes on."""

import numpy as np

import isthmus

target, source = isthmus.pinned.empty(1000), np.ones(1000)
future = isthmus.copy_async(target, source)  # either may be on a GPU
future.event.wait(0)  # the legacy default stream; or a stream of PyTorch, CuPy, Numba, cuda.core
future.add_done_callback(lambda _: print("arrived"))
future.result()
print(target.sum())
