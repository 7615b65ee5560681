"""Converts the models of this folder to the values that the simulator takes."""

from enum import Enum
from math import atan, pi
from typing import TYPE_CHECKING

from isthmus.sim.machine import Curve, Link, ModelledMachine
from isthmus.sim.policy import Kind, Policy
from isthmus.sim.quantities import BANDWIDTH, quantity_of

if TYPE_CHECKING:
    from pydantic import BaseModel

    from isthmus import _native
    from isthmus.sim.options import Options

_PS_PER_S = 10**12
_KIB = 1024
# UVMSmart, gpu-sim.cc, convert_byte_string(): a curve fitted to copies over PCIe.
_ATAN_PER_KIB = 0.07292
# What a page's state is under policies that prefetch.
_PREFETCHED = {Kind.PREFETCH: Kind.TREE, Kind.ADVISE: Kind.BITMAP}
_CURVE_BYTES = tuple(1 << power for power in range(7, 22))


def native_name(model: "type[BaseModel]", field: str) -> str:
    """Give the simulator's name of a field: the same, with its unit."""
    quantity = quantity_of(model, field)
    if quantity is None:
        return field
    suffix = quantity.suffix
    # The name of a bandwidth says what it is a rate of: back_bandwidth, back_bytes_per_s.
    return field.replace("bandwidth", suffix) if quantity is BANDWIDTH else field + suffix


def native_machine(machine: ModelledMachine) -> "_native.SimMachine":
    """Give the simulator's machine."""
    from isthmus import _native

    native = _native.SimMachine()
    sections: dict[str, BaseModel] = {
        "cores": machine.cores,
        "l1": machine.l1,
        "translation": machine.tlb,
        "network": machine.network,
        "partitions": machine.partitions,
        "gmmu": machine.gmmu,
        "link": machine.link,
        "faults": machine.faults,
    }
    for name, section in sections.items():
        _fill(getattr(native, name), section, leave_out=("curve", "costs", "counter"))
    native.launch_ps = machine.launch.latency
    for size_bytes, busy_ps in link_costs(machine.link):
        native.link.add_cost(size_bytes, busy_ps)
    return native


def native_policy(policy: Policy, machine: ModelledMachine) -> "_native.MigrationPolicy":
    """Give the simulator's policy on a machine; for the references one that is never used."""
    from isthmus import _native

    kind = policy.kind if policy.kind.migrates else Kind.WHOLE_PAGE
    kind = _PREFETCHED.get(kind, kind)
    native = _native.MigrationPolicy(kind.value.replace("-", "_"))
    _fill(native, policy, leave_out=("kind", "counter"))
    native.counter_bytes = policy.counter or machine.gmmu.counter
    return native


def native_options(options: "Options", kind: Kind) -> "_native.SimOptions":
    """Give the simulator's options, with the mode of the policy's kind."""
    from isthmus import _native

    native = _native.SimOptions()
    _fill(native, options)
    native.mode = "migrate" if kind.migrates else kind.value
    native.hints = kind.value if kind in _PREFETCHED else "none"
    return native


def link_costs(link: Link) -> list[tuple[int, int]]:
    """List (bytes, picoseconds) of a link that isn't described by its bandwidth alone."""
    if link.curve is Curve.NONE:
        return [(cost.size, cost.busy) for cost in link.costs]
    return [(size_bytes, _curve_ps(size_bytes, link.bandwidth)) for size_bytes in _CURVE_BYTES]


def _curve_ps(size_bytes: int, bandwidth_bytes_per_s: int) -> int:
    share = 2 / pi * atan(_ATAN_PER_KIB * size_bytes / _KIB)
    return round(size_bytes * _PS_PER_S / (bandwidth_bytes_per_s * share))


def _fill(native: object, model: "BaseModel", leave_out: tuple[str, ...] = ()) -> None:
    for field in type(model).model_fields:
        if field in leave_out:
            continue
        value = getattr(model, field)
        word = value.value if isinstance(value, Enum) else value
        setattr(native, native_name(type(model), field), word)
