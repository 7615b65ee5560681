"""The base of every part of a run: strict, frozen, documented by its docstrings."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from isthmus.ground.spelling import shortened

# Python's integers have no limit, and one of a thousand digits would fail later.
_MOST = (1 << 63) - 1
Integer = Annotated[int, Field(ge=-_MOST - 1, le=_MOST)]
PositiveInteger = Annotated[int, Field(gt=0, le=_MOST)]
# No time, rate or ratio is larger, and what is computed from these stays finite.
Number = Annotated[float, Field(ge=-1e30, le=1e30)]
SmallNumber = Annotated[int, Field(ge=0, le=999)]
NonNegativeInteger = Annotated[int, Field(ge=0, le=_MOST)]


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("a name can't have control characters")
    return text


Name = Annotated[str, AfterValidator(_printable)]
"""A word for people and pictures. Newer versions may have names that this one doesn't know."""


class Record(BaseModel):
    """A part of a run. Unknown keys and numbers that aren't finite are refused."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        use_enum_values=False,
    )


def first_fault(cause: ValidationError) -> str:
    """Say in one line where something else than a record's part was found, and what is wrong."""
    first = cause.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(shortened(str(part)) for part in first["loc"])
    what = first["msg"].removeprefix("Value error, ")
    return f"{place}: {what}" if place else what
