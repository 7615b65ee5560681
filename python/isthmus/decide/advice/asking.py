"""`isthmus.advise`: advice for programs."""

import statistics
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import index
from typing import TYPE_CHECKING, Any

from isthmus.decide.advice.answer import Advice, advice_on
from isthmus.decide.advice.machine import machine_profile
from isthmus.decide.advice.offload import Computation, OffloadAdvice, offload_advice
from isthmus.decide.advice.question import (
    Question,
    buffer_named,
    direction_named,
    result_asked,
    size_asked,
)
from isthmus.errors import IsthmusWarning, Unavailable, UsageError, WriteError
from isthmus.move.arrays.ordinals import ordinal_of

if TYPE_CHECKING:
    from isthmus import _native
    from isthmus.decide.profile.model import Profile
    from isthmus.move.arrays.accepted import DeviceLike

# Functions are timed until so many calls, or so many seconds.
_MAX_CALLS = 25
_MIN_CALLS = 3
_MAX_SECONDS = 1.0


class Advisor:
    """Answers which memory and which copies to use, and whether to use the GPU at all."""

    def __call__(  # noqa: PLR0913 - keyword arguments, each with a default
        self,
        size: int | str,
        direction: str = "to-device",
        *,
        uses: int = 1,
        buffer: str = "new",
        result: int | str | None = None,
        cores: float | None = None,
        asynchronous: bool = False,
        machine: str | None = None,
        device: "DeviceLike" = 0,
    ) -> Advice:
        """
        Rank the ways to give a host buffer to a GPU, with what each costs.

        Args:
            size: The buffer, in bytes or as "64MiB".
            direction: What crosses at each use: "to-device" or "h2d", "from-device" or "d2h",
                "round-trip" (the same bytes up and down), or "reduce" (all up, a result down).
            uses: How often the buffer is copied.
            buffer: What exists: "new" (it is allocated and freed once), "pageable" or "pinned".
            result: What comes down at each use of "reduce", in bytes or as "4KiB"; None is 4 B, or
                all if there are fewer. Other directions have none.
            cores: The cores that copies may use, with the caller's; None: all.
            asynchronous: The program goes on while a copy runs.
            machine: A machine that comes with Isthmus, such as "h100-sxm-pcie5", or a file of
                `isthmus profile -o FILE`; None is this machine.
            device: The GPU, as for `isthmus.device_empty`, if it is this machine.

        Returns:
            The ways, the fastest first, with times in seconds and their spread; the sizes and
            numbers of uses at which they break even; and the answer in words. All of them are
            steady; `first_time` has the ways if each page of a new buffer is new. The times are of
            a profile: this machine's is measured, once, in at most 10 s.

        Raises:
            UsageError: An argument has no answer, or there is no such machine.
            Unavailable: There is no driver or no GPU, or this machine is too busy to be measured.
        """
        size_bytes, way = size_asked(size), direction_named(direction)
        question = Question(
            size_bytes=size_bytes,
            direction=way,
            uses=index(uses),
            buffer=buffer_named(buffer),
            result_bytes=result_asked(result, size_bytes, way),
            cores=cores,
            asynchronous=asynchronous,
        )
        return advice_on(question, _profile(machine, device))

    def offload(  # noqa: PLR0913 - keyword arguments, each with a default
        self,
        *,
        cpu: Callable[..., object],
        gpu: Callable[..., object],
        arguments: Sequence[Any],
        times: int = 1,
        resident_bytes: int = 0,
        cores: float | None = None,
        machine: str | None = None,
        device: "DeviceLike" = 0,
    ) -> OffloadAdvice:
        """
        Time a function on the CPU and on the GPU, and say which one to use.

        `cpu` is called with the arguments. `gpu` is called with the same, but each NumPy array is
        an `isthmus.DeviceArray` with its contents: PyTorch, CuPy and JAX take it by DLPack. Both
        are called at least three times, for about a second; the medians count. All work of the
        device is awaited after each call of `gpu`.

        Args:
            cpu: The function on the CPU.
            gpu: The function on the GPU.
            arguments: Of both. The bytes of the NumPy arrays go up at each time.
            times: How often a program does it.
            resident_bytes: What goes up once, such as weights.
            cores: The cores that copies may use, with the caller's; None: all.
            machine: As for `isthmus.advise`.
            device: The GPU on which `gpu` runs.

        Returns:
            The answer: which is faster with its copies, for each way to copy, and from how many
            times and how many bytes on. What comes down are the bytes of what `gpu` returns.

        Raises:
            UsageError: There is no array among the arguments, or no such machine.
            Unavailable: There is no driver or no GPU, or this machine is too busy to be measured.
        """
        import numpy as np

        arrays = [one for one in arguments if isinstance(one, np.ndarray)]
        if not arrays:
            raise UsageError(
                "no NumPy array is among the arguments", hint="give arguments=[array, ...]"
            )
        on_device = [
            _uploaded(one, device) if isinstance(one, np.ndarray) else one for one in arguments
        ]
        wait = _wait_for(device)
        profile = _profile(machine, device)
        # Refuses what has no answer before anything is timed.
        asked = Computation(
            up_bytes=sum(array.nbytes for array in arrays),
            down_bytes=0,
            cpu_seconds=1.0,
            gpu_seconds=1.0,
            times=index(times),
            resident_bytes=index(resident_bytes),
            cores=cores,
        )
        returned: list[object] = []

        def on_gpu() -> None:
            returned[:] = [gpu(*on_device)]
            wait()

        cpu_seconds, gpu_seconds = _median(lambda: cpu(*arguments)), _median(on_gpu)
        computation = replace(
            asked,
            cpu_seconds=cpu_seconds,
            gpu_seconds=gpu_seconds,
            down_bytes=_bytes_of(returned[0]),
        )
        return offload_advice(computation, profile)


