"""What advice is asked for."""

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from operator import index
from typing import TypeVar

from isthmus.errors import UsageError
from isthmus.ground.life import Life
from isthmus.ground.sizes import format_size, parse_size
from isthmus.ground.spelling import did_you_mean, shortened

_Choice = TypeVar("_Choice", bound=StrEnum)
_RESULT_BYTES = 4
_SHORT_NAMES = {"h2d": "to-device", "d2h": "from-device"}
# A program that repeats a copy more often has other questions.
MAX_USES = 1_000_000_000
# A copy of this many bytes takes hours, and a profile's lines say nothing about it.
MAX_BYTES = 1 << 50


class Direction(StrEnum):
    """Which bytes of a buffer cross the link, at each use."""

    TO_DEVICE = "to-device"
    FROM_DEVICE = "from-device"
    ROUND_TRIP = "round-trip"
    """Up, and the same bytes down."""
    REDUCE = "reduce"
    """Up, and a small result down."""


class Buffer(StrEnum):
    """What the host has already."""

    NEW = "new"
    """Nothing: memory is allocated before the first use and freed after the last."""
    PAGEABLE = "pageable"
    PINNED = "pinned"


@dataclass(frozen=True, kw_only=True)
class Question:
    """
    What a program does with one host buffer.

    Attributes:
        size_bytes: The buffer.
        direction: What is copied at each use.
        uses: How often.
        buffer: What exists already.
        result_bytes: What comes down at each use of `reduce`.
        cores: The cores that copies may use, with the caller's; None: all of the profile's machine.
        asynchronous: The program goes on while a copy runs.
        life: Whether malloc and the driver have blocks that they kept, for a new buffer.
    """

    size_bytes: int
    direction: Direction = Direction.TO_DEVICE
    uses: int = 1
    buffer: Buffer = Buffer.NEW
    result_bytes: int = _RESULT_BYTES
    cores: float | None = None
    asynchronous: bool = False
    life: Life = Life.STEADY

    def __post_init__(self) -> None:
        """Refuse what has no answer."""
        for name, size in (("size", self.size_bytes), ("result", self.result_bytes)):
            if not 0 < size <= MAX_BYTES:
                raise UsageError(
                    f"advice for a {name} of {size} bytes",
                    hint=f"a size is from 1 B to {format_size(MAX_BYTES)}",
                )
        if not 0 < self.uses <= MAX_USES:
            raise UsageError(f"advice for {self.uses} uses", hint=f"1 to {MAX_USES} uses")
        if self.cores is not None and not (isfinite(self.cores) and self.cores > 0):
            raise UsageError(f"advice for {self.cores:g} cores", hint="more than 0 cores")
        if self.direction == Direction.REDUCE and self.result_bytes > self.size_bytes:
            raise UsageError(
                f"a result of {self.result_bytes} bytes of {self.size_bytes} bytes is no reduction",
                hint="use direction round-trip if as much comes down as went up",
            )

    @property
    def crossings(self) -> dict[str, int]:
        """The bytes that cross the link at each use, by "h2d" and "d2h"."""
        size = self.size_bytes
        match self.direction:
            case Direction.TO_DEVICE:
                return {"h2d": size}
            case Direction.FROM_DEVICE:
                return {"d2h": size}
            case Direction.ROUND_TRIP:
                return {"h2d": size, "d2h": size}
            case Direction.REDUCE:
                return {"h2d": size, "d2h": self.result_bytes}


def result_asked(result: int | str | None, size_bytes: int, direction: Direction) -> int:
    """Give the bytes of a result: by default a number of 4 B, or all if there are fewer."""
    if result is None:
        return min(_RESULT_BYTES, size_bytes)
    if direction != Direction.REDUCE:
        raise UsageError(
            f"a result with direction {direction}: only reduce has one", hint="direction reduce"
        )
    return size_asked(result)


def size_asked(size: int | str) -> int:
    """Read a size in bytes, or as "64MiB"."""
    try:
        return parse_size(size) if isinstance(size, str) else index(size)
    except TypeError:
        raise UsageError(
            f"a size of {size!r}", hint='a size is a whole number of bytes, or "64MiB"'
        ) from None


def direction_named(name: str) -> Direction:
    """Find a direction by its name; "h2d" and "d2h" are understood."""
    return _named(Direction, _SHORT_NAMES.get(name.lower(), name), "direction")


def buffer_named(name: str) -> Buffer:
    """Find what exists already by its name."""
    return _named(Buffer, name, "buffer")


def _named(choices: type[_Choice], name: str, what: str) -> _Choice:
    names = [choice.value for choice in choices]
    if name not in names:
        raise UsageError(
            f"unknown {what} '{shortened(name)}'",
            hint=f"{did_you_mean(name, names)} They are: {', '.join(names)}",
        )
    return choices(name)
