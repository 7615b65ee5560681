"""The arrays of a call that can't be copied as they are: packed, or copied after the others."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from isthmus import _native
from isthmus.errors import Error
from isthmus.move.arrays.array import Array
from isthmus.move.arrays.layout import taken_strides
from isthmus.move.arrays.refusals import refuse_at
from isthmus.move.transfer.packing import bytes_at, items_of, numpy_module, range_of
from isthmus.move.transfer.pairs import (
    NO_CASTING,
    Casting,
    PlainCopy,
    fills_its_memory,
    is_conversion,
    plain_copy,
    require_match,
)
from isthmus.move.transfer.plan import ManyPlan, many_plan_of
from isthmus.move.transfer.work import Prepared, Work

if TYPE_CHECKING:
    from isthmus.move.transfer.packing import Items

# Of NumPy's search for a common item: some milliseconds.
_MAX_WORK = 10_000
# An address that no array has.
_NOWHERE = 1


class _End(NamedTuple):
    """Memory that a pair reads or writes; `shift` is how far before it what it gets lies."""

    pair: int
    begin: int
    size_bytes: int
    written: bool
    shift: int | None
    array: Array | None = None  # one with gaps

    def items(self) -> "Items":
        return bytes_at(self.begin, self.size_bytes) if self.array is None else items_of(self.array)


def require_apart(batch: _native.ArrayBatch, works: Iterable[tuple[int, Work]]) -> None:
    """Refuse an array with gaps if a pair writes an item that another reads or writes."""
    ends = [end for pair, work in works for end in _ends_of(pair, work)]
    gapped = [end for end in ends if end.array is not None]
    near = {row for end in gapped for row in batch.touching(end.begin, end.begin + end.size_bytes)}
    ends += [
        _End(pair, begin, size_bytes, written, begin - source if written else None)
        for pair, begin, size_bytes, written, source in near
    ]
    if not gapped or len(ends) == 2:  # noqa: PLR2004 - the two of one pair
        return
    runs = [_run_bytes(end) for end in ends]
    period = math.gcd(*(_period_bytes(end.array) for end in gapped if end.array is not None))
    np = numpy_module()
    begins, sizes, lengths = (
        np.array(numbers, np.int64)
        for numbers in ([end.begin for end in ends], [end.size_bytes for end in ends], runs)
    )
    written = np.array([end.written for end in ends])
    for end in gapped:
        distances = begins - end.begin
        meets = (distances < end.size_bytes) & (distances + sizes > 0)
        # Each repeats after the period: their places in it tell most of them apart.
        meets &= (distances % period < _run_bytes(end)) | (-distances % period < lengths)
        for index in np.flatnonzero(meets & (written | end.written)):
            _require_pair_apart(batch, end, ends[index])


def _require_pair_apart(batch: _native.ArrayBatch, one: _End, other: _End) -> None:
    if one.pair == other.pair:
        return
    if one.written and other.written and one.shift is not None and one.shift == other.shift:
        return  # both write the same
    np = numpy_module()
    try:
        if not np.shares_memory(one.items(), other.items(), max_work=_MAX_WORK):
            return
    except np.exceptions.TooHardError:
        pass
    batch.require_disjoint([(end.pair, _NOWHERE, 1, end.written, 0) for end in (one, other)])


def _ends_of(pair: int, work: Work) -> Iterable[_End]:
    """Give both ends of a pair, of which at least one has to be packed or is copied by items."""
    alike = not is_conversion(work.target, work.source) and (
        work.plain is not None or work.target.strides == work.source.strides
    )
    shift = work.target.pointer - work.source.pointer if alike else None
    for array, written in ((work.target, True), (work.source, False)):
        gaps = None if fills_its_memory(array) else array
        yield _End(pair, *range_of(array), written, shift if written else None, gaps)


def _strides_outside(array: Array) -> tuple[int, list[int]]:
    """Give the bytes of an array that lie together, and the strides between such."""
    run_bytes, outside = array.item_bits // 8, list[int]()
    for stride, length in sorted(
        (abs(stride), length)
        for stride, length in taken_strides(array.shape or (), array.strides or ())
    ):
        if stride == run_bytes and not outside:
            run_bytes *= length
        else:
            outside.append(stride)
    return run_bytes, outside


def _run_bytes(end: _End) -> int:
    return end.size_bytes if end.array is None else _strides_outside(end.array)[0]


def _period_bytes(array: Array) -> int:
    return math.gcd(*_strides_outside(array)[1])


Made = tuple[int, Work, Prepared]


def explain_batch(batch: _native.ArrayBatch, native: _native.Transfers) -> ManyPlan:
    """Say how the arrays of a batch would be copied. Packs and copies nothing."""
    num_packed = num_layouts = 0
    for pair, work in _works_of(batch, NO_CASTING):
        if work.is_layout:
            num_layouts += 1
            continue
        num_packed += work.plain is None
        target, source = work.target, work.source
        ends = work.plain or PlainCopy(target.pointer, source.pointer, target.size_bytes)
        work.add_to(batch, pair, ends, None)
    shares = native.explain_batch(batch)
    return many_plan_of(shares, num_packed=num_packed, num_layouts=num_layouts)


class UnlikePairs:
    """
    The pairs of a batch whose arrays lie differently. Some are copied among the others, from or to
    a packed array. The rest is copied after the others: between two layouts, and within the host's
    memory.
    """

    def __init__(
        self, batch: _native.ArrayBatch, native: _native.Transfers, casting: Casting
    ) -> None:
        """
        Check all of them, pack what has to be packed, and add that to the batch; an error has
        written nothing.
        """
        self._batch = batch
        self._native = native
        self._unpackings: list[Callable[[], None]] = []
        self._last: list[Made] = []
        works = _works_of(batch, casting)
        if works:
            batch.require_disjoint(
                [touched for pair, work in works for touched in _touched(pair, work)]
            )
            require_apart(batch, works)
        for pair, work in works:
            self._prepare(pair, work)

    @property
    def follow_up(self) -> Callable[[], None] | None:
        """What remains to be done when the batch is complete; None if nothing does."""
        return self._unpack if self._unpackings else None

    def copy_last(self) -> None:
        """Copy what is copied after the others; complete on return."""
        for pair, work, prepared in self._last:
            try:
                work.finish(self._native, prepared)
            except Error as refusal:
                refuse_at(self._batch.path(pair), refusal)

    def _prepare(self, pair: int, work: Work) -> None:
        try:
            prepared = work.prepared(self._native)
            work.check(self._native, prepared)
        except Error as refusal:
            refuse_at(self._batch.path(pair), refusal)
        if not isinstance(prepared.copy, PlainCopy):
            self._last.append((pair, work, prepared))
            return
        work.add_to(self._batch, pair, prepared.copy, prepared.packed)
        if prepared.follow_up is not None:
            self._unpackings.append(prepared.follow_up)

    def _unpack(self) -> None:
        for unpack in self._unpackings:
            unpack()


def _works_of(batch: _native.ArrayBatch, casting: Casting) -> list[tuple[int, Work]]:
    """Check the arrays that lie differently. Those that are in the batch twice are copied once."""
    works: dict[object, tuple[int, Work]] = {}
    for pair, target, source, stream in batch.unlike:
        work = _checked(batch, pair, target, source, stream, casting)
        works.setdefault((_place(target), _place(source), stream), (pair, work))
    return list(works.values())


def _place(array: Array) -> object:
    return array.pointer, array.shape, array.strides, array.item


def _checked(
    batch: _native.ArrayBatch,
    pair: int,
    target: Array,
    source: Array,
    stream: int,
    casting: Casting,
) -> Work:
    try:
        work = work_of((target, source), target, source, stream, casting)
        work.require_possible()
    except Error as refusal:
        refuse_at(batch.path(pair), refusal)
    return work


def _touched(pair: int, work: Work) -> list[tuple[int, int, int, bool, int]]:
    """List the memory of two arrays; what has gaps is left out, because others may lie in these."""
    read_from = 0 if work.plain is None else work.plain.source
    arrays = [(work.target, True, read_from), (work.source, False, 0)]
    return [
        (pair, *range_of(array), written, read)
        for array, written, read in arrays
        if fills_its_memory(array)
    ]


def work_of(
    objects: tuple[object, object],
    target: Array,
    source: Array,
    stream: int,
    casting: Casting = NO_CASTING,
) -> Work:
    """Check that one array can be copied to the other."""
    require_match(target, source, casting)
    plain = plain_copy(target, source)
    # Bytes for a host array with gaps; a GPU's array with gaps is refused later.
    if plain is None and source.shape is None and not target.on_device:
        source = replace(source, shape=target.shape, item_bits=target.item_bits)
    if plain is None and target.shape is None and not source.on_device:
        target = replace(target, shape=source.shape, item_bits=source.item_bits)
    return Work(objects, target, source, stream, plain)
