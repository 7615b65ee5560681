"""The published figures that are shipped: one TOML file for each experiment."""

import tomllib
from collections.abc import Iterator
from importlib import resources
from typing import Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from isthmus.measure.run.record import Integer, Record

Unit = Literal["B/s", "s", "B", "1"]
_PARTS = ("ours", "over")


class Source(Record):
    """Where figures were published."""

    title: str
    """In its own language."""
    title_in_english: str | None = None
    """Null if it is English."""
    author: str
    year: PositiveInt | None = None
    """Null if the source doesn't say."""
    hardware: str
    """As the source names it."""
    address: str | None = None
    """Null if the source is known without one."""
    notes: list[str] = Field(default_factory=list)


class Ours(Record):
    """Which of our results measures what a figure is about."""

    test: str
    metric: str
    axes: dict[str, str | Integer] = Field(default_factory=dict)
    cpu_node: Literal["near", "far"] | None = None
    """For a test that chooses a NUMA node."""
    statistic: Literal["median", "mean"] = "median"
    """The mean where the source gives a mean."""
    bytes: PositiveInt | None = None
    """The size of a ratio's lower part, if it isn't the figure's."""
    spread: bool = False
    """Also show the least and the most of the runs, as the source does."""


class Figure(Record):
    """One published number. It has a value, or a range, or words: "never"."""

    table: str
    quantity: str
    unit: Unit
    bytes: PositiveInt | None = None
    """The size of one copy or allocation; null if the number isn't about one size."""
    value: PositiveFloat | None = None
    min: PositiveFloat | None = None
    """The least of several runs, of which `value` is the mean."""
    max: PositiveFloat | None = None
    low: PositiveFloat | None = None
    """The least of a range that the source gives instead of a value."""
    high: PositiveFloat | None = None
    said: str | None = None
    value_scale: PositiveFloat = 1.0
    """Numbers stand as they were published; times this, they are bytes and seconds."""
    from_bytes: PositiveInt | None = None
    """The smallest of our sizes that a ratio is compared at."""
    to_bytes: PositiveInt | None = None
    at_largest: bool = False
    """Compare our ratio at the largest size that both have, not over all sizes."""
    ours: Ours
    over: Ours | None = None
    """The number is a ratio; this is its lower part."""
    other_sizes: bool = False
    """Also show ours at every other size that was measured."""

    @property
    def published(self) -> bool:
        """Whether the source says anything about it: a row of ours alone has nothing beside it."""
        return (self.value, self.low, self.high, self.said) != (None,) * 4

    def scaled(self, number: float | None) -> float | None:
        """Give a published number in B/s, seconds or bytes, or as a ratio."""
        return None if number is None else number * self.value_scale


class Series(Record):
    """Published numbers of one quantity at several sizes."""

    table: str
    quantity: str
    unit: Unit
    bytes_scale: PositiveInt = 1
    value_scale: PositiveFloat = 1.0
    ours: Ours
    points: list[tuple[PositiveInt, PositiveFloat]]
    """Size and number, as published."""

    def figures(self) -> list[Figure]:
        """Give each of its numbers as a figure."""
        return [
            Figure(
                table=self.table,
                quantity=self.quantity,
                unit=self.unit,
                bytes=size * self.bytes_scale,
                value=value,
                value_scale=self.value_scale,
                ours=self.ours,
                other_sizes=True,
            )
            for size, value in self.points
        ]


class Publication(Record):
    """The published figures of one experiment."""

    name: str
    source: Source
    series: list[Series] = Field(default_factory=list)
    figure: list[Figure] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _with_tables(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Give each figure of a [[table]] what the table says once; `ours` and `over` by parts."""
        rest = {name: value for name, value in data.items() if name != "table"}
        return rest | {"figure": [*_in_tables(data.get("table", [])), *data.get("figure", [])]}

    def figures(self) -> list[Figure]:
        """Give every figure, also those of series."""
        return [*(one for series in self.series for one in series.figures()), *self.figure]


def _in_tables(tables: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for table in tables:
        shared = {name: value for name, value in table.items() if name != "figures"}
        for one in table["figures"]:
            parts = {name: shared[name] | one.get(name, {}) for name in _PARTS if name in shared}
            yield shared | one | parts


def read_publication(name: str) -> Publication:
    """Read the figures of an experiment of the catalogue."""
    file = resources.files(__package__) / "published" / f"{name}.toml"
    return Publication.model_validate(tomllib.loads(file.read_text("utf-8")))
