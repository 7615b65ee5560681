"""Arrays with gaps among the many of a call: whether others use their items."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from isthmus import _native
from isthmus.move.arrays.array import Array
from isthmus.move.arrays.layout import taken_strides
from isthmus.move.transfer.casting import is_conversion
from isthmus.move.transfer.packing import bytes_at, items_of, numpy_module, range_of
from isthmus.move.transfer.pairs import fills_its_memory
from isthmus.move.transfer.work import Work

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
