"""`isthmus.RowCache`: rows of a host table that the GPU holds, chosen on the GPU."""

import importlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from isthmus import _native
from isthmus.errors import (
    CODES_THAT_END_A_CONTEXT,
    DriverError,
    Error,
    OutOfDeviceMemory,
    UsageError,
)
from isthmus.ground.sizes import approximate_size
from isthmus.move.arrays.device_array import DeviceArray
from isthmus.move.arrays.loaded import loaded_type
from isthmus.move.arrays.ordinals import ordinal_of
from isthmus.move.arrays.reading import note_writes
from isthmus.move.arrays.streams import library_of
from isthmus.move.paged.at_exit import close_at_exit
from isthmus.move.paged.header import kernels_of
from isthmus.move.paged.operands import handle_of, index_of, of_type, require_word
from isthmus.move.paged.source import is_mapped, source_of
from isthmus.move.transfer.copying import default_transfers
from isthmus.move.transfer.packing import numpy_module
from isthmus.move.windows.opening import default_windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isthmus.move.arrays.accepted import ArrayLike, DeviceLike, StreamLike

RowCacheStats = _native.RowCacheStats
_MOST_SLOTS = (1 << 31) - 1
_WHAT = "a row cache"
_MAP_BYTES = 4, 33  # at most: for each row of the table, and for each that is held


@contextmanager
def _saying_what_fits(
    context: _native.Context, slots: int, row_bytes: int, num_rows: int
) -> Iterator[None]:
    """Say what a cache needs, and what is free, if it doesn't fit."""
    free = context.free_memory_bytes()
    try:
        yield
    except OutOfDeviceMemory as error:
        of_table, of_slot = _MAP_BYTES
        raise OutOfDeviceMemory(
            f"a cache of {slots} rows of {row_bytes} bytes doesn't fit on the GPU: the rows need "
            f"{approximate_size(slots * row_bytes)} and their maps up to "
            f"{approximate_size(num_rows * of_table + slots * of_slot)}, and "
            f"{approximate_size(free)} are free",
            code=error.code,
            code_name=error.code_name,
            symbol=error.symbol,
            hint="make it of fewer rows: it needs those of one call; or free memory, with PyTorch "
            "by torch.cuda.empty_cache()",
        ) from error


def _is_tensor(table: object) -> bool:
    tensor = loaded_type("torch", "Tensor")
    return tensor is not None and isinstance(table, tensor)


def _bytes_of(table: Any, reader: _native.ArrayReader) -> "NDArray[Any]":  # noqa: ANN401 - a tensor
    """Take a tensor's memory, whose type NumPy may not know."""
    reader.read_source(table)  # which explains what is no plain memory
    is_on_host = table.device.type == "cpu"
    if not is_on_host or not table.is_contiguous():
        why = "has gaps or isn't in C order" if is_on_host else f"is on {table.device}"
        raise UsageError(
            f"this table {why}: {_WHAT} needs a contiguous tensor in host memory",
            hint="make one: table.cpu().contiguous().pin_memory()",
        )
    torch = importlib.import_module("torch")
    return torch.atleast_1d(table.detach()).view(torch.uint8).numpy()  # type: ignore[no-any-return]


def _tensor_of(array: DeviceArray, dtype: Any) -> Any:  # noqa: ANN401 - of PyTorch
    return importlib.import_module("torch").from_dlpack(array).view(dtype)


