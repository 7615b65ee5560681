"""Breadth-first search of a graph in host memory, of whose edges the GPU holds a quarter."""

import numpy as np

import isthmus

NUM_NODES, NUM_EDGES = 20_000, 320_000

# Edges sorted by their first node: those of node i are neighbours[begin[i] : begin[i + 1]].
random = np.random.default_rng(1)
popular = (NUM_NODES * random.random((NUM_EDGES, 2)) ** 3).astype(np.int32)
ends = np.vstack([popular, popular[:, ::-1]])
ends = ends[np.argsort(ends[:, 0], kind="stable")]
begin = np.searchsorted(ends[:, 0], np.arange(NUM_NODES + 1))
neighbours = isthmus.pinned.empty(len(ends), np.int32)
neighbours[:] = ends[:, 1]

level = np.full(NUM_NODES, -1)
level[0] = 0
frontier = np.array([0])
with isthmus.PagedArray(neighbours, "256B", device_bytes=neighbours.nbytes // 4) as edges:
    while frontier.size:
        counts = begin[frontier + 1] - begin[frontier]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        found = np.empty(within.size, np.int32)
        # The frontier's edges, each from a frame of the GPU's memory or from the host's.
        isthmus.copy(found, edges.gather(np.repeat(begin[frontier], counts) + within))
        depth = level[frontier[0]] + 1
        frontier = np.unique(found[level[found] < 0])
        level[frontier] = depth
    stats = edges.stats()

reached = level >= 0
print(f"reached: {reached.sum()} of {NUM_NODES} nodes, at most {level.max()} steps away")
print(f"frames: {stats.num_frames} for {stats.num_units} units, evicted: {stats.evicted_units}")
