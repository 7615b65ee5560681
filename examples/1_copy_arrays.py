"""
Copies arrays to a GPU and back, blocking and not.

Uses the first GPU. Without one: ISTHMUS_DRIVER=emulated python 1_copy_arrays.py
"""

import asyncio

import numpy as np

import isthmus

LENGTH = 1 << 20


async def first_sum(tensor: isthmus.ArrayLike) -> float:
    """Download an array while other tasks continue."""
    home = isthmus.pinned.empty(LENGTH, np.float32)
    await isthmus.copy_async(home, tensor)
    return float(home[:100].sum())


def main() -> None:
    """Copy there and back, blocking and not, and print what was done."""
    # Or any library's array on a GPU: torch.empty(LENGTH, device="cuda"), cupy.empty(LENGTH, "f4")
    tensor = isthmus.device_empty(LENGTH, np.float32)
    numbers = np.arange(LENGTH, dtype=np.float32)
    isthmus.copy(tensor, numbers)

    back = np.empty_like(numbers)
    future = isthmus.copy_async(back, tensor)
    future.result(timeout=60)
    print("the same" if np.array_equal(back, numbers) else "differs")

    # Pinned memory comes from a pool, and returns to it with the array.
    batch = isthmus.pinned.empty((4, LENGTH // 4), np.float32)
    batch[:] = numbers.reshape(batch.shape) ** 2
    isthmus.copy(tensor, batch.reshape(-1))
    print("sum of the first 100 squares:", asyncio.run(first_sum(tensor)))

    plan = isthmus.explain(tensor, numbers)
    print(plan.source, "to", plan.target)
    print(isthmus.stats().calls, "copies")


if __name__ == "__main__":
    main()
