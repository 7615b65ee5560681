"""What copies would cost instead: by this machine's profile, or by defaults that say so."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from isthmus.decide.profile.costs import seconds_at
from isthmus.decide.profile.model import Path, Profile
from isthmus.decide.profile.plan import MARGINS
from isthmus.errors import DriverError, Unavailable, UsageError

NEVER_BYTES = 1 << 62
"""Instead of the size from which a path pays, where it never does."""
_DIRECTIONS = {"up": "h2d", "down": "d2h"}
# A machine without a GPU that reads another's counters.
_OTHER_MACHINE = "h100-sxm-pcie5"
_HERE = "defaults, for want of a profile (run `isthmus profile`)"
# Where staging is compared with the driver, from the largest size down: four sizes a doubling.
_LARGEST_BYTES, _SMALLEST_BYTES, _STEP = 1 << 30, 4 << 10, 2**0.25


@dataclass(frozen=True, kw_only=True)
class Costs:
    """
    Predicts copies.

    Attributes:
        source: Where the predictions are from, for people.
        modelled: Whether they are of an emulated device.
        seconds_of: Predicts a copy by path, "h2d" or "d2h", host memory and bytes; None: unknown.
        profile: What has the costs of memory; None if only defaults are known.
    """

    source: str
    estimated: bool
    modelled: bool
    seconds_of: Callable[[str, str, str, int], float | None]
    profile: Profile | None = None

    def seconds(
        self, path: Path, direction: str, host_memory: str, size_bytes: int
    ) -> float | None:
        """Predict a copy "up" or "down"; None if nothing is known of the path."""
        return self.seconds_of(path.value, _DIRECTIONS[direction], host_memory, max(1, size_bytes))

    def new_download(self, path: Path, size_bytes: int) -> float | None:
        """
        Predict a download that is the first to touch its target, with what malloc and free take;
        None if the profile doesn't say.
        """
        downloads = self.profile.new_memory_downloads if self.profile else []
        points = next((one.points for one in downloads if one.path == path), None)
        return seconds_at(points, size_bytes) if points else None

    def instead(
        self, direction: str, size_bytes: int, seconds: float, now: Path, then: Path
    ) -> float | None:
        """
        Predict what a copy of pageable memory that took `seconds` by the path `now` takes by
        `then`. A download as slow as into new memory was one into new memory.
        """
        if direction == "down":
            new = self.new_download(now, size_bytes)
            known = self.seconds(now, direction, "pageable", size_bytes)
            if new and known and seconds > math.sqrt(known * new):
                return self.new_download(then, size_bytes)
        return self.seconds(then, direction, "pageable", size_bytes)

    def staged_from(self, direction: str) -> int:
        """Give the bytes from which staging beats the driver by the engine's margin."""
        found, size = NEVER_BYTES, float(_LARGEST_BYTES)
        while size >= _SMALLEST_BYTES:
            staged, driver = (
                self.seconds(path, direction, "pageable", round(size))
                for path in (Path.STAGED, Path.DRIVER)
            )
            if staged is None or driver is None or staged * MARGINS[Path.STAGED] > driver:
                break
            found, size = round(size), size / _STEP
        return found


COSTS_UNKNOWN = Costs(source="", estimated=True, modelled=False, seconds_of=lambda *_: None)
"""Predicts nothing."""


def costs_of(profile: Profile, source: str, *, estimated: bool = False) -> Costs:
    """Take the costs of a profile."""

    def seconds_of(path: str, direction: str, host_memory: str, size_bytes: int) -> float | None:
        cost = profile.cost(path, direction, host_memory)
        return seconds_at(cost.points, size_bytes) if cost else None

    return Costs(
        source=source,
        estimated=estimated,
        modelled=profile.machine.emulated,
        seconds_of=seconds_of,
        profile=profile,
    )


def costs_here(*, emulated: bool = False) -> Costs:
    """
    Find the costs of this machine's first GPU, or of the emulated one if its calls were counted;
    without a GPU those of a machine that comes with Isthmus.
    """
    from isthmus import _native
    from isthmus.decide.profile.store import stored_profile

    try:
        driver = _native.Driver.open("emulated" if emulated else "")
        driver.require_devices()
        identity = _native.profile_identity(driver, 0)
        used = _native.profile_in_use(driver, 0)
    except (Unavailable, DriverError, UsageError):
        from isthmus.decide.advice.machine import machine_profile

        source = f"the profile of {_OTHER_MACHINE}, as there is no GPU here"
        return costs_of(machine_profile(_OTHER_MACHINE), source, estimated=True)
    profile = None
    if used.measured:
        try:
            profile = stored_profile(identity)
        except (Unavailable, UsageError):
            profile = None
    here = f"{identity.gpu_name}, {identity.link}: this machine's profile"
    return Costs(
        source=here if used.measured else _HERE,
        estimated=not used.measured,
        modelled=identity.emulated,
        seconds_of=lambda path, direction, memory, size: used.seconds(
            path=path, direction=direction, host_memory=memory, size_bytes=size
        ),
        profile=profile,
    )
