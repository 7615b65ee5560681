"""Changes a JSON document according to an input, so that rare structures become frequent."""

import copy
import json
from collections.abc import Sequence
from typing import Any

# What a field is set to. Deep lists are as deep as parsers let pass, and deeper.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 8, 255, 4096, 1 << 31, 1 << 32),
    *((1 << 63) - 1, 1 << 63, -(1 << 63), 1 << 64, 10**400, -(10**400)),
    *(0.0, -0.0, 0.5, 1.5, 1e-9, 5e-324, 1e308, -1e308, 1e9),
    *("", "x", "1", "h2d", "passed", "error", "waived", "\x1b[31m\n", "\u2028", "\x00", "é" * 50),
    *("2026-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "x" * 999),
    *([], {}, [[]], [{}], {"": {}}, [1, 2, 3], {"a": 1}),
)
_DEEP = 250


class Choices:
    """Bytes of an input as choices; the first choice if there are none left."""

    def __init__(self, data: bytes) -> None:
        """Begin with the first byte."""
        self._data = data
        self._place = 0

    def __bool__(self) -> bool:
        """Whether there are bytes left."""
        return self._place < len(self._data)

    def number(self, count: int) -> int:
        """Choose a number below `count`."""
        if count <= 1 or not self:
            return 0
        self._place += 1
        return self._data[self._place - 1] % count

    def one_of(self, options: Sequence[Any]) -> Any:  # noqa: ANN401 - of what is given
        """Choose one."""
        return options[self.number(len(options))]

    def rest(self) -> bytes:
        """Give the bytes that are left."""
        return self._data[self._place :]


def edited(text: str, choices: Choices) -> Any:  # noqa: ANN401 - JSON
    """Give a document from its text, with as many changes as there are bytes to choose them by."""
    changed = json.loads(text)
    while choices:
        place, key = _place_in(changed, choices)
        if place is None:
            break
        _change(place, key, choices)
    return changed


def _place_in(document: Any, choices: Choices) -> tuple[Any, Any]:  # noqa: ANN401 - JSON
    """Descend into a document; return the list or object at the end, and the item."""
    place, key = None, None
    while isinstance(document, dict | list) and document:
        keys = list(document) if isinstance(document, dict) else range(len(document))
        place, key = document, choices.one_of(keys)
        document = place[key]
        if choices.number(4) == 3:
            break
    return place, key


def _change(place: Any, key: Any, choices: Choices) -> None:  # noqa: ANN401 - JSON
    action = choices.number(8)
    if action == 0:
        del place[key]
    elif action == 1 and isinstance(place, list):
        place.append(copy.deepcopy(place[key]))
    elif action == 2 and isinstance(place, dict):
        place[f"{key}_" if choices.number(2) else str(choices.one_of(VALUES))] = place[key]
    elif action == 3:
        place[key] = _nested(choices.number(256) % _DEEP)
    else:
        place[key] = copy.deepcopy(choices.one_of(VALUES))


def _nested(depth: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(depth):
        nested = [nested]
    return nested
