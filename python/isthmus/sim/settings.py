"""Parameters by their dotted names: `link.bandwidth=32GB/s`, `policy.unit=4KiB`."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache

from pydantic import BaseModel, Field, ValidationError
from pydantic.fields import FieldInfo

from isthmus.errors import UsageError
from isthmus.ground.spelling import did_you_mean, shortened
from isthmus.measure.run.record import Record
from isthmus.sim.machine import ModelledMachine
from isthmus.sim.machine_files import refusal
from isthmus.sim.options import Options
from isthmus.sim.policy import Policy
from isthmus.sim.quantities import COUNT, EXTENT, NUMBER, STORED, Count, Quantity

WORKLOAD = "workload"
"""The section of the settings that are sizes of a workload: workload.nodes."""
_HINT = "write it like link.bandwidth=32GB/s"


class Setup(Record):
    """Everything that a run needs besides its trace."""

    machine: ModelledMachine
    policy: Policy
    options: Options = Options()
    sizes: dict[str, Count] = Field(default_factory=dict)
    """Sizes of the workload that were chosen, by name."""

    def value(self, name: str) -> object:
        """
        Give the value of a setting; a quantity is an integer in our own units, and a workload's
        size has one only if it was set.
        """
        section, _, size = name.partition(".")
        if section == WORKLOAD:
            return self.sizes[size]
        found: object = self
        for part in _place(name):
            found = getattr(found, part)
        return found


@dataclass(frozen=True, kw_only=True)
class Setting:
    """
    A parameter that can be set.

    Attributes:
        choices: The words it can be, if it isn't a number.
    """

    name: str
    meaning: str
    quantity: Quantity | None
    choices: tuple[str, ...]

    def text(self, value: object) -> str:
        """Write a value as it would be typed."""
        if self.quantity is not None and isinstance(value, int):
            return self.quantity.format(value)
        if isinstance(value, Enum):
            return str(value.value)
        return str(value).lower()

    def check(self, text: str) -> None:
        """Refuse a text that isn't a value."""
        if self.quantity is not None:
            try:
                self.quantity.parse(text)
            except UsageError as cause:
                raise UsageError(f"{self.name}: {cause}", hint=cause.hint) from None
        elif text not in self.choices:
            raise UsageError(
                f"{self.name} can't be '{shortened(text)}'",
                hint=f"{did_you_mean(text, self.choices)} There are: {', '.join(self.choices)}",
            )


@cache
def settings() -> dict[str, Setting]:
    """List all settings of machines, policies and options by name."""
    found = {}
    for section, model in _sections().items():
        for field, info in model.model_fields.items():
            setting = _setting(f"{section}.{field}", info)
            if setting is not None:
                found[setting.name] = setting
    return found


@cache
def size_settings() -> dict[str, Setting]:
    """List the sizes that any workload has, by name: `workload.nodes`."""
    from isthmus import _native

    sizes = {f"{WORKLOAD}.{size.name}": size for one in _native.workloads() for size in one.sizes}
    return {
        name: Setting(
            name=name,
            meaning=size.meaning,
            quantity=EXTENT if size.in_bytes else NUMBER if size.least else COUNT,
            choices=(),
        )
        for name, size in sizes.items()
    }


def check_sizes(workload: str, sizes: Mapping[str, int]) -> None:
    """Refuse sizes, in B or a count, that a workload doesn't have, or that can't be."""
    from isthmus import _native

    known = [
        f"{WORKLOAD}.{size.name}"
        for one in _native.workloads()
        if one.name == workload
        for size in one.sizes
    ]
    for name in sizes:
        if f"{WORKLOAD}.{name}" not in known:
            raise UsageError(
                f"{workload} has no size '{shortened(name)}'",
                hint=f"{did_you_mean(f'{WORKLOAD}.{name}', known)} It has: {', '.join(known)}",
            )
    _native.check_workload(workload, sizes)


def read_assignments(texts: list[str]) -> dict[str, str]:
    """Read `name=value` texts."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (equals and name and value):
            raise UsageError(f"'{shortened(text)}' sets nothing", hint=_HINT)
        if setting_of(name).name in found:
            raise UsageError(f"'{name}' is set twice", hint="leave one of them out")
        found[name] = value
    return found


def read_sizes(texts: list[str]) -> dict[str, int]:
    """Read `workload.nodes=131072` texts: name without its section -> B or a count."""
    found = {}
    for name, text in read_assignments(texts).items():
        section, _, size = name.partition(".")
        if section != WORKLOAD:
            raise UsageError(
                f"'{name}' is no size of a workload",
                hint="a trace is recorded for all machines and policies: set it when you run it",
            )
        setting_of(name).check(text)
        found[size] = _number(name, text)
    return found


def setting_names() -> list[str]:
    """List the names of all settings, sizes of workloads included."""
    return [*settings(), *size_settings()]


def setting_of(name: str) -> Setting:
    """Find a setting."""
    found = settings().get(name) or size_settings().get(name)
    if found is None:
        raise UsageError(
            f"there is no setting '{shortened(name)}'", hint=did_you_mean(name, setting_names())
        )
    return found


def with_settings(setup: Setup, assignments: Mapping[str, str]) -> Setup:
    """Change some settings, name -> text, in a copy."""
    if not assignments:
        return setup
    for name, text in assignments.items():
        setting_of(name).check(text)
    document = setup.model_dump()
    for name, text in assignments.items():
        section, _, size = name.partition(".")
        if section == WORKLOAD:
            document["sizes"][size] = _number(name, text)
            continue
        *sections, field = _place(name)
        place = document
        for section in sections:
            place = place[section]
        place[field] = text
    try:
        return Setup.model_validate(document, context=STORED)
    except ValidationError as cause:
        given = ", ".join(f"{name}={shortened(text)}" for name, text in assignments.items())
        raise refusal(given, cause, Setup) from None


def _number(name: str, text: str) -> int:
    """Read a quantity in our own unit; it was checked before."""
    quantity = size_settings()[name].quantity
    assert quantity is not None  # noqa: S101 - sizes are numbers
    return quantity.parse(text)


def _sections() -> dict[str, type[BaseModel]]:
    found: dict[str, type[BaseModel]] = {}
    for name, info in ModelledMachine.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            found[name] = info.annotation
    return {**found, "policy": Policy, "options": Options}


def _place(name: str) -> tuple[str, ...]:
    section, _, field = name.partition(".")
    return (section, field) if section in {"policy", "options"} else ("machine", section, field)


def _setting(name: str, info: FieldInfo) -> Setting | None:
    """Describe a field; None if its value isn't a single word."""
    quantity = next((found for found in info.metadata if isinstance(found, Quantity)), None)
    choices: tuple[str, ...] = ()
    if quantity is None:
        if info.annotation is bool:
            choices = ("false", "true")
        elif isinstance(info.annotation, type) and issubclass(info.annotation, Enum):
            choices = tuple(str(one.value) for one in info.annotation)
        else:
            return None
    if name == "policy.kind":
        return None
    return Setting(name=name, meaning=info.description or "", quantity=quantity, choices=choices)
