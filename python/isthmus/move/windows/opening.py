"""Opens windows: on the default driver by `window()`, with other settings by `Windows`."""

import warnings
from typing import TYPE_CHECKING, SupportsIndex

from isthmus import _native
from isthmus.errors import IsthmusWarning, UsageError
from isthmus.ground.forks import lock_of_process
from isthmus.move.arrays.ordinals import ordinal_of
from isthmus.move.arrays.reading import Answers
from isthmus.move.arrays.streams import PendingWork
from isthmus.move.windows.recognition import device_bytes_of

if TYPE_CHECKING:
    from isthmus.move.arrays.accepted import DeviceArrayLike, DeviceLike

_MAX_THREADS = 1024
_LAST_ADDRESS = (1 << 64) - 1

Window = _native.Window
WindowBackendReport = _native.WindowBackendReport
WindowMemoryReport = _native.WindowMemoryReport
WindowCosts = _native.WindowCosts


class Windows:
    """
    Opens windows on the devices of one driver. May be used from any thread.

    Mappings are shared by all windows of one `Windows`, and so is the budget of BAR1.
    """

    def __init__(
        self,
        driver_source: str = "",
        *,
        backend: str | None = None,
        bar1_limit_bytes: int | None = None,
    ) -> None:
        """
        Open a driver.

        Args:
            driver_source: "system", "emulated[:PROFILE]" or a path; "" is $ISTHMUS_DRIVER, or
                "system" if that isn't set.
            backend: "dmabuf", "gdrdrv" or "rm" tries only that one, "off" none, "" all; None is
                $ISTHMUS_WINDOW.
            bar1_limit_bytes: Most bytes of a GPU's BAR1 that are mapped at a time; 0 is half of it,
                None is $ISTHMUS_WINDOW_BAR1_MIB.

        Raises:
            Unavailable: There is no such driver.
            UsageError: A setting is invalid.
        """
        _require_text("a driver's source", driver_source)
        if backend is not None:
            _require_text("the backend of windows", backend)
        _require_number("a limit of BAR1 in bytes", bar1_limit_bytes, first=0, last=_LAST_ADDRESS)
        self._driver = self._opened_driver(driver_source)
        self._native = _native.Windows(
            self._driver, backend=backend, bar1_limit_bytes=bar1_limit_bytes
        )
        self._pending_work = PendingWork(self._driver)
        self._reader = _native.ArrayReader(Answers(self._pending_work))

    @staticmethod
    def _opened_driver(source: str) -> _native.Driver:
        return _native.Driver.open(source)

    def open(
        self,
        memory: "DeviceArrayLike | SupportsIndex",
        size: int | None = None,
        *,
        threads: int = 1,
        check: bool = True,
        sync: bool = True,
    ) -> Window:
        """Open a window, as `isthmus.window` does."""
        return self._open(memory, size, threads=threads, check=check, sync=sync)

    def _open(
        self,
        memory: "DeviceArrayLike | SupportsIndex",
        size: int | None,
        *,
        threads: int,
        check: bool,
        sync: bool,
    ) -> Window:
        _require_number("a size in bytes", size, first=0, last=_LAST_ADDRESS)
        _require_number("threads", threads, first=1, last=_MAX_THREADS)
        found = device_bytes_of(memory, size, self._reader, ordered=sync)
        if sync and found.pending_stream is not None:
            self._pending_work.wait(found.pending_stream, found.pending_device, found.pointer)
        opened = self._native.open(
            found.pointer,
            found.size_bytes,
            owner=found.owner,
            read_only=found.read_only,
            num_threads=threads,
            check=bool(check),
        )
        for notice in self._native.take_notices():
            warnings.warn(notice, IsthmusWarning, stacklevel=3)
        return opened

    def backends(self, device: "DeviceLike" = 0) -> list[WindowBackendReport]:
        """Try every backend on a device: `.backend`, `.usable`, and `.reason` of each."""
        return self._native.backends(ordinal_of(device, self._driver))

    def memory_kinds(self, device: "DeviceLike" = 0) -> list[WindowMemoryReport]:
        """
        Allocate a few MiB of each kind of device memory, and open a window on it.

        Freeing the memory waits for the device's work.

        Returns:
            Of each kind `.memory` (how it is allocated), `.usable`, and `.reason`: by what the
            memory is found, or why there are no windows on it.

        Raises:
            Unavailable: Windows are off, or no backend is usable.
        """
        return self._native.memory_kinds(ordinal_of(device, self._driver))

    def mapped_bytes(self, device: "DeviceLike" = 0) -> int:
        """Give how many bytes of the device's BAR1 the windows map now."""
        return self._native.mapped_bytes(ordinal_of(device, self._driver))

    def bar1_limit_bytes(self, device: "DeviceLike" = 0) -> int:
        """Give how many bytes of the device's BAR1 may be mapped at a time."""
        return self._native.bar1_limit_bytes(ordinal_of(device, self._driver))

    def costs(self) -> WindowCosts:
        """
        Give the total cost of the mappings behind all windows so far.

        Returns:
            For each step (`.pin`, `.map`, `.unmap`, `.unpin`) how often it was taken (`.count`) and
            its total time (`.seconds`). Windows that share a mapping, or that were refused, add
            nothing. The numbers only grow: take differences.

        Raises:
            UsageError: This process was forked off after these windows were made.
        """
        return self._native.costs()


