"""The calls `copy`, `copy_async`, `explain`, `stats`, `trim`; for another driver, `Transfers`."""

import contextlib
import threading
from typing import TYPE_CHECKING, Literal, overload

from isthmus import _native
from isthmus.arrays.array import Array
from isthmus.errors import Error, UsageError
from isthmus.nvrtc import find_nvrtc
from isthmus.spelling import cuda_major
from isthmus.transfer.batch import UnlikePairs, explain_batch, work_of
from isthmus.transfer.casting import NO_CASTING, Casting, require_casting
from isthmus.transfer.future import CopyFuture
from isthmus.transfer.pairs import PlainCopy
from isthmus.transfer.plan import CopyPlan, ManyPlan, plan_of
from isthmus.transfer.statistics import CopyStats, stats_of
from isthmus.transfer.work import Work
from isthmus.windows.opening import Windows, default_windows

if TYPE_CHECKING:
    from isthmus.arrays.accepted import ArrayLike, ArrayTree, StreamLike, Structure

SourceOrder = Literal["call", "stream"]
# What the native module leaves to Python: two arrays that lie differently and their stream, or the
# arrays of two structures.
Rest = tuple[Array, Array, int] | _native.ArrayBatch


class Transfers:
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
        self._reader = self._windows.reader
        self._native = _native.Transfers(self._windows.native, self._reader)
        self._copy_arrays = self._native.copy_arrays
        self._copy_arrays_async = self._native.copy_arrays_async
        self._has_compiler = False

    @property
    def native(self) -> _native.Transfers:
        """The copies by addresses, for the rest of the package."""
        return self._native

    @property
    def driver(self) -> _native.Driver:
        """The driver of these devices."""
        return self._windows.driver

    def wait(self, stream: int, device: int) -> None:
        """Return when the work of a CUstream of a device is complete."""
        self._windows.pending_work.wait(stream, device, 0)

    def copy(
        self,
        target: "ArrayTree",
        source: "ArrayTree",
        *,
        stream: "StreamLike | None" = None,
        casting: Casting = NO_CASTING,
    ) -> None:
        """Copy one array to another, as `isthmus.copy` does."""
        if casting is not NO_CASTING:
            require_casting(casting)
        rest = self._copy_arrays(target, source, stream)
        if rest is not None:
            self.copy_rest((target, source), rest, casting)

    def copy_rest(
        self, objects: tuple[object, object], rest: Rest, casting: Casting = NO_CASTING
    ) -> None:
        """Copy what the native module has read and left to Python."""
        if isinstance(rest, tuple):
            self._find_compiler()
            work_of(objects, *rest, casting).copy(self._native)
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
        if casting is not NO_CASTING:
            require_casting(casting)
        begun = self._copy_arrays_async(target, source, stream, source_order)
        if begun is None or isinstance(begun, _native.CopyFuture):
            return CopyFuture(begun)
        return CopyFuture(self.begin_rest((target, source), begun, source_order, casting))

    def begin_rest(
        self,
        objects: tuple[object, object],
        rest: Rest,
        source_order: SourceOrder,
        casting: Casting,
    ) -> _native.CopyFuture | None:
        """Begin to copy what the native module has read and left to Python."""
        self._find_compiler()
        if isinstance(rest, tuple):
            return work_of(objects, *rest, casting).begin(self._native, source_order)
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
        emulated = self.driver.emulated  # needs no compiler
        found = None if emulated else find_nvrtc(cuda_major(self.driver.version))
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
            self.driver.require_devices()
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


_default: Transfers | None = None
# Held by whoever opens or exchanges it. Opening takes that of isthmus.windows.opening, too.
default_lock = threading.RLock()


def default_transfers() -> Transfers:
    """Give the copies of the default driver, opened when first needed."""
    global _default  # noqa: PLW0603 - one for all of the process
    if _default is not None:
        return _default
    with default_lock:
        if _default is None:
            _default = Transfers()
        return _default


def exchange_default(transfers: Transfers | None) -> Transfers | None:
    """Let the process use other copies by default, or open some anew; give the former ones."""
    global _default
    with default_lock:
        former, _default = _default, transfers
        return former