class RowCache:
    """
    Rows of a table in host memory that the GPU holds, for kernels that need some of them by number.

    `ensure(keys)` gives the slots of rows in `rows`, and fetches those that aren't there. Looking
    up, making room and fetching happen on the GPU, in the stream, in one launch, or two for rows
    over 4 KiB: the CPU reads nothing, so that a CUDA graph repeats it with the keys that it finds
    then.

    Slots are valid until the next `ensure` in the cache: a call never evicts a row that it needs
    itself, and `prefetch` none of the last `ensure`. With `write_back`, rows may be stored to.

    The table is pinned as long as the cache is open, if it isn't already. A row that the GPU holds
    doesn't see what the CPU changes in the table. docs/row-cache.md says more.

    Calls that aren't captured follow each other, in whatever streams they are made. What uses their
    rows doesn't: the work on the last slots must be ordered before the next `ensure`, as it is in
    one stream. A graph's calls are ordered by the caller alone; calls beside each other are found,
    and reported.

    A context manager: `close()` at the end. May be used from any thread.

    Attributes:
        rows: The GPU's rows, [slots, ...] of the table's type: index it by slots. A tensor if the
            table is one; else every library takes it by DLPack. It stays valid after `close`.
        keys: The row of each slot: int32 on the GPU; -1: none yet.
        device: The GPU's ordinal.
        device_bytes: The device memory that the cache takes.
    """

    def __init__(
        self,
        table: Any,  # noqa: ANN401 - an array or a tensor
        rows: int,
        *,
        policy: Literal["lru", "clock"] = "lru",
        write_back: bool = False,
        device: "DeviceLike | None" = None,
    ) -> None:
        """
        Pin the table, and allocate the device's memory. Nothing is copied there yet.

        Args:
            table: A NumPy array in C order, or a contiguous tensor of PyTorch in host memory, whose
                rows along axis 0 have 256 bytes to 256 MiB, in whole 16 bytes. What isn't pinned
                already is pinned here. A memory-mapped array is read into pinned memory as a whole,
                and can't be written back.
            rows: How many rows the GPU holds: at least as many as one call has distinct keys.
            policy: Which row makes room, of 32 that come in turn: "lru": the one that wasn't used
                for longest; "clock": one that wasn't used since its turn before.
            write_back: Rows may be stored to (`update`, `mark_dirty`). They go back to the table
                before their slots are used again, and in `flush` and `close`.
            device: As for `isthmus.device_empty`; None is the first.

        Raises:
            UsageError: The table, its rows or their number is invalid, or a file has become
                shorter. Nothing was changed.
            OutOfDeviceMemory: The rows don't fit, or the maps: 4 bytes for each row of the table,
                and 8 to 33 for each that is held.
            Unavailable: There is no GPU or no NVRTC; or the table's pages can't be pinned.
        """
        require_word("policy", policy, ("lru", "clock"))
        slots = index_of("rows", rows)
        if write_back and is_mapped(table):
            raise UsageError(
                "rows can't be written back to a memory-mapped table, which is read as a whole",
                hint="load it to isthmus.pinned.empty(), and save it at the end",
            )
        windows = default_windows()
        self.device = ordinal_of(0 if device is None else device, windows._driver)
        is_tensor = _is_tensor(table)
        array = _bytes_of(table, windows._reader) if is_tensor else table
        self._source = source_of(array, self.device, _WHAT)
        if not self._source.shape[1:]:
            raise UsageError("the table has fewer than two dimensions: rows lie along the first")
        num_rows, *row_shape = self._source.shape
        if not 1 <= slots <= min(num_rows, _MOST_SLOTS):
            raise UsageError(f"a cache of {slots} rows: it has 1 to {num_rows}, those of the table")
        context = windows._pending_work.context(self.device)
        dtype = self._source.dtype
        row_bytes = math.prod(row_shape) * dtype.itemsize
        self._context = context
        self._transfers = default_transfers()._native
        if self._source.file:
            self._source.file.load()
        with _saying_what_fits(context, slots, row_bytes, num_rows):
            held = DeviceArray(context, (slots, *row_shape), dtype, self.device)
            self.keys = DeviceArray(context, (slots,), numpy_module().dtype("int32"), self.device)
            native = _native.RowCache(
                context,
                kernels_of(windows, self.device),
                table=self._source.pointer,
                num_rows=num_rows,
                row_bytes=row_bytes,
                read_only=self._source.read_only,
                rows=held.pointer,
                keys=self.keys.pointer,
                num_slots=slots,
                has_clock=policy == "clock",
                write_back=bool(write_back),
                owner=(self._source.held, held, self.keys),
            )
        self.rows: Any = _tensor_of(held, table.dtype) if is_tensor else held
        written = (self.rows, table) if write_back else (self.rows,)
        self._written: tuple[Any, ...] = written if is_tensor else ()
        self.device_bytes = held.nbytes + self.keys.nbytes + native.device_bytes
        self._native: _native.RowCache | None = native
        close_at_exit(self)

    @property
    def _open(self) -> _native.RowCache:
        """Give the native part; raise UsageError if the cache was closed."""
        if self._native is None:
            raise UsageError("this row cache was closed")
        return self._native

    def _note_writes(self) -> None:
        """Tell autograd that tensors may be written from now on."""
        if self._written:
            note_writes()(self._written)

    def ensure(self, keys: "ArrayLike", stream: "StreamLike | None" = None) -> Any:  # noqa: ANN401
        """
        Give the slots of rows, and fetch those that the GPU doesn't hold. Returns at once.

        Args:
            keys: Numbers of rows, int32 or int64, of any shape, on the GPU: an array of PyTorch,
                CuPy or JAX, or a DeviceArray. Keys may repeat; a row is fetched once. They are read
                in the stream, and kept until it has come so far; but a graph keeps nothing.
            stream: As for `isthmus.copy`: None is the current stream of the keys' library.

        Returns:
            int32, in the shape of `keys`, an array of the same library: `rows[slots]` are the rows,
                for later work in the stream. -1 for a key that is no row of the table, or found no
                room: no row of the cache was lost for it. A graph that has captured the call
                writes to the same array: keep it.

        Raises:
            UsageError: `keys` are wrong, or an *earlier* call has had such a key: it is raised
                once, and nothing was enqueued. `check()` raises it as soon as that call has ended.
            DriverError: The driver refuses the launch.
        """
        slots, library = self._slots_for(keys)
        used = self._open.ensure(self._transfers, keys, slots, stream)
        self._note_writes()
        if library != "jax":
            return slots
        # JAX takes an array only when it is complete.
        _native.synchronize_stream(self._context, used)
        return importlib.import_module("jax.dlpack").from_dlpack(slots)

    def prefetch(self, keys: "ArrayLike", stream: "StreamLike | None" = None) -> None:
        """
        Fetch rows that a later `ensure` will ask for, usually in another stream, beside the work on
        the last slots. Later calls of the cache wait for it.

        It makes no room among the rows of the last `ensure`, nor of other prefetches since then: a
        row that finds none isn't fetched, which is no error.

        Args:
            keys: As for `ensure`.
            stream: The same. A stream that is named isn't ordered after the work on the keys.

        Raises:
            UsageError: As for `ensure`.
        """
        self._open.ensure(self._transfers, keys, None, stream)
        self._note_writes()

    def update(
        self, slots: "ArrayLike", values: "ArrayLike", stream: "StreamLike | None" = None
    ) -> None:
        """
        Store rows: `rows[slots[i]] = values[i]`, and mark them as `mark_dirty` does.

        Args:
            slots: int32 or int64 on the GPU, of the last `ensure`. Numbers that are no slots,
                such as -1, are left out. Of several rows for one slot any part may be stored.
            values: A row for each, of the table's type, on the GPU, in C order.
            stream: As for `ensure`.

        Raises:
            UsageError: The arrays are wrong, or the cache doesn't write back. Nothing was stored.
        """
        self._open.update(self._transfers, slots, of_type(self.rows.dtype, values), stream)
        self._note_writes()

    def mark_dirty(self, slots: "ArrayLike", stream: "StreamLike | None" = None) -> None:
        """
        Say that kernels have stored to rows of the last `ensure`, before these lose their slots.

        Args:
            slots: As for `update`.
            stream: The same.

        Raises:
            UsageError: As for `update`.
        """
        self._open.update(self._transfers, slots, None, stream)
        self._note_writes()

    def flush(self, stream: "StreamLike | None" = None) -> None:
        """
        Write back the rows that were stored to.

        Args:
            stream: None: after all work that the GPU was given; the table has them on return. Else
                in this stream: read the table when it is complete.
        """
        if stream is None:
            self._open.flush_and_wait()
        else:
            self._open.flush(handle_of(stream))
        self._note_writes()

    def stats(self) -> RowCacheStats:
        """
        Count keys, hits and rows of the calls that have ended. Waits for nothing: the GPU writes
        the counts to pinned memory.
        """
        return self._open.stats()

    def check(self) -> None:
        """
        Raise the error of a call that has ended. Waits for nothing.

        Raises:
            UsageError: Keys were no rows of the table, or found no room: once for each; or calls
                ran beside each other, after which the cache can't be trusted.
        """
        self._open.check()

    def close(self) -> None:
        """
        Write back what was stored, free the maps, and let the table go.

        All work that the GPU was given before is waited for, and so are calls of other threads.
        Closing twice is fine. A cache that is open when the interpreter ends is closed. No graph
        that has captured its calls may be launched any more.

        Raises:
            UsageError: As `check()`: of a call before. The cache is closed, and what was stored is
                in the table, unless calls ran beside each other: then nothing was written back.
            DriverError: The driver refused, such as while a stream is captured. The cache stays
                open, unless the device is lost.
        """
        native = self._native
        if native is None:
            return
        try:
            native.close()
        except UsageError:
            self._let_go()
            raise
        except DriverError as error:
            if error.code in CODES_THAT_END_A_CONTEXT:
                native.give_up()
                self._let_go()
            raise
        self._let_go()

    def _let_go(self) -> None:
        """Only when the native part has ended: it uses the table."""
        self._note_writes()
        self._native = None
        self._written = ()
        self._source.held.release()

    def _slots_for(self, keys: object) -> tuple[Any, str]:
        """Allocate slots for keys, in their library, and name that."""
        shape = getattr(keys, "shape", None)
        if not isinstance(shape, tuple):
            raise UsageError(
                f"keys are an array of int32 or int64 on a GPU, not a '{type(keys).__name__}'"
            )
        library = library_of(keys)
        if library is not None and library.__name__ == "torch":
            tensor: Any = keys
            return library.empty(shape, dtype=library.int32, device=tensor.device), "torch"
        if library is not None:
            with library.cuda.Device(self.device):
                return library.empty(shape, "int32"), "cupy"
        jax_array = loaded_type("jax", "Array")
        is_jax = jax_array is not None and isinstance(keys, jax_array)
        dtype = numpy_module().dtype("int32")
        return DeviceArray(self._context, shape, dtype, self.device), "jax" if is_jax else ""

    def __enter__(self) -> Self:
        """Give the cache itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close. What the block has raised is never replaced: `close`'s error becomes a note."""
        try:
            self.close()
        except Error as also:
            if error is None:
                raise
            error.add_note(f"on closing, the row cache reported: {also}")

    def __repr__(self) -> str:
        """Name the rows, the table and the GPU."""
        return (
            f"RowCache(rows={self.rows.shape[0]}, "
            f"table={(self._source.shape[0], *self.rows.shape[1:])}, dtype={self.rows.dtype}, "
            f"device={self.device})"
        )
