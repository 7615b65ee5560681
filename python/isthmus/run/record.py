"""The base of every part of a run: strict, frozen, documented by its docstrings."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from isthmus.suggest import shortened

# Python's integers have no limit, and one of a thousand digits would fail later.
_MOST = (1 << 63) - 1
Integer = Annotated[int, Field(ge=-_MOST - 1, le=_MOST)]
PositiveInteger = Annotated[int, Field(gt=0, le=_MOST)]
NonNegativeInteger = Annotated[int, Field(ge=0, le=_MOST)]


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
    return f"{place}: {first['msg']}" if place else first["msg"]
