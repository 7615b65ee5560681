"""
A machine to simulate: the rows of cpp/src/sim/parameters.inc as a model that files are read into.

A machine's TOML file has the source of each value.
"""

from enum import StrEnum
from math import atan, pi
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, create_model, model_validator

from isthmus import _native
from isthmus.measure.run.record import Record
from isthmus.sim.quantities import (
    Bandwidth,
    BandwidthOr0,
    Count,
    Duration,
    Extent,
    Frequency,
    Memory,
    Number,
    Size,
)

_PS_PER_S = 10**12
_KIB = 1024
# UVMSmart, gpu-sim.cc, convert_byte_string(): a curve fitted to copies over PCIe.
_ATAN_PER_KIB = 0.07292
_CURVE_BYTES = tuple(1 << power for power in range(7, 22))


class Handling(StrEnum):
    """How a driver handles faults."""

    EACH = "each"
    """In parallel: each takes the latency."""
    BATCH = "batch"
    """A batch at a time: faults that arrive meanwhile wait for the next."""
    SERIAL = "serial"
    """One after the other."""
    LANES = "lanes"
    """As each, but without a driver: lanes fetch what they lack, so that warps wait for what their
    stores lack, too. Paged arrays do."""


class Curve(StrEnum):
    """How a link's bandwidth depends on the size of a transfer."""

    NONE = "none"
    ATAN = "atan"
    """
    bandwidth x 2/pi x atan(0.07292 x size in KiB), as in UVMSmart, but without its halving
    from 2 MiB on.
    """


class LinkCost(Record):
    """One point of a measured link: a transfer of a size, and how long it keeps the link busy."""

    size: Memory
    busy: Duration


class _LinkShape(Record):
    """What a link has besides numbers."""

    curve: Curve = Curve.NONE
    """Lower bandwidth for small transfers."""
    costs: Annotated[list[LinkCost], Field(default_factory=list)]
    """Instead of bandwidth and packets: points by rising size, with straight lines between."""

    @model_validator(mode="after")
    def _one_description(self) -> Self:
        if self.costs and self.curve is not Curve.NONE:
            raise ValueError("a link has either costs or a curve")
        return self


class _FaultHandling(Record):
    """What faults have besides numbers."""

    handling: Handling
    """In parallel, in batches, one by one, or by the lanes that miss."""


_TYPES = {
    "number": Number,
    "count": Count,
    "size": Size,
    "extent": Extent,
    "memory": Memory,
    "frequency": Frequency,
    "bandwidth": Bandwidth,
    "bandwidth_or_0": BandwidthOr0,
    "duration": Duration,
    "flag": bool,
}
_SHAPES: dict[str, type[Record]] = {"link": _LinkShape, "faults": _FaultHandling}


def _group(name: str, meaning: str) -> type[Record]:
    native = _native.SimMachine()
    fields: dict[str, Any] = {}
    for row in _native.sim_parameters():
        if row.group == name:
            kind = _TYPES[row.quantity]
            initial = bool(native.get(row)) if kind is bool else native.get(row)
            default = ... if row.required else initial
            fields[row.name] = (kind, Field(default, description=row.meaning))
    shape = _SHAPES.get(name, Record)
    return create_model(name.capitalize(), __base__=shape, __doc__=meaning, **fields)


if TYPE_CHECKING:

    class _Groups(Record):
        def __getattr__(self, name: str) -> Any: ...  # noqa: ANN401 - the groups and their rows

else:
    _Groups = create_model(
        "_Groups",
        __base__=Record,
        **{name: (_group(name, meaning), ...) for name, meaning in _native.sim_parameter_groups()},
    )


class ModelledMachine(_Groups):
    """The whole file."""

    schema_version: Literal[1]
    name: str
    """The name for --machine."""
    description: str
    """One line."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        native_machine(self)
        return self


def native_machine(machine: ModelledMachine) -> "_native.SimMachine":
    """Give the simulator's machine."""
    native = _native.SimMachine()
    for row in _native.sim_parameters():
        native.set(row, getattr(getattr(machine, row.group), row.name))
    native.handling = machine.faults.handling.value
    for size_bytes, busy_ps in link_costs(machine.link):
        native.add_link_cost(size_bytes, busy_ps)
    native.check()
    return native


def link_costs(link: Any) -> list[tuple[int, int]]:  # noqa: ANN401 - the group of a machine
    """List (bytes, picoseconds) of a `link` that isn't described by its bandwidth alone."""
    if link.curve is Curve.NONE:
        return [(cost.size, cost.busy) for cost in link.costs]
    return [(size_bytes, _curve_ps(size_bytes, link.bandwidth)) for size_bytes in _CURVE_BYTES]


def _curve_ps(size_bytes: int, bandwidth_bytes_per_s: int) -> int:
    share = 2 / pi * atan(_ATAN_PER_KIB * size_bytes / _KIB)
    return round(size_bytes * _PS_PER_S / (bandwidth_bytes_per_s * share))