advise = Advisor()


def _profile(machine: str | None, device: "DeviceLike") -> "Profile":
    if machine is not None:
        return machine_profile(machine)
    from isthmus.move.windows.opening import default_windows

    driver = default_windows()._driver
    return profile_here(driver, ordinal_of(device, driver))


def profile_here(driver: "_native.Driver", ordinal: int) -> "Profile":
    """Give this machine's profile; measure and store it if none has all that advice needs."""
    from pathlib import Path

    from isthmus import _native
    from isthmus.decide.profile.measuring import measure_profile
    from isthmus.decide.profile.plan import FULL, MAX_EMULATED_BYTES
    from isthmus.decide.profile.session import Session
    from isthmus.decide.profile.store import require_reach, save_profile

    identity = _native.profile_identity(driver, ordinal)
    stored = complete_profile(identity)
    if stored is not None:
        return stored
    effort = FULL.up_to(MAX_EMULATED_BYTES) if identity.emulated else FULL
    measured = measure_profile(identity, lambda most: Session(driver, ordinal, most), effort)
    require_reach(measured, effort)
    if identity.file:
        try:
            save_profile(measured, Path(identity.file))
        except WriteError as error:
            warnings.warn(f"the profile isn't stored: {error}", IsthmusWarning, stacklevel=2)
    return measured


def complete_profile(identity: "_native.ProfileIdentity") -> "Profile | None":
    """Read the stored profile; None if there is none, or it lacks the costs of host memory."""
    from isthmus.decide.profile.store import stored_profile

    try:
        stored = stored_profile(identity)
    except (Unavailable, UsageError):
        return None
    return stored if stored.memory else None


def _uploaded(array: "Any", device: "DeviceLike") -> object:  # noqa: ANN401 - a NumPy array
    from isthmus.move.device_memory import device_empty
    from isthmus.move.transfer.copying import copy

    there = device_empty(array.shape, array.dtype, device)
    copy(there, array)
    return there


def _wait_for(device: "DeviceLike") -> Callable[[], None]:
    """Give what waits for all work of a device."""
    from isthmus.move.windows.opening import default_windows

    windows = default_windows()
    return windows._pending_work.context(ordinal_of(device, windows._driver)).synchronize


def _median(call: Callable[[], object]) -> float:
    call()
    seconds: list[float] = []
    while len(seconds) < _MIN_CALLS or (sum(seconds) < _MAX_SECONDS and len(seconds) < _MAX_CALLS):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def _bytes_of(returned: object) -> int:
    """Count the bytes of the arrays that a function returned."""
    if isinstance(returned, Mapping):
        return sum(map(_bytes_of, returned.values()))
    if isinstance(returned, (list, tuple)):
        return sum(map(_bytes_of, returned))
    return int(getattr(returned, "nbytes", 0) or 0)
