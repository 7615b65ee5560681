"""
Quantities with units, as typed: `32GB/s`, `20us`, `700MHz`, `64KiB`.

Internally all are integers: bytes per second, picoseconds, hertz, bytes. A number without a unit
is refused if it could mean several things.
"""

import difflib
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ValidationInfo, WithJsonSchema

from isthmus.errors import UsageError
from isthmus.ground.spelling import shortened

_FORM = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[^\d\s][^\s]*)?")
# The limits of the simulator's integers: for most counts and sizes, and for the rest.
_MOST_32_BITS = (1 << 32) - 1
_MOST_64_BITS = (1 << 63) - 1
_MAX_DIGITS = 30
STORED = {"stored": True}
"""Context for validating a value again: integers are in our own units."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """
    A kind of number.

    Attributes:
        units: Unit -> its factor to ours, the most usual one first.
        shown: Units to write values in, largest first.
        unitless: Whether a number without a unit is in ours.
        zero: The consequence of 0 if it isn't allowed; empty if it is.
        suffix: The end of the names of plain integers in our own unit.
        most: The largest value, in our own unit.
    """

    noun: str
    units: Mapping[str, Fraction]
    example: str
    shown: tuple[str, ...]
    unitless: bool = False
    zero: str = ""
    suffix: str = ""
    most: int = _MOST_64_BITS

    def validate(self, typed: object, info: ValidationInfo) -> int:
        """Read a field's value; integers that were validated before are in our own units."""
        if info.context is STORED and isinstance(typed, int):
            return self._checked(Fraction(typed), str(typed))
        return self.parse(typed)

    def parse(self, typed: object) -> int:
        """Read one: text with a unit; or an integer, if that is unambiguous."""
        if isinstance(typed, int) and not isinstance(typed, bool):
            if abs(typed) > _MOST_64_BITS:  # thousands of digits couldn't be printed
                raise self._beyond(f"of {typed.bit_length()} bits")
            typed = str(typed)
        if not isinstance(typed, str):
            raise UsageError(
                f"{reprlib.repr(typed)} is not a {self.noun}", hint=f"write it like {self.example}"
            )
        return self._read(typed.strip())

    def format(self, value: int) -> str:
        """Write a value in the largest unit that needs no more than three decimals."""
        if value == 0:
            return "0"
        for unit in self.shown:
            scaled = Fraction(value) / self.units[unit]
            if scaled >= 1 and (scaled * 1000).denominator == 1:
                whole, thousandths = divmod(int(scaled * 1000), 1000)
                decimals = f".{thousandths:03}".rstrip("0") if thousandths else ""
                return f"{whole}{decimals} {unit}".strip()
        return f"{value} {self.shown[-1]}".strip()

    def _read(self, typed: str) -> int:
        match = _FORM.fullmatch(typed)
        if match is None or len(match["number"]) > _MAX_DIGITS:
            raise UsageError(
                f"'{shortened(typed)}' is not a {self.noun}", hint=f"write it like {self.example}"
            )
        number, unit = Fraction(match["number"]), match["unit"] or ""
        if not unit and (self.unitless or number == 0):
            return self._checked(number, typed)
        if unit not in self.units:
            raise self._unknown_unit(typed, match["number"], unit)
        return self._checked(number * self.units[unit], typed)

    def _checked(self, value: Fraction, typed: str) -> int:
        if value == 0 and self.zero:
            raise UsageError(f"a {self.noun} of 0: {self.zero}", hint=f"such as {self.example}")
        if value < 0 or value > self.most:
            raise self._beyond(f"'{shortened(typed)}'")
        if value.denominator != 1:
            raise UsageError(
                f"{self.noun} '{shortened(typed)}' is not a whole number of {self._own_unit()}",
                hint=f"did you mean {max(1, round(value))} {self._own_unit()}?",
            )
        return int(value)

    def _beyond(self, described: str) -> UsageError:
        return UsageError(
            f"{self.noun} {described} is out of range",
            hint=f"such as {self.example}; at most {self.format(self.most)}",
        )

    def _own_unit(self) -> str:
        return next((unit for unit, size in self.units.items() if size == 1 and unit), "ones")

    def _unknown_unit(self, typed: str, number: str, unit: str) -> UsageError:
        valid = [name for name in self.units if name]
        same = [name for name in valid if name.lower() == unit.lower()]
        close = same or difflib.get_close_matches(unit, valid, n=1, cutoff=0.4) or valid[:1]
        what = f"unknown unit '{shortened(unit)}'" if unit else "a unit is missing"
        listed = f" Units: {', '.join(valid)}" if valid else ""
        meant = f"{number}{close[0]}" if close else number
        return UsageError(
            f"{self.noun} '{shortened(typed)}': {what}", hint=f"did you mean {meant}?{listed}"
        )


