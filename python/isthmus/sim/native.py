"""Converts policies and options to the values that the simulator takes."""

from enum import Enum
from typing import TYPE_CHECKING

from isthmus.sim.machine import ModelledMachine
from isthmus.sim.policy import Kind, Policy
from isthmus.sim.quantities import quantity_of

if TYPE_CHECKING:
    from pydantic import BaseModel

    from isthmus import _native
    from isthmus.sim.options import Options

# What a page's state is under policies that prefetch.
_PREFETCHED = {Kind.PREFETCH: Kind.TREE, Kind.ADVISE: Kind.BITMAP}


def native_name(model: "type[BaseModel]", field: str) -> str:
    """Give the simulator's name of a field: the same, with its unit."""
    quantity = quantity_of(model, field)
    return field if quantity is None else field + quantity.suffix


def native_policy(policy: Policy, machine: ModelledMachine) -> "_native.MigrationPolicy":
    """Give the simulator's policy on a machine; for the references one that is never used."""
    from isthmus import _native

    kind = policy.kind if policy.kind.migrates else Kind.WHOLE_PAGE
    kind = _PREFETCHED.get(kind, kind)
    native = _native.MigrationPolicy(kind.value.replace("-", "_"))
    _fill(native, policy, leave_out=("kind", "counter", "own"))
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


def _fill(native: object, model: "BaseModel", leave_out: tuple[str, ...] = ()) -> None:
    for field in type(model).model_fields:
        if field in leave_out:
            continue
        value = getattr(model, field)
        word = value.value if isinstance(value, Enum) else value
        setattr(native, native_name(type(model), field), word)
