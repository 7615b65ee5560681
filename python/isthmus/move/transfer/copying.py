"""The calls `copy`, `copy_async`, `explain`, `stats`, `trim`, on the default driver."""

from typing import TYPE_CHECKING, overload

from isthmus import _native
from isthmus.ground.forks import lock_of_process
from isthmus.move.transfer.future import CopyFuture
from isthmus.move.transfer.pairs import NO_CASTING, Casting, require_casting
from isthmus.move.transfer.plan import CopyPlan, CopyStats, ManyPlan
from isthmus.move.transfer.transfers import CopyArrays, Rest, SourceOrder, Transfers

if TYPE_CHECKING:
    from isthmus.move.arrays.accepted import ArrayLike, ArrayTree, StreamLike, Structure

# Held by whoever opens or exchanges the default. Opening takes that of
# isthmus.move.windows.opening, too.
default_lock = lock_of_process()


def default_transfers() -> Transfers:
    """Give the copies of the default driver, opened when first needed."""
    found = _default[1]
    if found is not None:
        return found
    with default_lock:
        transfers = _default[1] or Transfers()  # another thread may have opened it
        _use(transfers)
        return transfers


def _open_and_copy(target: object, source: object, stream: object) -> Rest | None:
    """Do what the native module does, by the copies of a driver that isn't open yet."""
    return default_transfers()._copy_arrays(target, source, stream)


NOT_OPEN = _open_and_copy, None
# The copies of the default driver, and what `copy` needs of them: taking this apart is quicker than
# asking the object.
_default: tuple[CopyArrays, Transfers | None] = NOT_OPEN


def _use(transfers: Transfers | None) -> None:
    global _default  # noqa: PLW0603 - one for all of the process
    _default = NOT_OPEN if transfers is None else (transfers._copy_arrays, transfers)


def exchange_default(transfers: Transfers | None) -> Transfers | None:
    """Let the process use other copies by default, or open some anew; give the former ones."""
    with default_lock:
        former = _default[1]
        _use(transfers)
        return former


def copy(
    target: "ArrayTree",
    source: "ArrayTree",
    *,
    stream: "StreamLike | None" = None,
    casting: Casting = NO_CASTING,
) -> None:
    """
    Copy one array to another, along the cheapest path; complete on return.

    There is no broadcasting: both arrays have the same shape, and items of the same type unless
    `casting` allows a conversion. On return the bytes are in the target for every reader,
    and the source may change.

    Arrays are NumPy's, PyTorch's, CuPy's, JAX's, or anything with DLPack,
    `__cuda_array_interface__`, `__array_interface__` or the buffer protocol, on the host or a GPU;
    or `isthmus.DevicePointer` and `isthmus.HostPointer`. docs/copy.md lists the possible pairs, and
    the order of copies and other work.

    Both may be lists, tuples or mappings of arrays, nested in the same way (a state dict, for
    instance), or PyTorch modules. One call then makes all copies, faster than one by one, and in
    no particular order. All are checked before the first byte is copied. Numbers, strings and None
    on both sides stay as they are.

    Args:
        target: Is written; it has the source's shape and type, unless one of them is bytes. Two
            targets of a call overlap only where both get the same bytes of a source, as tied
            weights do.
        source: Is read.
        stream: The copy begins after the work in it: a CUstream, or a stream of any library. None
            is the current stream of the target's library, or of the source's.
        casting: Which conversions are allowed, in the words of `numpy.copyto`: "no", none; "equiv",
            another byte order of a host's array; "safe", those that keep every value; "same_kind",
            also float64 to float32 and the like; "unsafe", all. Of booleans, integers and floats of
            up to 64 bits, float16 and bfloat16. The GPU converts, so that the link carries the type
            of the host's array; two host arrays are converted by NumPy. Values are NumPy's:
            integers wrap around, floats are rounded to the nearest, and too large ones become
            infinite. NumPy leaves open what a float becomes beyond an integer's range: a GPU gives
            the nearest integer, and 0 for NaN.

    Raises:
        UsageError: Types, shapes or sizes differ, the target is read-only, they overlap, or the
            memory was freed. Of nested arrays it names the path, such as `model.layers.3.bias`, and
            nothing has been copied.
        DriverError: Nothing was copied, or the message says which bytes of the target are
            undefined. If `memory_in_use` is true, both arrays are kept until the process ends.
        Unavailable: An array is on a GPU and there is no driver, or NumPy is needed and missing.
        MemoryError: The process has no memory left.
    """
    copy_arrays, transfers = _default
    if casting != "no":
        require_casting(casting)
    # Not by the method: one more call takes 0.05 us, and small copies take 0.5.
    rest = copy_arrays(target, source, stream)
    if rest is not None:
        (transfers or default_transfers())._copy_rest((target, source), rest, casting)


def copy_async(
    target: "ArrayTree",
    source: "ArrayTree",
    *,
    stream: "StreamLike | None" = None,
    source_order: SourceOrder = "call",
    casting: Casting = NO_CASTING,
) -> CopyFuture:
    """
    Start to copy one array to another; complete when the future is done.

    docs/copy.md says for each pair of memories whether later work in the stream waits for the copy.

    Args:
        target: As for `isthmus.copy`. It is kept, and can't be resized, until the copy has ended.
        source: The same.
        stream: As for `isthmus.copy`.
        source_order: When the source may be changed: "call", when this call returns; "stream",
            when the copy is complete.
        casting: As for `isthmus.copy`. A copy that converts is complete on return.

    Returns:
        A future of `concurrent.futures`, which can also be awaited; `.event` is for streams of
            other libraries. Lists, tuples and mappings have one future for all arrays.

    Raises:
        UsageError: As for `isthmus.copy`.
        DriverError: As for `isthmus.copy`, if the copy couldn't start.
        Unavailable: As for `isthmus.copy`; or it needs a thread, and the system has none: nothing
            is copied.
        MemoryError: As for `isthmus.copy`.
    """
    transfers = _default[1] or default_transfers()
    if casting != "no":
        require_casting(casting)
    # As in copy(): the method would take as long as half a small copy.
    begun = transfers._copy_arrays_async(target, source, stream, source_order)
    if begun is None or isinstance(begun, _native.CopyFuture):
        return CopyFuture(begun)
    return CopyFuture(transfers._begin_rest((target, source), begun, source_order, casting))


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
        The plan: `print` it. Its times are predictions in seconds, from the profile that `isthmus
        profile` has measured here, or from defaults for this kind of link. For lists, tuples and
        mappings it says how many copies take each path.

    Raises:
        UsageError: As for `isthmus.copy`; or the copy has 0 bytes.
        Unavailable: As for `isthmus.copy`.
    """
    # Not by the method, whose two forms take no array of either kind.
    return default_transfers()._explained(target, source, stream)


def stats() -> CopyStats:
    """
    Give the cost of all copies between host and GPUs so far, by path.

    Returns:
        Calls, bytes, and seconds, measured and predicted, of each path since the process began, or
        was forked. The numbers only grow: take differences. One copy in 64 is timed if the same
        copy is repeated without a pause, and stands for the others.

    Raises:
        UsageError: $ISTHMUS_DRIVER names no driver.
    """
    return default_transfers().stats()


def trim() -> None:
    """
    Close the windows of copies, and unpin the staging buffers that no copy uses.

    Gives back address space of BAR1 and pinned memory. Complete on return. Later copies open and
    pin again what they need, which takes up to some milliseconds.

    Raises:
        UsageError: As for `stats`.
    """
    default_transfers().trim()