def _scaled(base: str, prefixes: Mapping[str, int]) -> dict[str, Fraction]:
    return {f"{prefix}{base}": Fraction(size) for prefix, size in prefixes.items()}


_DECIMAL = {"G": 10**9, "M": 10**6, "K": 10**3, "k": 10**3, "T": 10**12, "": 1}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SHORT = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

BANDWIDTH = Quantity(
    noun="bandwidth",
    units=_scaled("B/s", _DECIMAL | _BINARY),
    example="32GB/s",
    shown=("GB/s", "MB/s", "B/s"),
    zero="nothing would ever arrive",
)
BANDWIDTH_OR_0 = replace(BANDWIDTH, zero="")
DURATION = Quantity(
    noun="time",
    units={
        "us": Fraction(10**6),
        "\u00b5s": Fraction(10**6),
        "ns": Fraction(10**3),
        "ps": Fraction(1),
        "ms": Fraction(10**9),
        "s": Fraction(10**12),
    },
    example="20us",
    shown=("s", "ms", "us", "ns", "ps"),
    suffix="_ps",
)
FREQUENCY = Quantity(
    noun="clock",
    units=_scaled("Hz", _DECIMAL),
    example="700MHz",
    shown=("GHz", "MHz", "Hz"),
    zero="nothing would ever run",
)
# As in isthmus.ground.sizes: K, M, G, T alone are binary.
SIZE = Quantity(
    noun="size",
    units=_scaled("B", _BINARY | _DECIMAL) | _scaled("", _SHORT),
    example="64KiB",
    shown=("GiB", "MiB", "KiB", "B"),
    unitless=True,
    suffix="_bytes",
    most=_MOST_32_BITS,
)
COUNT = Quantity(
    noun="count",
    units={"": Fraction(1)},
    example="8",
    shown=("",),
    unitless=True,
    most=_MOST_32_BITS,
)
NUMBER = replace(COUNT, noun="number", zero="it takes at least 1")
EXTENT = replace(SIZE, zero="it takes at least 1 B")
MEMORY = replace(EXTENT, most=_MOST_64_BITS)
SEED_NUMBER = replace(COUNT, noun="seed", most=_MOST_64_BITS)


def _text_schema(quantity: Quantity) -> WithJsonSchema:
    text = {"type": "string", "examples": [quantity.example]}
    number = {"type": "integer", "minimum": int(bool(quantity.zero)), "maximum": quantity.most}
    return WithJsonSchema({"anyOf": [number, text]} if quantity.unitless else text)


# For fields of models: integers inside, texts with units in files.
Bandwidth = Annotated[int, BeforeValidator(BANDWIDTH.validate), _text_schema(BANDWIDTH), BANDWIDTH]
BandwidthOr0 = Annotated[
    int, BeforeValidator(BANDWIDTH_OR_0.validate), _text_schema(BANDWIDTH_OR_0), BANDWIDTH_OR_0
]
Duration = Annotated[int, BeforeValidator(DURATION.validate), _text_schema(DURATION), DURATION]
Frequency = Annotated[int, BeforeValidator(FREQUENCY.validate), _text_schema(FREQUENCY), FREQUENCY]
Size = Annotated[int, BeforeValidator(SIZE.validate), _text_schema(SIZE), SIZE]
Extent = Annotated[int, BeforeValidator(EXTENT.validate), _text_schema(EXTENT), EXTENT]
Memory = Annotated[int, BeforeValidator(MEMORY.validate), _text_schema(MEMORY), MEMORY]
Count = Annotated[int, BeforeValidator(COUNT.validate), _text_schema(COUNT), COUNT]
Number = Annotated[int, BeforeValidator(NUMBER.validate), _text_schema(NUMBER), NUMBER]


def quantity_of(model: type[BaseModel], field: str) -> Quantity | None:
    """Give the kind of number that a model's field is; None if it isn't one."""
    found = [one for one in model.model_fields[field].metadata if isinstance(one, Quantity)]
    return found[0] if found else None
