"""Large copies in one direction, taken from lifetimes of buffers, each of which serves both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isthmus.measure.bench.tests.bench_test import Direction

if TYPE_CHECKING:
    from isthmus.measure.bench.session import Measurement, Samples


@dataclass(frozen=True, kw_only=True)
class OneStep:
    """Samples of one step of a lifetime, as the times behind a bandwidth."""

    metric: str
    seconds: Sequence[float]
    copies_per_sample: int
    stopped_by: str


@dataclass(frozen=True, kw_only=True)
class OneWay:
    """The copies in one direction of several lifetimes."""

    samples: "Sequence[Samples]"
    first_call_seconds: float
    verified_on: str
    waived: Mapping[str, str] = field(default_factory=dict)
    host_pages_by_node: Mapping[int, int]


class LargeCopies:
    """What was measured of the direction that wasn't asked for."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[tuple[Direction, int, str], OneWay] = {}

    def take(self, direction: Direction, size_bytes: int, memory: str) -> OneWay | None:
        """Give what is known, once."""
        return self._known.pop((direction, size_bytes, memory), None)

    def split(
        self, lives: "Measurement", direction: Direction, size_bytes: int, memory: str
    ) -> OneWay:
        """Give one direction, and keep the other."""
        steps = ("life_upload", "life_download")
        wanted, other = steps if direction == Direction.HOST_TO_DEVICE else steps[::-1]
        self._known[direction.opposite, size_bytes, memory] = one_way(lives, other)
        return one_way(lives, wanted)


def one_way(lives: "Measurement", step: str) -> OneWay:
    """
    Use one step's samples as a bandwidth's times; the first copy is removed from downloads here,
    and is no sample of uploads.
    """
    found = next(samples for samples in lives.samples if samples.metric == step)
    seconds, first_s, verified_on = list(found.seconds), lives.first_call_seconds, lives.verified_on
    if step == "life_download":
        # Downloaded bytes are compared on the host.
        verified_on = verified_on if verified_on == "nobody" else "host"
        first_s, seconds = seconds[0], seconds[1:] or seconds
    return OneWay(
        samples=[
            OneStep(
                metric="copy_time",
                seconds=seconds,
                copies_per_sample=found.copies_per_sample,
                stopped_by=found.stopped_by,
            )
        ],
        first_call_seconds=first_s,
        verified_on=verified_on,
        host_pages_by_node=lives.host_pages_by_node,
    )
