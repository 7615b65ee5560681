"""Expected values: one TOML file for each GPU, shipped or a site's own, and one for links."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated, Literal, Self

from pydantic import (
    Field,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    ValidationError,
    model_validator,
)

from isthmus.errors import UsageError
from isthmus.files.regular import MAX_TOML_BYTES, read_regular, toml_document
from isthmus.ground.spelling import one_line
from isthmus.measure.run.machine import Link, Machine
from isthmus.measure.run.record import Record, first_fault

_LINKS = "links.toml"
# What can be in units of bytes and seconds: a smaller rate is one in GB/s, a longer time one in us.
_PLAUSIBLE = {"B/s": (1e6, 1e14), "s": (1e-10, 1.0)}


Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Value(Record):
    """The usual value of one metric of one test; by default a rate of copies from 64 MiB on."""

    test: str
    metric: str = "bandwidth"
    unit: Literal["B/s", "s"] = "B/s"
    typical: PositiveFloat
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """How far a healthy machine may be off, as a fraction of `typical`."""
    from_bytes: PositiveInt = 64 << 20
    """The smallest size to which it applies."""
    to_bytes: PositiveInt | None = None
    """The largest; null if there is no upper limit."""
    kind: Literal[
        "a site's own", "published", "measured by Isthmus", "inferred from the link", "modelled"
    ] = "a site's own"
    source: str

    @model_validator(mode="after")
    def _means_something(self) -> Self:
        if not is_plausible(self.typical, self.unit):
            unit = "bytes a second" if self.unit == "B/s" else "seconds"
            raise ValueError(f"{self.test}: typical = {self.typical:g} can't be in {unit}")
        if self.to_bytes is not None and self.from_bytes > self.to_bytes:
            raise ValueError(
                f"{self.test}: from_bytes = {self.from_bytes} is above to_bytes = {self.to_bytes}"
            )
        return self

    @property
    def of_the_link(self) -> bool:
        """Whether it is a rate that the link decides, and not the host's memory."""
        return self.unit == "B/s" and "pageable" not in self.test


class ExpectedLink(Record):
    """The link that a file's values were measured over."""

    generation: PositiveInt
    width: PositiveInt


class GpuValues(Record):
    """The values of one GPU."""

    gpu: str
    matches: Annotated[list[Word], Field(min_length=1)]
    """Words of the product name, each of which means this GPU."""
    link: ExpectedLink | None = None
    """Null if it isn't PCIe."""
    emulated: bool = False
    """Whether the values are modelled."""
    values: list[Value] = Field(alias="value", min_length=1)

    @model_validator(mode="after")
    def _each_is_said_once(self) -> Self:
        places = [(one.test, one.metric, one.from_bytes, one.to_bytes) for one in self.values]
        for index, place in enumerate(places):
            if place in places[:index]:
                raise ValueError(f"{place[0]} has two values for its {place[1]} at the same sizes")
        return self

    def fits(self, name: str) -> bool:
        """Whether a product name is this GPU's: whole words, so that A10 isn't A100."""
        return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", name) for word in self.matches)


class LinkValues(Record):
    """What large copies reach on any PCIe link."""

    efficiency: PositiveFloat
    from_bytes: PositiveInt
    tests: list[str]
    source: str
    lane_bytes_per_s: dict[int, PositiveFloat]
    """The rate of one lane of a generation after the encoding."""

    def bandwidth(self, generation: int, width: int) -> float | None:
        """Give the rate of large copies; None for an unknown generation."""
        lane = self.lane_bytes_per_s.get(generation)
        return None if lane is None else lane * width * self.efficiency


def is_plausible(typical: float, unit: str) -> bool:
    """Whether a number may be a rate in bytes a second, or the time of one copy in seconds."""
    least, most = _PLAUSIBLE[unit]
    return least <= typical <= most


@cache
def all_gpus() -> list[GpuValues]:
    """Read every GPU's file; what doesn't say what it is there is published."""
    files = [tomllib.loads(file.read_text("utf-8")) for file in _files()]
    for value in (value for file in files for value in file["value"]):
        value.setdefault("kind", "published")
    return [GpuValues.model_validate(file) for file in files]


def named_values(name: str) -> GpuValues:
    """Give the values of a GPU that has a file here, by its name, or those of a site's own file."""
    known = {gpu.gpu.casefold(): gpu for gpu in all_gpus()}
    if name.casefold() in known:
        return known[name.casefold()]
    try:
        contents = read_regular(name, max_bytes=MAX_TOML_BYTES)
        return GpuValues.model_validate(toml_document(contents))
    except OSError as cause:
        raise UsageError(
            f"can't read {one_line(name) or repr(name)}: {cause.strerror or cause}",
            hint=f"name a file of `isthmus runs expect`, or one of {', '.join(known).upper()}",
        ) from None
    except ValueError as cause:
        fault = first_fault(cause) if isinstance(cause, ValidationError) else f"not TOML: {cause}"
        raise UsageError(
            f"{one_line(name)} isn't a file of expected values: {fault}",
            hint="`isthmus runs expect RUN` writes such a file",
        ) from None


@cache
def link_values() -> LinkValues:
    """Read the values for links."""
    text = (resources.files(__package__) / _LINKS).read_text("utf-8")
    return LinkValues.model_validate(tomllib.loads(text))


def gpu_values(machine: Machine) -> GpuValues | None:
    """Find the values of a machine's GPU; None if no file knows it."""
    return next((gpu for gpu in all_gpus() if gpu.fits(machine.device.name)), None)


def expected_values(machine: Machine) -> list[Value]:
    """
    List the values expected of a machine: its GPU's, and its link's for tests that the GPU's don't
    have.
    """
    gpu = gpu_values(machine)
    own = list(gpu.values) if gpu else []
    if gpu is not None and gpu.link is None:
        return own
    link = (
        ExpectedLink(generation=gpu.link.generation, width=gpu.link.width)
        if gpu and gpu.link
        else None
    )
    known = {value.test for value in own}
    return own + [
        value for value in _of_link(link or _best(machine.link)) if value.test not in known
    ]


def _of_link(link: ExpectedLink | None) -> list[Value]:
    known = link_values()
    bandwidth = known.bandwidth(link.generation, link.width) if link else None
    if bandwidth is None:
        return []
    return [
        Value(
            test=test,
            metric="bandwidth",
            unit="B/s",
            typical=bandwidth,
            from_bytes=known.from_bytes,
            kind="inferred from the link",
            source=known.source,
        )
        for test in known.tests
    ]


def _best(link: Link) -> ExpectedLink | None:
    """Give what device and slot support together: an idle or degraded link shows less."""
    generation = link.generation_max or link.generation
    width = link.width_max or link.width
    if generation is None or width is None:
        return None
    return ExpectedLink(generation=generation, width=width)


def _files() -> Iterator[Traversable]:
    for file in sorted(resources.files(__package__).iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".toml") and file.name != _LINKS:
            yield file
