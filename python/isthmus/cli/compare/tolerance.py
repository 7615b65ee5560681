"""Reads `--tolerance 5%`."""

import re

from isthmus.errors import UsageError
from isthmus.ground.spelling import shortened
from isthmus.measure.compare.comparison import DEFAULT_TOLERANCE

_FORM = re.compile(r"(?P<number>[0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(?P<percent>%?)")


def parse_tolerance(text: str | None, otherwise: float = DEFAULT_TOLERANCE) -> float:
    """Read a tolerance, such as "5%" or 0.05, as a fraction of one."""
    if text is None:
        return otherwise
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"'{shortened(text)}' is not a tolerance", hint="write it like 5%")
    value = float(match["number"]) / (100 if match["percent"] else 1)
    if value >= 1:
        raise UsageError(
            f"a tolerance of '{shortened(text)}' tolerates everything", hint="write it like 5%"
        )
    return value
