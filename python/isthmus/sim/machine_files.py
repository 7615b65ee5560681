"""Machines as TOML files: ours by name, any other by path."""

from importlib import resources
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from isthmus.errors import UsageError
from isthmus.files.regular import MAX_TOML_BYTES, read_regular, toml_document
from isthmus.ground.spelling import did_you_mean, one_line, shortened
from isthmus.sim.machine import ModelledMachine

_FOLDER = resources.files("isthmus.sim") / "machines"
_SUFFIX = ".toml"
DEFAULT_MACHINE = "paper-gtx480"


def machine_names() -> list[str]:
    """List the machines that come with Isthmus."""
    names = (file.name for file in _FOLDER.iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def load_machine(name: str) -> ModelledMachine:
    """Read a machine: one that comes with Isthmus, by its name, or the TOML file at a path."""
    if name in machine_names():
        return parse_machine((_FOLDER / f"{name}{_SUFFIX}").read_bytes(), name)
    path = Path(name)
    if path.suffix != _SUFFIX:
        raise UsageError(
            f"there is no machine '{shortened(name)}'",
            hint=f"{did_you_mean(name, machine_names())} `isthmus sim list` lists them; "
            "a path that ends in .toml is read as a file",
        )
    try:
        return parse_machine(read_regular(path, max_bytes=MAX_TOML_BYTES), name)
    except OSError as cause:
        raise UsageError(
            f"can't read machine {one_line(name)}: {cause.strerror or cause}",
            hint=f"one of ours: {', '.join(machine_names())}",
        ) from None


def refusal(what: str, cause: ValidationError, model: type[BaseModel]) -> UsageError:
    """Say in one line what is wrong with a description, and what would be right."""
    # A misspelt key is also missing under its right name, which says less.
    first = min(cause.errors(), key=lambda error: error["type"] != "extra_forbidden")
    place = ".".join(shortened(str(part)) for part in first["loc"])
    inner = first.get("ctx", {}).get("error")
    if first["type"] == "extra_forbidden":
        known = _names_beside(model, first["loc"])
        return UsageError(
            f"{what}: there is no '{place}'", hint=did_you_mean(str(first["loc"][-1]), known)
        )
    text = str(inner) if inner is not None else _lower(first)
    hint = inner.hint if isinstance(inner, UsageError) else ""
    return UsageError(
        f"{what}: {place + ': ' if place else ''}{text}",
        hint=hint or "docs/simulate.md describes every key",
    )


def parse_machine(contents: bytes, name: str) -> ModelledMachine:
    """Read a machine's TOML; its name, or its file's, is for messages."""
    try:
        document = toml_document(contents)
    except ValueError as cause:
        raise UsageError(
            f"machine {one_line(name)} is not TOML: {cause}",
            hint="machines are TOML files: docs/simulate.md",
        ) from cause
    try:
        return ModelledMachine.model_validate(document)
    except ValidationError as cause:
        raise refusal(f"machine {one_line(name)}", cause, ModelledMachine) from None


def _lower(first: ErrorDetails) -> str:
    text = first["msg"].replace("Input should", "should")
    return text[:1].lower() + text[1:]


def _names_beside(model: type[BaseModel], place: tuple[int | str, ...]) -> list[str]:
    """List the fields at the place of an unknown one."""
    for part in place[:-1]:
        field = model.model_fields.get(str(part))
        if field is None or not isinstance(field.annotation, type):
            break
        model = field.annotation
    return list(model.model_fields)
