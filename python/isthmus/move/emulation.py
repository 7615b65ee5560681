"""The emulated device for a while: `with isthmus.emulated():`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from isthmus import pinned
from isthmus.errors import UsageError
from isthmus.ground.forks import lock_of_process
from isthmus.move.transfer import copying
from isthmus.move.windows import opening
from isthmus.move.windows.opening import Windows


class _Opened(NamedTuple):
    """What the whole process uses of one driver; None and empty where nothing was opened yet."""

    windows: Any
    transfers: Any
    pools: Any


class _Emulation:
    """
    The blocks that are running.

    Attributes:
        outside: What the process used before the first of them.
    """

    def __init__(self) -> None:
        self._lock = lock_of_process()
        self._num_blocks = 0
        self._profile = ""
        self._outside = _Opened(None, None, {})

    def enter(self, profile: str) -> None:
        """Begin a block."""
        with self._lock:
            if self._num_blocks == 0:
                emulated = Windows(f"emulated:{profile}" if profile else "emulated")
                self._outside = _exchange(_Opened(emulated, None, {}))
                self._profile = emulated._driver.profile
            elif profile not in {"", self._profile}:
                raise UsageError(
                    f"isthmus.emulated({profile!r}) was entered while another block uses the "
                    f"emulated profile '{self._profile}'",
                    hint="one process has one emulated profile at a time",
                )
            self._num_blocks += 1

    def leave(self) -> None:
        """End a block; the last one brings back what the process used before."""
        with self._lock:
            self._num_blocks -= 1
            if self._num_blocks == 0:
                _exchange(self._outside)
                self._outside = _Opened(None, None, {})


def _exchange(now: _Opened) -> _Opened:
    """Let the process use one driver's, and give what it used before: all of it in one step."""
    with copying.default_lock, pinned.pools_lock:
        return _Opened(
            opening.exchange_default(now.windows),
            copying.exchange_default(now.transfers),
            pinned.exchange_pools(now.pools),
        )


_emulation = _Emulation()


@contextmanager
def emulated(profile: str = "") -> Iterator[None]:
    """
    Use the emulated device instead of a GPU within a block: `with isthmus.emulated():`.

    The emulated device runs on the CPU. It moves real bytes; its times are modelled. Inside the
    block, in every thread, `isthmus.copy`, `window`, `device_empty`, `pinned` and all other
    functions of this package that name no driver use it; afterwards they use their former driver.
    Arrays made inside stay valid, but can only be copied inside such a block. To use
    the emulated device throughout, set the environment variable ISTHMUS_DRIVER=emulated before
    the first call. Blocks may be nested, and entered by several threads at once.

    Args:
        profile: The emulated device's speed and memory: "small", "h100-pcie5", "two-gpus" and
            others, which the error about an unknown one lists. "" is "small", or the profile of
            the block outside of this one.

    Raises:
        UsageError: There is no such profile, or another one is in use: in another block, or
            by an object outside of this block that uses the emulated device.
    """
    _emulation.enter(profile)
    try:
        yield
    finally:
        _emulation.leave()
