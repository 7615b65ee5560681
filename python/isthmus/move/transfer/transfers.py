"""The copies on one driver's devices."""

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, overload

from isthmus import _native
from isthmus.errors import Error, UsageError
from isthmus.ground.extras import find_nvrtc
from isthmus.ground.spelling import cuda_major
from isthmus.move.arrays.array import Array
from isthmus.move.arrays.reading import noting_write
from isthmus.move.transfer.batch import UnlikePairs, explain_batch, work_of
from isthmus.move.transfer.blocks import BlockCalls
from isthmus.move.transfer.future import CopyFuture
from isthmus.move.transfer.pairs import NO_CASTING, Casting, PlainCopy, require_casting
from isthmus.move.transfer.plan import CopyPlan, CopyStats, ManyPlan, plan_of, stats_of
from isthmus.move.transfer.work import Work
from isthmus.move.windows.opening import Windows, default_windows

if TYPE_CHECKING:
    from isthmus.move.arrays.accepted import ArrayLike, ArrayTree, StreamLike, Structure

SourceOrder = Literal["call", "stream"]
# What the native module leaves to Python: two arrays that lie differently and their stream, or the
# arrays of two structures.
Rest = tuple[Array, Array, int] | _native.ArrayBatch
CopyArrays = Callable[[object, object, object], Rest | None]


class Transfers(BlockCalls):
    """
    Copies on the devices of one driver. May be used from any thread.

    Copies share windows, staging buffers and statistics.
    """

    def __init__(self, windows: Windows | None = None) -> None:
        """
        Copy on a driver's devices.

        Args:
            windows: The driver's windows; their limit also holds for copies through windows. None:
                those of `isthmus.window`.

        Raises:
            Unavailable: There is no driver.
            UsageError: It isn't an `isthmus.Windows`.
        """
        if windows is not None and not isinstance(windows, Windows):
            raise UsageError(f"the windows of copies must be isthmus.Windows, not {windows!r}")
        self._windows = default_windows() if windows is None else windows
        self._driver = self._windows._driver
        self._reader = self._windows._reader
        self._native = _native.Transfers(self._windows._native, self._reader)
        self._copy_arrays = self._native.copy_arrays
        self._copy_arrays_async = self._native.copy_arrays_async
        self._has_compiler = False

    def _wait(self, stream: int, device: int) -> None:
        """Return when the work of a CUstream of a device is complete."""
        self._windows._pending_work.wait(stream, device, 0)

    def copy(
        self,
        target: "ArrayTree",
        source: "ArrayTree",
        *,
        stream: "StreamLike | None" = None,
        casting: Casting = NO_CASTING,
    ) -> None:
        """Copy one array to another, as `isthmus.copy` does."""
        if casting != "no":
            require_casting(casting)
        rest = self._copy_arrays(target, source, stream)
        if rest is not None:
            self._copy_rest((target, source), rest, casting)

    def _copy_rest(
        self, objects: tuple[object, object], rest: Rest, casting: Casting = NO_CASTING
    ) -> None:
        """Copy what the native module has read and left to Python."""
        if isinstance(rest, tuple):
            self._find_compiler()
            work = work_of(objects, *rest, casting)
            with noting_write(objects[0]):
                work.copy(self._native)
            return
        self._find_compiler()
        if not rest.unlike:
            self._native.copy_batch(rest)
            return
        unlike = UnlikePairs(rest, self._native, casting)
        self._native.copy_batch(rest)
        if unlike.follow_up is not None:
            unlike.follow_up()
        unlike.copy_last()

    def copy_async(
        self,
        target: "ArrayTree",
        source: "ArrayTree",
        *,
        stream: "StreamLike | None" = None,
        source_order: SourceOrder = "call",
        casting: Casting = NO_CASTING,
    ) -> CopyFuture:
        """Begin to copy one array to another, as `isthmus.copy_async` does."""
        if casting != "no":
            require_casting(casting)
        begun = self._copy_arrays_async(target, source, stream, source_order)
        if begun is None or isinstance(begun, _native.CopyFuture):
            return CopyFuture(begun)
        return CopyFuture(self._begin_rest((target, source), begun, source_order, casting))

    def _begin_rest(
        self,
        objects: tuple[object, object],
        rest: Rest,
        source_order: SourceOrder,
        casting: Casting,
    ) -> _native.CopyFuture | None:
        """Begin to copy what the native module has read and left to Python."""
        self._find_compiler()
        if isinstance(rest, tuple):
            work = work_of(objects, *rest, casting)
            with noting_write(objects[0]):
                return work.begin(self._native, source_order)
        return self._begin_batch(rest, source_order, casting)

    def _begin_batch(
        self, batch: _native.ArrayBatch, source_order: SourceOrder, casting: Casting
    ) -> _native.CopyFuture:
        unlike = UnlikePairs(batch, self._native, casting)
        begun = self._native.copy_batch_async(
            batch, source_order=source_order, follow_up=unlike.follow_up
        )
        try:
            unlike.copy_last()
        except BaseException:
            with contextlib.suppress(Error):  # the first failure is the one that is told
                begun.wait()
            raise
        return begun

    def _find_compiler(self) -> None:
        """Name the compiler of kernels before the first may be needed."""
        if self._has_compiler:
            return
        self._has_compiler = True
        emulated = self._driver.emulated  # needs no compiler
        found = None if emulated else find_nvrtc(cuda_major(self._driver.version))
        self._native.use_nvrtc(found or "")

    @overload
    def explain(
        self, target: "ArrayLike", source: "ArrayLike", *, stream: "StreamLike | None" = None
    ) -> CopyPlan: ...
    @overload
    def explain(
        self, target: "Structure", source: "Structure", *, stream: "StreamLike | None" = None
    ) -> ManyPlan: ...
    def explain(
        self, target: "ArrayTree", source: "ArrayTree", *, stream: "StreamLike | None" = None
    ) -> CopyPlan | ManyPlan:
        """Say how a copy would be made, as `isthmus.explain` does."""
        return self._explained(target, source, stream)

    def _explained(
        self, target: "ArrayTree", source: "ArrayTree", stream: "StreamLike | None"
    ) -> CopyPlan | ManyPlan:
        read = self._native.read_arrays(target, source, stream)
        if isinstance(read, _native.ArrayBatch):
            self._find_compiler()
            return explain_batch(read, self._native)
        return self._explain_one(work_of((target, source), *read))

    def _explain_one(self, work: Work) -> CopyPlan:
        if work.is_strided:
            raise UsageError(
                "a GPU's array with gaps, or in another order, takes no path: the driver copies "
                "its rows, or a kernel its items",
                hint="docs/copy.md says when",
            )
        if work.target.on_device or work.source.on_device:
            self._driver.require_devices()
        size_bytes = work.target.size_bytes
        ends = work.plain or PlainCopy(work.target.pointer, work.source.pointer, size_bytes)
        native = self._native.explain(ends.target, ends.source, size_bytes, stream=work.stream)
        return plan_of(native, size_bytes=size_bytes, packed=work.plain is None)

    def stats(self) -> CopyStats:
        """Give what copies have cost so far."""
        return stats_of(self._native.stats())

    def trim(self) -> None:
        """Close the windows of copies, and unpin the staging buffers that no copy uses."""
        self._native.trim()

    def use_profile(self, text: str) -> None:
        """
        Use the costs that were measured on this machine.

        Args:
            text: The file of `isthmus profile`.

        Raises:
            UsageError: It isn't that, or it is of another GPU or driver.
        """
        if not isinstance(text, str):
            raise UsageError(f"a profile must be the text of its file, not {type(text).__name__}")
        self._native.use_profile(text)