def copy(
    target: "ArrayTree",
    source: "ArrayTree",
    *,
    stream: "StreamLike | None" = None,
    casting: Casting = NO_CASTING,
) -> None:
    """
    Copy one array to another, by the cheapest path; complete on return.

    No shape is broadcast: both arrays have the same shape. They also have items of the same type,
    unless `casting` allows a conversion. On return the bytes are in the target for every reader,
    and the source may change.

    Arrays are NumPy's, PyTorch's, CuPy's, JAX's, or anything with DLPack,
    `__cuda_array_interface__`, `__array_interface__` or the buffer protocol, on the host or a GPU;
    or `isthmus.DevicePointer` and `isthmus.HostPointer`. docs/copy.md lists the possible pairs, and
    says in which order copies and other work run.

    Both may be lists, tuples or mappings of arrays, nested like each other (a state dict, for
    instance). One call then makes all copies: faster than one by one, and without an order among
    them. All are checked before the first byte is copied.

    Args:
        target: Is written; it has the source's shape and type, unless one of them is bytes. No two
            targets of a call overlap.
        source: Is read.
        stream: The copy begins after the work in it: a CUstream, or a stream of any library. None
            is the current stream of the target's library, or of the source's.
        casting: Which conversions are allowed, by the words of `numpy.copyto`: "no" or "equiv",
            none; "safe", those that keep every value; "same_kind", also float64 to float32 and the
            like; "unsafe", all. Of booleans, integers and floats of up to 64 bits, float16 and
            bfloat16. The GPU converts, so that the link carries the type of the host's array; two
            host arrays are converted by NumPy. Values are NumPy's: integers wrap around, floats are
            rounded to the nearest, and too large ones become infinite. NumPy leaves open what a
            float becomes beyond an integer's range: a GPU gives the nearest integer, and 0 for NaN.

    Raises:
        UsageError: Types, shapes or sizes differ, the target is read-only, they overlap, or the
            memory was freed. Of nested arrays it names the path, such as `model.layers.3.bias`, and
            nothing has been copied.
        DriverError: Nothing was copied, or the message says which bytes of the target are
            undefined. If `memory_in_use` is true, both arrays are kept until the process ends.
        Unavailable: An array is on a GPU and there is no driver, or NumPy is needed and missing.
        MemoryError: The process has no memory left.
    """
    transfers = _default or default_transfers()
    if casting is not NO_CASTING:
        require_casting(casting)
    # Not by the method: one more call takes 0.05 us, and small copies take 0.5.
    rest = transfers._copy_arrays(target, source, stream)  # noqa: SLF001
    if rest is not None:
        transfers.copy_rest((target, source), rest, casting)


def copy_async(
    target: "ArrayTree",
    source: "ArrayTree",
    *,
    stream: "StreamLike | None" = None,
    source_order: SourceOrder = "call",
    casting: Casting = NO_CASTING,
) -> CopyFuture:
    """
    Begin to copy one array to another; complete when the future is done.

    docs/copy.md says for each pair of memories whether later work in the stream waits for the copy.

    Args:
        target: As for `isthmus.copy`. It is kept, and can't be resized, until the copy has ended.
        source: The same.
        stream: As for `isthmus.copy`.
        source_order: When the source may be changed: "call", when this call returns; "stream",
            when the copy is complete.
        casting: As for `isthmus.copy`. A copy that converts is complete on return.

    Returns:
        A future, as `concurrent.futures` has them; it can be awaited, and `.event` is for streams
            of other libraries. Of lists, tuples and mappings it is one for all arrays.

    Raises:
        UsageError: As for `isthmus.copy`.
        DriverError: As for `isthmus.copy`, if the copy couldn't be begun.
        Unavailable: As for `isthmus.copy`; or it needs a thread, and the system has none: nothing
            is copied.
        MemoryError: As for `isthmus.copy`.
    """
    transfers = _default or default_transfers()
    if casting is not NO_CASTING:
        require_casting(casting)
    # As in copy(): the method would take as long as half a small copy.
    begun = transfers._copy_arrays_async(target, source, stream, source_order)  # noqa: SLF001
    if begun is None or isinstance(begun, _native.CopyFuture):
        return CopyFuture(begun)
    return CopyFuture(transfers.begin_rest((target, source), begun, source_order, casting))


@overload
def explain(
    target: "ArrayLike", source: "ArrayLike", *, stream: "StreamLike | None" = None
) -> CopyPlan: ...
@overload
def explain(
    target: "Structure", source: "Structure", *, stream: "StreamLike | None" = None
) -> ManyPlan: ...
def explain(
    target: "ArrayTree", source: "ArrayTree", *, stream: "StreamLike | None" = None
) -> CopyPlan | ManyPlan:
    """
    Say how `isthmus.copy` would make a copy, what each path would cost, and why. Copies nothing.

    Args:
        target: As for `isthmus.copy`.
        source: The same.
        stream: The same.

    Returns:
        The plan: `print` it. Its times are predictions in seconds: from the profile that `isthmus
        profile` has measured here, or else defaults for this kind of link. Of lists, tuples and
        mappings it says how many copies take each path.

    Raises:
        UsageError: As for `isthmus.copy`; or the copy has 0 bytes.
        Unavailable: As for `isthmus.copy`.
    """
    # Not by the method, whose two forms take no array of either kind.
    return (_default or default_transfers())._explained(target, source, stream)  # noqa: SLF001


def stats() -> CopyStats:
    """
    Give what all copies between host and GPUs have cost so far, by path.

    Returns:
        Calls, bytes, and seconds, measured and predicted, of each path since the process began.
        The numbers only grow: take differences. One copy in 64 is timed if the same copy is
        repeated, and stands for the others.

    Raises:
        UsageError: This process was forked off after its parent had made a copy.
    """
    return default_transfers().stats()


def trim() -> None:
    """
    Close the windows of copies, and unpin the staging buffers that no copy uses.

    Gives back address space of BAR1 and pinned memory. Complete on return. Later copies open and
    pin again what they need, which takes up to some milliseconds.

    Raises:
        UsageError: This process was forked off after its parent had made a copy.
    """
    default_transfers().trim()
