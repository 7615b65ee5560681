"""The arrays of a call that can't be copied as they are: packed, or copied after the others."""

from collections.abc import Callable
from typing import NoReturn

from isthmus import _native
from isthmus.arrays.array import Array
from isthmus.arrays.refusals import refuse_at
from isthmus.errors import Error
from isthmus.transfer.pairs import PlainCopy, plain_copy, require_match
from isthmus.transfer.work import Prepared, Work

Made = tuple[int, Work, Prepared]


class UnlikePairs:
    """
    The pairs of a batch whose arrays lie differently.

    Some are copied among the others, from or to a packed array. The rest is copied after the
    others: between two layouts, and within the host's memory.
    """

    def __init__(self, batch: _native.ArrayBatch, native: _native.Transfers) -> None:
        """
        Check all of them, pack what has to be packed, and add that to the batch.

        Raises:
            UsageError: As for `isthmus.copy`; it names the path. Nothing has been written.
            Unavailable: The same.
        """
        self._batch = batch
        self._native = native
        self._unpackings: list[Callable[[], None]] = []
        self._last: list[Made] = []
        works = [self._checked(*unlike) for unlike in batch.unlike]
        for pair, work in works:
            self._prepare(pair, work)

    @property
    def follow_up(self) -> Callable[[], None] | None:
        """What remains to be done when the batch is complete; None if nothing does."""
        return self._unpack if self._unpackings else None

    def copy_last(self) -> None:
        """
        Copy what is copied after the others; complete on return.

        Raises:
            DriverError: As for `isthmus.copy`.
        """
        for pair, work, prepared in self._last:
            try:
                work.finish(self._native, prepared)
            except Error as refusal:
                self._refuse(pair, refusal)

    def _checked(self, pair: int, target: Array, source: Array, stream: int) -> tuple[int, Work]:
        try:
            work = work_of((target, source), target, source, stream)
            work.require_possible()
        except Error as refusal:
            self._refuse(pair, refusal)
        return pair, work

    def _prepare(self, pair: int, work: Work) -> None:
        prepared = work.prepared()
        if not isinstance(prepared.copy, PlainCopy):
            try:
                work.check(self._native, prepared)
            except Error as refusal:
                self._refuse(pair, refusal)
            self._last.append((pair, work, prepared))
            return
        work.add_to(self._batch, pair, prepared.copy, prepared.packed)
        if prepared.follow_up is not None:
            self._unpackings.append(prepared.follow_up)

    def _unpack(self) -> None:
        for unpack in self._unpackings:
            unpack()

    def _refuse(self, pair: int, refusal: Error) -> NoReturn:
        refuse_at(self._batch.path(pair), refusal)


def work_of(objects: tuple[object, object], target: Array, source: Array, stream: int) -> Work:
    """
    Check that one array can be copied to the other.

    Raises:
        UsageError: See `require_match`.
    """
    require_match(target, source)
    return Work(objects, target, source, stream, plain_copy(target, source))
