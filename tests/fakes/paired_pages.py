"""A page table and its model, driven alike by random streams of accesses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from fakes.reference_page import ReferencePage
from fakes.reference_regions import Lines, runs_of

if TYPE_CHECKING:  # only tests marked native have it
    from isthmus import _native

Stream = list[tuple[str, int, int, int]]

LINE = 128
NUM_PAGES = 2
KINDS = [
    "whole_page",
    "single_range",
    "ranges",
    "bitmap",
    "block_64k",
    "tree",
    "sequential",
    "access_counter",
    "zero_copy",
    "adaptive",
    "tree_units",
]


def powers(least: int, most: int) -> st.SearchStrategy[int]:
    return st.sampled_from([1 << bit for bit in range(least.bit_length() - 1, most.bit_length())])


@st.composite
def policies(draw: st.DrawFn, kinds: list[str]) -> _native.MigrationPolicy:
    """Give a policy of small pages, so that they fill up in a few requests."""
    from isthmus import _native

    policy = _native.MigrationPolicy(draw(st.sampled_from(kinds)))
    policy.page_bytes = draw(powers(512, 32768))
    policy.unit_bytes = draw(powers(LINE, min(policy.page_bytes, 4096)))
    policy.counter_bytes = draw(powers(policy.unit_bytes, 32 * policy.unit_bytes))
    policy.counter_threshold = draw(st.integers(1, 4))
    policy.merge = draw(st.booleans())
    policy.request = draw(st.sampled_from(["line", "unit"]))
    policy.write = draw(st.sampled_from(["migrate", "validate"]))
    policy.single_gap = draw(st.sampled_from(["planned", "valid"]))
    policy.overflow = draw(st.sampled_from(["fill_gap", "whole_page", "refuse"]))
    policy.gap_bytes = draw(st.integers(0, 1024))
    policy.max_ranges = draw(st.integers(1, 5))
    policy.tree_threshold_percent = draw(st.integers(1, 100))
    policy.grow_bytes = draw(powers(LINE, 8192))
    policy.prefetch_bytes = draw(st.integers(0, 32).map(lambda lines: lines * policy.unit_bytes))
    policy.max_unit_bytes = draw(powers(LINE, 8192))
    return policy


# Steps: what, and three numbers that mean what the step makes of them.
steps: st.SearchStrategy[Stream] = st.lists(
    st.tuples(
        st.sampled_from(["read", "read", "read", "write", "arrive", "arrive", "arrive", "cpu"]),
        st.integers(0, NUM_PAGES - 1),
        st.integers(0, 255),
        st.integers(1, 40),
    ),
    max_size=60,
)


@dataclass
class Pair:
    """A table and its model, driven alike."""

    policy: _native.MigrationPolicy
    table: _native.PageTable = field(init=False)
    pages: list[ReferencePage] = field(init=False)
    under_way: list[tuple[int, int, int, tuple[int, int]]] = field(default_factory=list)
    epochs: list[int] = field(default_factory=lambda: [0] * NUM_PAGES)
    moved_lines: int = 0

    def __post_init__(self) -> None:
        from isthmus import _native

        self.table = _native.PageTable(self.policy)
        self.pages = [ReferencePage(self.policy) for _ in range(NUM_PAGES)]

    def access(self, page: int, at: int, length: int, *, is_write: bool) -> None:
        num_lines = self.policy.page_bytes // LINE
        first = at % num_lines
        wanted = set(range(first, min(first + length, num_lines)))
        address = page * self.policy.page_bytes + first * LINE
        outcome, slot, epoch, transfers = self.table.request(address, len(wanted) * LINE, is_write)
        expected, moving = self.pages[page].request(wanted, is_write=is_write)
        assert (outcome, runs_of(lines_of(transfers))) == (expected, runs_of(moving))
        assert sum(length for _, length in transfers) == len(moving) * LINE, "nothing twice"
        self.moved_lines += len(moving)
        self.under_way += [(page, slot, epoch, transfer) for transfer in transfers]

    def arrive(self, which: int) -> None:
        if not self.under_way:
            return
        page, slot, epoch, transfer = self.under_way.pop(which % len(self.under_way))
        is_current = epoch == self.epochs[page]
        expected = is_current and self.pages[page].arrived(lines_of([transfer]))
        assert self.table.arrived(slot, epoch, transfer) == expected

    def cpu_request(self, page: int) -> None:
        assert self.table.cpu_request(page) == len(self.pages[page].valid) * LINE
        self.pages[page].clear()
        self.epochs[page] += 1

    def check(self) -> None:
        """Everything that can be asked without changing anything."""
        for number, page in enumerate(self.pages):
            slot = self.table.slot_of(number)
            ranges = [(first * LINE, (end - first) * LINE) for first, end in runs_of(page.valid)]
            assert self.table.ranges(slot) == ranges
            is_whole = len(page.valid) * LINE == self.policy.page_bytes
            state = "gpu" if is_whole else "partial" if page.valid else "cpu"
            assert self.table.state(slot) == state
        assert self.table.valid_bytes == sum(len(page.valid) for page in self.pages) * LINE
        assert self.table.resident_bytes == sum(len(page.planned) for page in self.pages) * LINE

    def run(self, stream: Stream) -> None:
        for what, page, at, length in stream:
            if what == "cpu":
                self.cpu_request(page)
            elif what == "arrive":
                self.arrive(at)
            else:
                self.access(page, at, length, is_write=what == "write")
            self.check()


def lines_of(transfers: list[tuple[int, int]]) -> Lines:
    return {
        line
        for offset, length in transfers
        for line in range(offset // LINE, (offset + length) // LINE)
    }
