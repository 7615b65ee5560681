"""`isthmus.PagedArray`."""

import math
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from isthmus import _native
from isthmus.errors import CODES_THAT_END_A_CONTEXT, DriverError, UsageError
from isthmus.move.arrays.ordinals import ordinal_of
from isthmus.move.paged.at_exit import close_at_exit
from isthmus.move.paged.built_in import BuiltIn
from isthmus.move.paged.header import kernels_of
from isthmus.move.paged.operands import Operands, Ranges, byte_ranges_of, handle_of
from isthmus.move.paged.source import budget_of, source_of, unit_bytes_of
from isthmus.move.windows.opening import default_windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.move.arrays.accepted import DeviceLike, StreamLike

PagedStats = _native.PagedStats


class PagedArray(BuiltIn):
    """
    An array in host memory, or in a file, that the GPU fetches on demand.

    If a kernel reads an item that the GPU doesn't hold, it fetches the item's unit over the link
    itself, and others that need it wait. `flush()` writes stores back to the host. No driver call
    and no page fault is involved. `gather`, `scatter`, `write` and `reduce` need no kernel of your
    own; docs/paged.md has kernels for CuPy, and says when paging pays.

    The GPU needs room for the whole array, although it holds only what was touched. With a budget,
    `device_bytes`, the array may be larger. The GPU then holds as many units as fit; a unit without
    room is read and stored in place, in the host's memory, and units that weren't used lately make
    room between kernels.

    The host's memory is pinned as long as the array is open, if it isn't already, and so are the
    other bytes of its first and last page. It is kept until then. While a unit is held, the GPU
    doesn't see what the CPU changes in it: call `refresh()` or `invalidate()` after a change.

    A file's bytes are read into pinned memory when the array is made. So the machine needs memory
    for all of them. `flush()` and `close()` write stores to the file, unit by unit; if the file has
    become shorter, that is an error, not a signal.

    Indices are those of the flattened array. A context manager: `close()` at the end.

    Attributes:
        shape: The host array's.
        dtype: Its type.
        size: How many items it has.
        device: The GPU's ordinal.
        unit_bytes: The size of a unit.
        device_bytes: The device memory that the array takes.
        budgeted: True if it doesn't hold the whole array: your own kernels then use
            `isthmus::budgeted_array`, else `isthmus::paged_array`.
    """

    def __init__(
        self,
        source: "NDArray[Any]",
        unit: str | int = "1KiB",
        policy: str = "units",
        device_bytes: str | int | None = None,
        *,
        device: "DeviceLike" = 0,
    ) -> None:
        """
        Map the host's array, and allocate the device's memory. Nothing is copied there yet.

        Args:
            source: A NumPy array in C order, of booleans, numbers or complex numbers. One of
                `isthmus.pinned.empty` is pinned already; others are pinned here (20 to 50 ms a
                GiB). Of a read-only one nothing can be stored. A memory-mapped one
                (`numpy.memmap`, `numpy.load` with mmap_mode; "r", "r+" or "w+"), or a part of it,
                is the array in its file, which is read here and must still have its name.
            unit: What is fetched at once: a power of two from 256 bytes to 2 MiB. Small
                units suit sparse accesses, large ones suit streams.
            policy: "units": the GPU fetches the units that it touches. "read_through": it holds
                nothing, and reads and stores all items in place.
            device_bytes: The device memory for items, at least a unit. None is that of the array.
                Maps take 4 bytes and 6 to 8 bits for each unit and 8 bytes for each that
                there is room for.
            device: As for `isthmus.device_empty`.

        Raises:
            UsageError: The array, unit, policy or budget is invalid; or the file can't be opened by
                its name, has become shorter or can't be read. Nothing was changed.
            OutOfDeviceMemory: The array and its maps don't fit, or a file not into memory.
            Unavailable: There is no GPU or no NVRTC; or the host's pages can't be pinned, such as
                read-only ones, and those of which another library, or a paged array of other
                memory, has pinned a part.
        """
        self.unit_bytes = unit_bytes_of(unit)
        windows = default_windows()
        self.device = ordinal_of(device, windows._driver)
        self._source = source_of(source, self.device)
        self.shape: tuple[int, ...] = self._source.shape
        self.dtype = self._source.dtype
        self.size = math.prod(self.shape)
        size_bytes = self.size * self.dtype.itemsize
        budget = budget_of(policy, device_bytes, size_bytes, self.unit_bytes)
        self.budgeted = budget is not None
        file = self._source.file
        context = windows._pending_work.context(self.device)
        self._context = context
        self._operands = Operands(windows, context, self.device)
        memory = _native.PagedMemory(
            context,
            kernels_of(windows, self.device),
            pointer=self._source.pointer,
            size_bytes=size_bytes,
            item_bytes=self.dtype.itemsize,
            read_only=self._source.read_only,
            unit_bytes=self.unit_bytes,
            budget_bytes=budget,
            owner=self._source.held,
            file=file.native if file else None,
        )
        self.device_bytes = memory.device_bytes
        self._memory: _native.PagedMemory | None = memory
        if file:
            try:
                file.load()
            except BaseException:
                self._give_up(memory)
                raise
        close_at_exit(self)

    @property
    def _open(self) -> _native.PagedMemory:
        """Give the native part; raise UsageError if the array was closed."""
        if self._memory is None:
            raise UsageError("this paged array was closed")
        return self._memory

    def prefetch(self, ranges: Ranges | None = None, stream: "StreamLike | None" = None) -> None:
        """
        Fetch ranges ahead of their use, as far as the GPU doesn't hold them.

        Kernels of another stream may run beside it, unless the array has a budget: a lane that
        comes to a unit first fetches it itself, and `isthmus::holds_all` becomes true for them when
        the GPU holds the whole array. With a budget, other units make room, and what
        doesn't fit isn't fetched.

        Args:
            ranges: Pairs (first, end) of indices, each without its end; None is all.
            stream: Where it is ordered; None is the legacy default stream.

        Raises:
            UsageError: A range isn't of items. Nothing was fetched.
        """
        self._open.prefetch(self._named(ranges), handle_of(stream))

    def will_overwrite(
        self, ranges: Ranges | None = None, stream: "StreamLike | None" = None
    ) -> None:
        """
        Promise that kernels store all items of ranges before they load any of them.

        So these items aren't fetched when they are stored to: units that lie in a range as a whole
        become valid as they are. Those at its ends that have other items are fetched. An item that
        no kernel stores is arbitrary afterwards, on the GPU and, if another one of its unit was
        stored, in the host's array after `flush()`.

        With a budget, other units make room, and what doesn't fit is fetched as usual.

        Args:
            ranges: As for `prefetch`.
            stream: As for `prefetch`.

        Raises:
            UsageError: A range isn't of items, or the host's array is read-only. Nothing was
                changed.
        """
        self._open.will_overwrite(self._named(ranges), handle_of(stream))

    def invalidate(self, ranges: Ranges | None = None, *, discard: bool = False) -> None:
        """
        Let the GPU fetch ranges anew, because the CPU has changed them. Complete on return.

        All work that the GPU was given before is waited for. Whole units are affected; those of a
        file are read from it again.

        Args:
            ranges: As for `prefetch`.
            discard: Lose what was stored to these units and not written back.

        Raises:
            UsageError: A range isn't of items; or what was stored would be lost; or the file has
                become shorter. Nothing was changed. Or the file can't be read.
        """
        self._open.invalidate(self._named(ranges), bool(discard))

    def refresh(self, ranges: Ranges | None = None, stream: "StreamLike | None" = None) -> None:
        """
        Read ranges again, because the CPU has changed them, as far as the GPU holds them.

        Item by item: other items of a unit stay, and so does what was stored to them. Units that
        another stream is fetching are waited for. The call returns at once: until the stream is
        complete, the CPU leaves these items as they are.

        Call it right after the change. If a unit is written back between, by `flush()`, `close()`,
        or, with a budget, by `argument()` and the built-in operations, the CPU's items are lost.

        Args:
            ranges: As for `prefetch`.
            stream: As for `prefetch`. Kernels that use these items are ordered with it.

        Raises:
            UsageError: A range isn't of items; or the array is a file's, whose memory nobody else
                can change. Nothing was read.
        """
        self._open.refresh(self._named(ranges), handle_of(stream))

    def flush(self, stream: "StreamLike | None" = None, ranges: Ranges | None = None) -> None:
        """
        Write back what was stored.

        A file has it then, and other programs see it there. It may be lost if the machine crashes:
        the mapped array's own `flush()` puts it on the disk.

        Args:
            stream: None: after all work that the GPU was given before; complete on return. Else in
                this stream: the caller orders it after the kernels that store, and reads the host's
                array when the stream is complete. Not of a file.
            ranges: As for `prefetch`: units that have an item of one.

        Raises:
            UsageError: The host's array is read-only; the file has become shorter; a range isn't of
                items; or a stream is given and there is a file, which the CPU writes.
            WriteError: The file can't be written: the disk is full, for instance. A part may be
                written. What isn't is kept, and the next call writes it; so it is if the file has
                become shorter.
        """
        named = self._named(ranges)
        if stream is None:
            with self._writing():
                self._open.flush_and_wait(named)
        else:
            self._open.flush(named, handle_of(stream))

    def _named(self, ranges: Ranges | None) -> list[tuple[int, int]]:
        return byte_ranges_of(ranges, self.size, self.dtype.itemsize)

    def _writing(self) -> AbstractContextManager[None]:
        file = self._source.file
        return file.writing() if file else nullcontext()

    def stats(self) -> PagedStats:
        """
        Count units: `num_units`, `valid_units`, `dirty_units`, `fetched_units` and others.

        `dirty_units` were stored to, and the host's array or the file doesn't have it yet.

        All work that the GPU was given before is waited for. Bytes are units times the
        `unit_bytes` of the counts: without a budget, a larger unit counts as several of 4 KiB.
        """
        return self._open.stats()

    def argument(self, stream: "StreamLike | None" = None) -> int:
        """
        Give your own kernel's argument: `const isthmus::paged_map* map`.

        Before, it orders in the stream that the kernel needn't check what is held by then. Ask for
        it before each launch. A kernel that gets an older one is right, but checks more.

        With a budget it is `const isthmus::budgeted_map* map`, and this is when units make room for
        those that found none. Such an array is used in one stream at a time: asking for another
        stream waits for all work of the GPU, and for the first stream's kernels you have to ask
        again.

        Each stream for which it is asked takes device memory, a bit for each unit and 512 bytes,
        until the array is closed.

        Args:
            stream: Where the kernel will be launched; None is the legacy default stream.

        Returns:
            A device address, for kernels of this stream, valid until the array is closed.

        Raises:
            UsageError: The stream is captured, and this is the first call for it; or it is
                CU_STREAM_PER_THREAD, which is another one in each thread.
        """
        return self._open.settle(handle_of(stream))

    def close(self) -> None:
        """
        Write back what was stored, free the device's memory and let the host's go.

        All work that the GPU was given before is waited for, and so are calls of other threads.
        Closing twice is fine; in a forked child it does nothing. An array that is open when the
        interpreter ends is closed then. An array that is no longer referenced writes back, too, but
        can only report a failure: close it before a stream is captured, in which the GPU can't be
        waited for.

        Raises:
            WriteError: As of `flush`. The array stays open, so that nothing is lost.
            UsageError: The file has become shorter; the same.
            DriverError: The driver refused, such as while a stream is captured. The array stays
                open, unless the device is lost, and with it what wasn't written back.
        """
        memory = self._memory
        if memory is None:
            return
        try:
            with self._writing():
                memory.close()
        except DriverError as error:
            if error.code in CODES_THAT_END_A_CONTEXT:
                self._give_up(memory)
            raise
        self._let_go()

    def _give_up(self, memory: _native.PagedMemory) -> None:
        memory.give_up()
        self._let_go()

    def _let_go(self) -> None:
        """Only when the native part has ended: it uses the host's memory."""
        self._memory = None
        self._source.held.release()

    def __enter__(self) -> Self:
        """Give the array itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def __len__(self) -> int:
        """Count items along the first dimension."""
        return self.shape[0] if self.shape else 1

    def __repr__(self) -> str:
        """Name the shape, the type, the unit and the GPU."""
        return (
            f"PagedArray(shape={self.shape}, dtype={self.dtype}, "
            f"unit_bytes={self.unit_bytes}, device={self.device})"
        )
