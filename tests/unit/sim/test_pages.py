"""Pages: random streams of accesses against a reference model that knows only sets of lines."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from fakes.paired_pages import KINDS, LINE, NUM_PAGES, Pair, Stream, policies, steps
from fakes.reference_regions import runs_of

if TYPE_CHECKING:  # only the tests marked native have it
    from isthmus import _native

pytestmark = pytest.mark.native


# Those of the paper, and of drivers.
_USUAL = {"whole_page", "single_range", "ranges", "bitmap", "tree"}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in _USUAL else pytest.mark.long) for kind in KINDS],
)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_table_does_what_the_reference_model_does(kind: str, data: st.DataObject) -> None:
    Pair(data.draw(policies([kind]))).run(data.draw(steps))


@given(policy=policies(["ranges", "bitmap", "single_range"]), stream=steps)
@settings(deadline=None)
def test_merged_requests_move_every_line_at_most_once(
    policy: _native.MigrationPolicy, stream: Stream
) -> None:
    policy.merge, policy.write, policy.single_gap = True, "migrate", "planned"
    pair = Pair(policy)
    pair.run([step for step in stream if step[0] != "cpu"])
    assert pair.moved_lines == sum(len(page.planned) for page in pair.pages)
    assert pair.moved_lines <= NUM_PAGES * policy.page_bytes // LINE


@given(policy=policies(["bitmap"]), stream=steps)
@settings(deadline=None)
def test_a_bitmap_moves_the_union_of_the_units_asked_for(
    policy: _native.MigrationPolicy, stream: Stream
) -> None:
    policy.merge, policy.write = True, "migrate"
    pair = Pair(policy)
    unit, num_lines = policy.unit_bytes // LINE, policy.page_bytes // LINE
    asked = set[tuple[int, int]]()
    for what, page, at, length in stream:
        if what not in {"read", "write"}:
            continue
        first = at % num_lines
        pair.access(page, at, length, is_write=what == "write")
        asked |= {(page, line // unit) for line in range(first, min(first + length, num_lines))}
    assert pair.moved_lines == len(asked) * unit


@given(policy=policies(["ranges"]), stream=steps)
@settings(deadline=None)
def test_a_page_never_has_more_ranges_than_it_may(
    policy: _native.MigrationPolicy, stream: Stream
) -> None:
    pair = Pair(policy)
    for step in stream:
        pair.run([step])
        assert all(len(runs_of(page.planned)) <= policy.max_ranges for page in pair.pages)


@given(stream=steps)
@settings(deadline=None)
def test_a_larger_unit_never_moves_less(stream: Stream) -> None:
    from isthmus import _native

    moved = []
    for unit_bytes in (128, 512, 2048, 8192):
        policy = _native.MigrationPolicy("bitmap")
        policy.page_bytes, policy.unit_bytes = 8192, unit_bytes
        pair = Pair(policy)
        pair.run([step for step in stream if step[0] in {"read", "write"}])
        moved.append(pair.moved_lines)
    assert all(less <= more for less, more in pairwise(moved))


@given(stream=steps, merge=st.booleans())
@settings(deadline=None)
def test_units_of_a_page_move_what_whole_pages_move(stream: Stream, *, merge: bool) -> None:
    from isthmus import _native

    transfers = []
    for kind in ("whole_page", "bitmap", "ranges"):
        policy = _native.MigrationPolicy(kind)
        policy.page_bytes = policy.unit_bytes = 8192
        policy.merge = merge
        pair = Pair(policy)
        pair.run(stream)
        transfers.append((pair.moved_lines, pair.under_way))
    assert transfers[0] == transfers[1] == transfers[2]


@given(
    numbers=st.lists(st.integers(0, 400), max_size=150),
    kind=st.sampled_from(["lru", "tree", "block_64k", "clock"]),
    recency=st.sampled_from(["migration", "access"]),
)
@settings(deadline=None)
def test_what_is_evicted_leaves_room_and_only_what_was_there_goes(
    numbers: list[int], kind: str, recency: str
) -> None:
    from isthmus import _native

    table = _native.PageTable(_native.MigrationPolicy("block_64k"))
    limit_bytes = 6 << 20
    eviction = _native.Eviction(table, kind, limit_bytes, recency=recency)
    for number in numbers:
        _, slot, epoch, transfers = table.request(number << 16, LINE)
        for transfer in transfers:
            eviction.started(slot, transfer)
            table.arrived(slot, epoch, transfer)
        eviction.used(slot, number % 32 << 16)
        before = table.valid_bytes
        gone = eviction.make_room(slot)
        assert table.valid_bytes == before - sum(back for _, _, back in gone)
        assert all(victim != slot and back > 0 for victim, _, back in gone)
        assert eviction.fits
        assert table.valid_bytes <= eviction.framed_bytes <= limit_bytes


@given(numbers=st.lists(st.integers(0, 9), max_size=150), is_clock=st.booleans())
@settings(deadline=None)
def test_pages_leave_in_the_order_of_the_textbook(numbers: list[int], *, is_clock: bool) -> None:
    from isthmus import _native

    table = _native.PageTable(_native.MigrationPolicy("whole_page"))
    kind = "clock" if is_clock else "lru"
    eviction = _native.Eviction(table, kind, 4 << 21, recency="access")
    resident: dict[int, bool] = {}  # oldest first; true if used since the hand passed
    for number in numbers:
        _, slot, epoch, transfers = table.request(number << 21, LINE)
        for transfer in transfers:
            eviction.started(slot, transfer)
            table.arrived(slot, epoch, transfer)
        eviction.used(slot, 0)
        if is_clock:
            resident[number] = True
        else:
            resident[number] = resident.pop(number, True)
        expected = []
        while len(resident) > 4:
            oldest = next(iter(resident))
            was_used = resident.pop(oldest)
            if oldest == number or (is_clock and was_used):
                resident[oldest] = False
            else:
                expected.append(oldest)
        gone = [table.slot_of(page) for page in expected]
        assert [victim for victim, _, _ in eviction.make_room(slot)] == gone


def test_the_driver_takes_the_page_moved_longest_ago() -> None:
    from isthmus import _native

    table = _native.PageTable(_native.MigrationPolicy("whole_page"))
    eviction = _native.Eviction(table, "lru", 2 << 21)
    for number in (3, 1, 2):
        _, slot, epoch, transfers = table.request(number << 21, LINE)
        eviction.started(slot, transfers[0])
        table.arrived(slot, epoch, transfers[0])
    assert eviction.make_room(slot) == [(table.slot_of(3), (0, 1 << 21), 1 << 21)]


def test_policies_have_names_and_defaults() -> None:
    from isthmus import _native

    assert all(_native.MigrationPolicy(kind).kind == kind for kind in KINDS)
    tree = _native.MigrationPolicy("tree")
    assert (tree.unit_bytes, tree.grow_bytes, tree.tree_threshold_percent) == (4096, 65536, 51)
    assert _native.MigrationPolicy("ranges").request == "unit"


def test_a_policy_that_can_not_be_is_refused() -> None:
    from isthmus import _native

    with pytest.raises(
        isthmus.UsageError, match=f"unknown kind 'tre': use {', '.join(KINDS)}, own$"
    ):
        _native.MigrationPolicy("tre")
    policy = _native.MigrationPolicy("bitmap")
    with pytest.raises(isthmus.UsageError, match="unknown overflow 'drop': use fill_gap"):
        policy.overflow = "drop"
    policy.unit_bytes = 4 << 20
    with pytest.raises(isthmus.UsageError, match="unit_bytes is 4194304, more than page_bytes"):
        policy.check()
    with pytest.raises(isthmus.UsageError, match="more than page_bytes"):
        _native.PageTable(policy)


def test_slots_and_transfers_of_nobody_are_refused() -> None:
    from isthmus import _native

    table = _native.PageTable(_native.MigrationPolicy("bitmap"))
    with pytest.raises(isthmus.UsageError, match="there is no slot 0"):
        table.state(0)
    slot = table.slot_of(0)
    with pytest.raises(isthmus.UsageError, match="no transfer of this table"):
        table.arrived(slot, 0, (1 << 21, 1024))
    with pytest.raises(isthmus.UsageError, match="isn't within one page"):
        table.request((2 << 20) - 64, LINE)
