"""docs/exec.md names a test for each line of its table, and each of them exists."""

import re
from pathlib import Path

from isthmus.ground.sizes import format_size
from isthmus.watching.layout import layout
from preloading import ROOT


def test_every_line_of_the_table_names_a_test() -> None:
    page = (ROOT / "docs" / "exec.md").read_text("utf-8")
    table = page.partition("| what | as by the driver? | test |\n")[2].partition("\n\n")[0]
    lines = [line for line in table.splitlines()[1:] if not line.startswith("| **")]
    assert len(lines) > 20
    assert [line for line in lines if "`test_" not in line.split("|")[3]] == []


def test_the_named_tests_exist() -> None:
    page = (ROOT / "docs" / "exec.md").read_text("utf-8")
    tests = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", page))
    assert {name for name in named if f"def {name}(" not in tests} == set()


def test_texts_name_the_sizes_of_the_library() -> None:
    up, down, again = (
        format_size(size)
        for size in (
            layout().most_staged_bytes,
            layout().most_small_bytes,
            layout().min_repeated_bytes,
        )
    )
    python = ROOT / "python" / "isthmus"
    named = {
        ROOT / "docs" / "exec.md": [f"more than {up} up, or {down} down"],
        ROOT / "docs" / "watch.md": [
            *(
                f"single ranges of more than {down}",
                f"uploads of up to {up} needn",
                f"and uploads of more than {up}.",
            ),
            f"uploads of {again} and more",
        ],
        python / "cli" / "exec" / "command.py": [f"never uploads of {up} or less", f"of {down} or"],
        python / "watching" / "verdict.py": [f"`isthmus exec` (above {up})"],
    }
    for path, texts in named.items():
        text = path.read_text("utf-8")
        assert [one for one in texts if one not in text] == []
