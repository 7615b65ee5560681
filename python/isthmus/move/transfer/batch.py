"""The arrays of a call that can't be copied as they are: packed, or copied after the others."""

from collections.abc import Callable
from dataclasses import replace

from isthmus import _native
from isthmus.errors import Error
from isthmus.move.arrays.array import Array
from isthmus.move.arrays.refusals import refuse_at
from isthmus.move.transfer.casting import NO_CASTING, Casting
from isthmus.move.transfer.gaps import require_apart
from isthmus.move.transfer.packing import range_of
from isthmus.move.transfer.pairs import PlainCopy, fills_its_memory, plain_copy, require_match
from isthmus.move.transfer.plan import ManyPlan, many_plan_of
from isthmus.move.transfer.work import Prepared, Work

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
