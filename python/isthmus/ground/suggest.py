"""How messages quote text from elsewhere: shortened, with the nearest valid choice."""

import difflib
import re
from collections.abc import Iterable

MOST_SAID = 2000
"""How much of a message from elsewhere is shown: enough for any that a person has written."""
# Nothing valid is as long, and comparing takes time.
_MAX_COMPARED = 100
# Control characters but for tabs and new lines, other ends of lines, and what turns text around.
_UNSEEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def nearest_names(typed: str, valid: Iterable[str], *, count: int = 3) -> list[str]:
    """
    Name the valid choices nearest to `typed`, best first; if there are none, those that contain or
    share a part with it.
    """
    names, typed = list(valid), typed[:_MAX_COMPARED]
    close = difflib.get_close_matches(typed, names, n=count, cutoff=0.6)
    if close:
        return close
    words = [word for word in typed.lower().replace("-", "_").split("_") if word]
    shared = [(sum(word in name for word in words), name) for name in names]
    best = sorted((item for item in shared if item[0]), key=lambda item: (-item[0], item[1]))
    return [name for _, name in best[:count]] or difflib.get_close_matches(
        typed, names, n=1, cutoff=0.0
    )


def writable(text: str, encoding: str = "utf-8") -> str:
    """Escape what an encoding can't express, such as the name of a file that isn't UTF-8."""
    return text.encode(encoding, "backslashreplace").decode(encoding)


def one_line(text: str) -> str:
    """Escape what would end a line, move a terminal's cursor, or can't be written as UTF-8."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )


def seen(text: str) -> str:
    """Escape what no reader sees and a terminal obeys, as JSON spells it; lines stay lines."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shortened(typed: str, *, most: int = 40) -> str:
    """Shorten a typed text for a message: "999999... (5000 characters)"."""
    if len(typed) <= most:
        return one_line(typed)
    return f"{one_line(typed[:most])}... ({len(typed)} characters)"


def did_you_mean(typed: str, valid: Iterable[str]) -> str:
    """Write "did you mean A, B or C?", or nothing if there is no choice."""
    *others, last = nearest_names(typed, valid) or [""]
    choices = f"{', '.join(others)} or {last}" if others else last
    return f"did you mean {choices}?" if choices else ""
