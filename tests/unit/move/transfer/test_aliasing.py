"""Structures whose arrays share memory: the right bytes, or a refusal that names two that do."""

import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import isthmus
from fakes.device_arrays import CudaArray
from isthmus import _native

pytestmark = pytest.mark.native

SIDE = 12
SIZE = SIDE * SIDE
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]
View = Callable[[Any], Any]


class Pair(NamedTuple):
    """What one pair writes, and what it reads there, item by item."""

    target: View
    source: View

    def places(self) -> tuple[Numbers, Numbers]:
        numbers = np.arange(SIZE).reshape(SIDE, SIDE)
        return self.target(numbers).ravel(), self.source(numbers).ravel()


def view(chance: random.Random, rows: int, columns: int) -> View:
    """Choose a part of a square of that shape, with or without gaps, in either order."""
    turned = chance.random() < 0.3
    lengths = (columns, rows) if turned else (rows, columns)
    steps = [chance.choice([1, 1, 1, 2]) for _ in lengths]
    spans = [(length - 1) * step + 1 for length, step in zip(lengths, steps, strict=True)]
    firsts = [chance.randint(0, SIDE - span) for span in spans]
    part = tuple(
        slice(first, first + span, step)
        for first, span, step in zip(firsts, spans, steps, strict=True)
    )
    return (lambda square: square[part].T) if turned else (lambda square: square[part])


def rows_of(chance: random.Random, count: int) -> View:
    """Choose whole rows, which have no gaps."""
    first = chance.randint(0, SIDE - count)
    return lambda square: square[first : first + count]


def first_row(whole: View) -> View:
    return lambda square: whole(square)[:1]


def pairs_of(chance: random.Random) -> list[Pair]:
    """Choose some pairs, of which some are there twice, or are parts of others."""
    pairs: list[Pair] = []
    for _ in range(chance.randint(1, 4)):
        rows, columns = chance.choice([(1, 5), (2, 3), (3, SIDE), (4, 4)])
        if columns == SIDE:
            pairs.append(Pair(rows_of(chance, rows), rows_of(chance, rows)))
        else:
            pairs.append(Pair(view(chance, rows, columns), view(chance, rows, columns)))
    for pair in list(pairs):
        if chance.random() < 0.4:
            pairs.append(pair)
        if chance.random() < 0.3:
            pairs.append(Pair(first_row(pair.target), first_row(pair.source)))
    chance.shuffle(pairs)
    return pairs


def conflicts(pairs: list[Pair], *, in_place: bool) -> set[frozenset[int]]:
    """List the pairs of which the result would depend on an order, by brute force."""
    found = set()
    for i, (to, of) in enumerate(pair.places() for pair in pairs):
        for j, (other_to, other_of) in enumerate(pair.places() for pair in pairs[:i]):
            gets = dict(zip(to, of, strict=True))
            others = dict(zip(other_to, other_of, strict=True))
            twice = any(gets[place] != others[place] for place in gets.keys() & others.keys())
            crossed = in_place and ({*to} & {*other_of} or {*of} & {*other_to})
            if twice or crossed:
                found.add(frozenset({i, j}))
    return found


def overlapping(pairs: list[Pair], *, in_place: bool) -> set[frozenset[int]]:
    """List the pairs that write the same, or of which one writes what the other reads."""
    found = set()
    for i, (to, of) in enumerate(pair.places() for pair in pairs):
        for j, (other_to, other_of) in enumerate(pair.places() for pair in pairs[:i]):
            crossed = in_place and ({*to} & {*other_of} or {*of} & {*other_to})
            if {*to} & {*other_to} or crossed:
                found.add(frozenset({i, j}))
    return found


def numbered(first: int) -> Bytes:
    return ((np.arange(SIZE) * 7 + first) % 251).astype(np.uint8).reshape(SIDE, SIDE)


def structure(arrays: list[Any]) -> Any:  # noqa: ANN401 - any structure
    """Nest arrays: their paths are 0.array, 1.array ..."""
    return [{"array": array} for array in arrays]


def on_device(memory: _native.DeviceMemory, at: int, square: Bytes, part: View) -> CudaArray:
    shown = part(square)
    offset = shown.__array_interface__["data"][0] - square.__array_interface__["data"][0]
    return CudaArray(memory.pointer + at + offset, shown.shape, strides=shown.strides)


@pytest.mark.parametrize("way", ["host", "up", "down", "device", "in place"])
def test_shared_memory_gives_the_right_bytes_or_a_refusal_with_both_paths(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, way: str
) -> None:
    chance = random.Random(way)  # noqa: S311 - the same each time
    outcomes = {"copied": 0, "copied with ties": 0, "refused": 0}
    for _ in range(120):
        pairs = pairs_of(chance)
        in_place = way == "in place"
        if in_place and any({*pair.places()[0]} & {*pair.places()[1]} for pair in pairs):
            continue  # one pair alone overlaps
        source = numbered(3)
        target = source if in_place else numbered(100)
        expected, before = target.copy(), source.copy()
        memory.write(np.concatenate([target.ravel(), source.ravel()]))
        targets: list[Any] = [pair.target(target) for pair in pairs]
        sources: list[Any] = [pair.source(source) for pair in pairs]
        if way in {"up", "device"}:
            targets = [on_device(memory, 0, target, pair.target) for pair in pairs]
        if way in {"down", "device"}:
            sources = [on_device(memory, SIZE, source, pair.source) for pair in pairs]
        try:
            transfers.copy(structure(targets), structure(sources))
        except isthmus.UsageError as refusal:
            named = frozenset(int(name) for name in re.findall(r"(\d+)\.array", str(refusal)))
            meeting = overlapping(pairs, in_place=in_place)
            if named not in meeting:
                pytest.fail(f"they share nothing: {refusal}")
            if all(len({pairs[i] for i in two}) == 1 for two in meeting):
                pytest.fail(f"all that meet are there twice: {refusal}")
            outcomes["refused"] += 1
        else:
            assert not conflicts(pairs, in_place=in_place)
            ties = overlapping(pairs, in_place=in_place)
            outcomes["copied with ties" if ties else "copied"] += 1
            for pair in pairs:
                pair.target(expected)[...] = pair.source(before)
        found = np.frombuffer(memory.read(SIZE), np.uint8).reshape(SIDE, SIDE)
        assert np.array_equal(found if way in {"up", "device"} else target, expected)
    assert min(outcomes.values()) > 5, outcomes
