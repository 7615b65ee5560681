"""
Adaptive page migration (Ganguly 2020) as a policy of one's own.

Reads stay on the link until their block of 64 KiB was accessed often enough; writes migrate at
once. The threshold grows with the share of GPU memory in use, and once memory is full with the
number of times that the page has come back. The page with the fewest accesses leaves; of equal ones
one that was only read, then the oldest.

Source: UVMSmart, gpu-sim.cc, should_cause_page_migration and sort_valid_pages. The factor for full
memory has no default there; 2 is ours.

    isthmus sim run bfs -p access-counter -p adaptive_migration.py:AdaptiveMigration \
        --set policy.unit=64KiB --set policy.counter_threshold=8
"""

from collections import Counter
from typing import Any

import numpy as np

BLOCK_BYTES = 64 * 1024
PENALTY = 2


class AdaptiveMigration:
    """One run's policy."""

    hits = True  # on_access is told accesses to bytes on the GPU, too: they are counted
    remote = True  # what on_access leaves out is served over the link

    def __init__(self, setup: Any) -> None:  # noqa: ANN401 - an isthmus.sim.settings.Setup
        """Take the run's sizes and the threshold from its settings."""
        self.threshold = setup.policy.counter_threshold
        self.blocks = max(1, setup.policy.page // BLOCK_BYTES)
        self.num_frames = setup.machine.partitions.memory // setup.policy.page
        self.counts: Counter[int] = Counter()  # by block
        self.written: set[int] = set()  # pages
        self.present: set[int] = set()
        self.returns: Counter[int] = Counter()  # how often a page has left
        self.is_full = False

    def on_access(self, accesses: np.ndarray, _asked: np.ndarray) -> list[tuple[int, int]]:
        """Count; the last access asks, unless it is a hit."""
        rows = accesses.tolist()
        for page, offset, _, is_write, _ in rows:
            self.counts[page * self.blocks + offset // BLOCK_BYTES] += 1
            if is_write:
                self.written.add(page)
        page, offset, _, is_write, is_hit = rows[-1]
        block = offset // BLOCK_BYTES
        uses = self.counts[page * self.blocks + block]
        if is_hit or (not is_write and uses < self.needed(page)):
            return []
        self.counts[page * self.blocks + block] -= 1  # it comes again, as a hit
        self.present.add(page)
        return [(block * BLOCK_BYTES, BLOCK_BYTES)]

    def needed(self, page: int) -> int:
        """Give the number of the access that makes a block of this page migrate."""
        if self.is_full:
            return self.threshold * PENALTY * (self.returns[page] + 1)
        return int(1 + self.threshold * len(self.present) / self.num_frames)

    def victims(self, pages: np.ndarray, needed: int) -> list[int]:
        """Choose the pages that leave."""
        self.is_full = True
        order = sorted(pages.tolist(), key=lambda page: (self.uses(page), page in self.written))
        for page in order[:needed]:
            self.present.discard(page)
            self.returns[page] += 1
        return order[:needed]

    def uses(self, page: int) -> int:
        """Count the accesses to a page."""
        return sum(self.counts[page * self.blocks + block] for block in range(self.blocks))
