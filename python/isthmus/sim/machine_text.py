"""Writes a machine as the TOML file that describes it."""

from pydantic import BaseModel

from isthmus.sim.machine import ModelledMachine
from isthmus.sim.quantities import quantity_of


def machine_text(machine: ModelledMachine, remarks: list[str]) -> str:
    """Write a machine as TOML, which `load_machine` reads as an equal machine, below remarks."""
    lines = [f"# {remark}".rstrip() for remark in remarks]
    lines += [
        f"schema_version = {machine.schema_version}",
        f"name = {_string(machine.name)}",
        f"description = {_string(machine.description)}",
    ]
    for name, section in machine:
        if isinstance(section, BaseModel):
            lines += ["", f"[{name}]", *_fields(section)]
    for cost in machine.link.costs:
        lines += ["", "[[link.costs]]", *_fields(cost)]
    return "\n".join(lines) + "\n"


def _fields(model: BaseModel) -> list[str]:
    values = ((field, _value(model, field)) for field in type(model).model_fields)
    return [f"{field} = {text}" for field, text in values if text is not None]


def _value(model: BaseModel, field: str) -> str | None:
    """Write a value; None for a list, which is written as tables of its own."""
    value = getattr(model, field)
    quantity = quantity_of(type(model), field)
    if quantity is not None:
        return _string(quantity.format(value))
    if isinstance(value, list):
        return None
    return _string(str(value)) if isinstance(value, str) else str(value).lower()


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
