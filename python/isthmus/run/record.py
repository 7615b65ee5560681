"""The base of every part of a run: strict, frozen, documented by its docstrings."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A part of a run. Unknown keys and numbers that aren't finite are refused."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        use_enum_values=False,
    )
