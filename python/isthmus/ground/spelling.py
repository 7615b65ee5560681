"""
How messages spell numbers, and quote text from elsewhere: in the same form everywhere, shortened,
with the nearest valid choice.
"""

import difflib
import re
from collections.abc import Iterable, Sequence


def cpu_list(cpus: Iterable[int]) -> str:
    """Write CPU numbers the way the kernel does: "0-3,8"."""
    spans: list[list[int]] = []
    for cpu in sorted(cpus):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def cuda_version(version: int) -> str:
    """Write a version as cuDriverGetVersion counts it: 13000 is "13.0"."""
    return f"{version // 1000}.{version % 1000 // 10}"


def cuda_major(version: int) -> int:
    """Give the major version: 13 for 13000."""
    return version // 1000


def listed(words: Sequence[str]) -> str:
    """Write at least one thing after another: "a", "a and b", "a, b and c"."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def counted(number: int, noun: str) -> str:
    """Write how many there are: "1 device", "2 devices"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


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


def text_of(error: BaseException) -> str:
    """Give an exception's text; nothing if its own code fails to."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - it is any code
        return ""


def raised(error: BaseException) -> str:
    """Describe what a user's code has raised: "KeyError: 'x'"."""
    text = f"{type(error).__name__}: {text_of(error)}".removesuffix(": ")
    return shortened(text, most=MOST_SAID)


def said(answer: object) -> str:
    """Write what a user's code has given, whose own code may raise."""
    try:
        return shortened(repr(answer))
    except Exception:  # noqa: BLE001 - it is any code
        return f"a {type(answer).__name__}"


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
