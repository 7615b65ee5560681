"""The calls `copy_blocks`, `copy_many` and those beside them, on the default driver."""

from typing import TYPE_CHECKING

from isthmus.move.transfer.blocks import BULK, PreparedCopy, Priority
from isthmus.move.transfer.copying import default_transfers
from isthmus.move.transfer.future import CopyFuture

if TYPE_CHECKING:
    from isthmus.move.arrays.accepted import ArrayLike, StreamLike, Structure
    from isthmus.move.transfer.blocks import Index, Pools


def copy_blocks(  # noqa: PLR0913 - each says something of its own
    target: "Pools",
    source: "Pools",
    target_index: "Index",
    source_index: "Index",
    *,
    block_bytes: int | None = None,
    stream: "StreamLike | None" = None,
    sms: int | None = None,
    priority: Priority = BULK,
) -> CopyFuture:
    """
    Copy block `source_index[i]` of the source to block `target_index[i]` of the target, for each i.

    Between GPUs' memory and pinned memory (`isthmus.pinned`) this is one launch in stream order: it
    returns at once, later work in the stream sees the blocks, and a CUDA graph can capture it if
    the indices are on the GPU, which it reads at each replay. A pageable pool goes through staging
    memory; then the call works for it, and it can't be captured. docs/blocks.md has the ways.

    Args:
        target: A pool: any array that `isthmus.copy` takes, whose rows along axis 0 are the blocks,
            or `isthmus.Blocks`. A list has a pool for each layer; all get the same indices.
        source: The same, with blocks of the same size and as many layers. It may be the target, if
            no block is both read and written.
        target_index: int32 or int64, one dimension, on the host or on the GPU that makes the copy:
            the target's, if the target is on one. A list of ints is taken, too. No block occurs
            twice, unless it gets the same source; on a GPU this isn't checked.
        source_index: The same, on the same side and of the same length.
        block_bytes: Makes blocks of so many bytes of contiguous arrays, whatever their rows are.
        stream: As for `isthmus.copy`. Indices on the GPU are read in its order.
        sms: The most multiprocessors that the copy uses. None: as few as reach the link's speed.
        priority: "urgent": its kernel gets multiprocessors before others do. It overtakes copies
            and kernels of other streams; within a stream the order holds.

    Returns:
        A future of `concurrent.futures`, as of `isthmus.copy_async`. All arrays are kept until the
            copy has ended, whether the future is kept or not; but a graph keeps none. If an index
            on the GPU was outside its pool, `result()` raises UsageError with its position: that
            block was skipped. If the future is dropped, there is an IsthmusWarning, and
            `isthmus.check_blocks()` raises it.

    Raises:
        UsageError: Pools or indices are wrong, and nothing was copied.
        DriverError: As for `isthmus.copy_async`.
        Unavailable: As for `isthmus.copy`.
    """
    return default_transfers().copy_blocks(
        target,
        source,
        target_index,
        source_index,
        block_bytes=block_bytes,
        stream=stream,
        sms=sms,
        priority=priority,
    )


def plan_blocks(  # noqa: PLR0913 - as copy_blocks
    target: "Pools",
    source: "Pools",
    target_index: "Index",
    source_index: "Index",
    *,
    block_bytes: int | None = None,
    stream: "StreamLike | None" = None,
    sms: int | None = None,
    priority: Priority = BULK,
) -> PreparedCopy:
    """
    Prepare `isthmus.copy_blocks`, to be called many times: each call is little more than a launch.

    Indices on the host are read now, and kept in the GPU's memory, so that a graph can capture the
    call; those on a GPU are read at each call, unless a pool is pageable. Complete on return.

    Args:
        target: As for `isthmus.copy_blocks`. It is kept as long as the prepared copy.
        source: The same.
        target_index: The same.
        source_index: The same.
        block_bytes: The same.
        stream: Orders what this call reads.
        sms: As for `isthmus.copy_blocks`.
        priority: The same.

    Returns:
        The prepared copy: call it.

    Raises:
        UsageError: As for `isthmus.copy_blocks`.
        OutOfDeviceMemory: The indices don't fit.
        Unavailable: As for `isthmus.copy`.
    """
    return default_transfers().plan_blocks(
        target,
        source,
        target_index,
        source_index,
        block_bytes=block_bytes,
        stream=stream,
        sms=sms,
        priority=priority,
    )


def check_blocks() -> None:
    """
    Raise the error of an index outside its pool that a kernel has found, unless it was raised
    before: by the copy's future, or the next call of the same plan.

    It asks and waits for nothing: wait for the copies before.

    Raises:
        UsageError: There was one; the message names its position. That block wasn't copied.
    """
    default_transfers().check_blocks()


def copy_many(
    target_pointers: "ArrayLike",
    source_pointers: "ArrayLike",
    sizes: "ArrayLike",
    *,
    stream: "StreamLike | None" = None,
) -> CopyFuture:
    """
    Copy pieces between addresses that are in arrays: no Python object is read for each.

    Between GPUs' memory and pinned memory this is one launch in stream order, and returns at once.

    Args:
        target_pointers: Host array, uint64 or int64, one dimension: addresses on the host or a GPU.
            The caller keeps that memory alive until the copy has ended.
        source_pointers: The same.
        sizes: Bytes of each piece. No target overlaps another piece: that isn't checked.
        stream: The copy begins after the work in it. None: CUDA's default stream.

    Returns:
        A future, as of `isthmus.copy_async`. The three arrays may be changed on return.

    Raises:
        UsageError: The arrays have other types or unequal lengths; or memory was freed, or is
            shorter than its piece. Nothing was copied.
        DriverError: As for `isthmus.copy_async`.
        Unavailable: As for `isthmus.copy`.
    """
    return default_transfers().copy_many(target_pointers, source_pointers, sizes, stream=stream)


def plan_many(targets: "Structure", sources: "Structure") -> PreparedCopy:
    """
    Prepare `isthmus.copy(targets, sources)` of many arrays, to be called many times.

    Short arrays of GPUs' and pinned memory are copied by one launch; others as `isthmus.copy_async`
    copies them.

    Args:
        targets: As for `isthmus.copy`: a list, tuple or mapping of arrays that lie like their
            sources and have their types. They are kept as long as the prepared copy.
        sources: The same.

    Returns:
        The prepared copy: call it.

    Raises:
        UsageError: As for `isthmus.copy`; or two arrays lie differently.
        OutOfDeviceMemory: What the kernel reads doesn't fit.
        Unavailable: As for `isthmus.copy`.
    """
    return default_transfers().plan_many(targets, sources)
