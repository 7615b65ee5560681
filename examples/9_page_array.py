"""An array in host memory that the GPU fetches on demand."""

import numpy as np

import isthmus

table = isthmus.pinned.empty((100_000, 16), np.float32)  # 6.4 MB
table[:] = np.arange(100_000)[:, None]

with isthmus.PagedArray(table, unit="1KiB") as array:
    # Indices are those of the flattened array: row 500 begins at item 8000.
    rows = np.array([500, 99_999, 7])
    items = rows[:, None] * 16 + np.arange(16)
    found = isthmus.pinned.empty(items.shape, np.float32)
    isthmus.copy(found, array.gather(items))
    print("first items of the rows:", *found[:, 0])

    stats = array.stats()
    print(f"fetched: {stats.fetched_units} of {stats.num_units} units of 1 KiB")

    array.scatter(items, found + 0.5)
    array.flush()
    print("row 500 on the host:", table[500, 0])
    print("sum of the first 10 rows:", array.reduce("sum", 0, 160))
