"""
Lets the work of another stream wait for a copy, while the CPU goes on.

Uses the first GPU. Without one: ISTHMUS_DRIVER=emulated python 2_wait_for_copy.py
"""

import threading

import numpy as np

import isthmus

source = np.ones(1000)
target = isthmus.device_empty(1000, source.dtype)
future = isthmus.copy_async(target, source)
future.event.wait(0)  # the legacy default stream; or a stream of PyTorch, CuPy, Numba, cuda.core
arrived = threading.Event()
future.add_done_callback(lambda _: arrived.set())  # called by another thread
arrived.wait()
print("arrived")

back = np.empty_like(source)
isthmus.copy(back, target)
print("sum:", back.sum())