class _DefaultWindows(Windows):
    """
    The default driver's windows. Where there is no driver, or a parent process has it, they belong
    to none: host arrays can be copied, and everything else raises Unavailable or UsageError with
    the reason.
    """

    @staticmethod
    def _opened_driver(source: str) -> _native.Driver:
        return _native.Driver.open_or_absent(source)


def _require_number(what: str, value: object, *, first: int, last: int) -> None:
    """Raise UsageError unless a given value is an integer within bounds."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not first <= value <= last:
        raise UsageError(f"{what} must be an integer from {first} to {last}, not {value!r}")


def _require_text(what: str, value: object) -> None:
    """Raise UsageError unless a value is text."""
    if not isinstance(value, str):
        raise UsageError(f"{what} must be text, not {value!r}")


_default: Windows | None = None
_default_lock = lock_of_process()


def default_windows() -> Windows:
    """Give the windows of the default driver, opened when first needed."""
    global _default  # noqa: PLW0603 - opened when it is first needed, for all of the process
    with _default_lock:
        if _default is None:
            _default = _DefaultWindows()
        return _default


def exchange_default(windows: Windows | None) -> Windows | None:
    """Let the process use other windows by default, or open some anew; give the former ones."""
    global _default
    with _default_lock:
        former, _default = _default, windows
        return former


def window(
    memory: "DeviceArrayLike | SupportsIndex",
    size: int | None = None,
    *,
    threads: int = 1,
    check: bool = True,
    sync: bool = True,
) -> Window:
    """
    Map GPU memory, so that the CPU can write and read it without a copy command.

    The window keeps the array alive until it is closed. It is a context manager:
    `with isthmus.window(tensor) as w: w.write(b, offset)`. docs/windows.md says when written bytes
    are visible.

    Args:
        memory: A contiguous array in GPU memory (DLPack or `__cuda_array_interface__`: PyTorch,
            CuPy, JAX, Numba, RMM), a `DevicePointer`, or a device pointer, whose memory the
            caller keeps alive.
        size: In bytes, from the start; None is all of an array or `DevicePointer`. An integer
            needs it.
        threads: The most threads that one write or read may use.
        check: Check on each call that the memory hasn't been freed (about 0.1 µs); False:
            the caller promises to close the window first.
        sync: Wait for the work that the array's library has launched on it; False if there is none,
            and while a CUDA graph is captured.

    Returns:
        The open window. Offsets in it are bytes.

    Raises:
        UsageError: It isn't a GPU's own memory, was freed, isn't contiguous, or is empty.
        Unavailable: Windows can't work here; each backend's reason is given. Or BAR1 is used up.
    """
    return default_windows()._open(memory, size, threads=threads, check=check, sync=sync)
