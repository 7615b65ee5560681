"""
Chooses which C++ files are compiled together: that takes a third of the time.

    python compiled_together.py FILE...

Prints a line for each file, in the same order: the number of its group, or "alone". Files of one
group are one text to the compiler, so two that define the same name in an anonymous namespace are
in different groups. clang-format puts each such definition at the beginning of a line.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

_MOST_FILES = 8
_LATEST_GROUPS = 4
_ANONYMOUS = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
_TYPE = re.compile(r"^(?:struct|class|enum class|enum) (?:\[\[\w+\]\] )?(\w+)", re.MULTILINE)
_OTHER = re.compile(r"^(?!struct|class|enum)[a-zA-Z\[].*?\b(\w+) ?[({=;\[]", re.MULTILINE)
_MACROS = re.compile(r"^(TEST|INSTANTIATE|static_assert)")
# What a function compiled for one kind of CPU would change for the others.
_ALONE = re.compile(r"target\(\"|#pragma GCC|IsthmusMultiversion")


def names_of(text: str) -> set[str]:
    """Give the names that only this file shall see."""
    found: set[str] = set()
    for region in _ANONYMOUS.findall(text):
        found.update(_TYPE.findall(region))
        found.update(name for name in _OTHER.findall(region) if not _MACROS.match(name))
    return found


def groups_of(files: list[Path]) -> Iterator[str]:
    """Give the group of each file: one of the latest that has room and none of its names."""
    groups: list[tuple[int, set[str]]] = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        if _ALONE.search(text):
            yield "alone"
            continue
        names = names_of(text)
        for number in range(max(0, len(groups) - _LATEST_GROUPS), len(groups)):
            size, taken = groups[number]
            if size < _MOST_FILES and not names & taken:
                break
        else:
            number, size, taken = len(groups), 0, set()
            groups.append((size, taken))
        groups[number] = size + 1, taken | names
        yield str(number)


if __name__ == "__main__":
    for group in groups_of([Path(name) for name in sys.argv[1:]]):
        print(group)
