"""The numbers that README shows are those of the record that it names."""

import json
import re
from typing import Any

from documents.snippets import ROOT

_TABLE = "benchmarks/rhythms/h200/to_1gib.json"
_PICTURE = "benchmarks/transfer/h200/side_by_side.json"
_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_COLUMNS = [(way, size) for way in ("h2d", "d2h") for size in (4 * _KIB, _MIB, _GIB)]
# By direction, as the record of the picture names what it shows.
_ROWS = {
    "`isthmus.copy`": ("isthmus, to a torch tensor", "isthmus, of a torch tensor"),
    "PyTorch `copy_`": ("torch copy_", "torch copy_"),
    "CuPy `set`, `get`": ("cupy set", "cupy get(out=)"),
}


def recorded(path: str, gpu: str, **facts: str) -> dict[tuple[str, str, int], float]:
    """Give the median seconds of copies of pageable memory."""
    record: dict[str, Any] = json.loads((ROOT / path).read_text("utf-8"))
    assert record["machine"]["device"] == gpu
    facts["kind"] = "pageable"
    return {
        (row["direction"], row["contestant"], row["bytes"]): row["median_s"]
        for row in record["results"]
        if facts.items() <= row.items()
    }


def shown(size: int, seconds: float) -> str:
    if size < _MIB:
        return f"{seconds * 1e6:.1f} µs"
    return f"{size / seconds / 1e9:.1f} GB/s"


def test_the_table_of_copies_is_that_of_the_record() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert _TABLE in readme
    seconds = recorded(_TABLE, "NVIDIA H200", rhythm="back to back")
    for name, contestant in zip(_ROWS, ("isthmus", "torch", "cupy"), strict=True):
        cells = [shown(size, seconds[way, contestant, size]) for way, size in _COLUMNS]
        assert f"| {name} | {' | '.join(cells)} |" in readme


def test_the_picture_says_in_words_what_the_record_has() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    said = re.search(r"reaches (\d+) and (\d+) GB/s, PyTorch and CuPy at most (\d+)", readme)
    assert said is not None
    best: dict[str, float] = {}
    record = recorded(_PICTURE, "NVIDIA H200", target="warm")
    for (way, contestant, size), seconds in record.items():
        for name, contestants in _ROWS.items():
            if contestant == contestants[way == "d2h"]:
                key = way if "isthmus" in name else "others"
                best[key] = max(best.get(key, 0), size / seconds / 1e9)
    assert [int(number) for number in said.groups()] == [
        round(best["h2d"]),
        round(best["d2h"]),
        round(best["others"]),
    ]


def test_loading_takes_as_long_as_the_record_says() -> None:
    page = (ROOT / "docs/model-loading.md").read_text("utf-8")
    record = json.loads((ROOT / "benchmarks/transfer/h200/loading.json").read_text("utf-8"))
    seconds = {
        row["contestant"]: row["median_s"] for row in record["results"] if row["cache"] == "warm"
    }
    words = f"takes {seconds['isthmus torch']:.2f} s, and with `safetensors` "
    assert f"{words}{seconds['safetensors mmap']:.2f} s" in page


def test_the_first_page_is_short_and_names_both_commands_at_once() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 130
    first = "\n".join(lines[:40])
    assert all(words in first for words in ('.to("cuda")', "make bench", "make test"))


def test_the_changelog_is_short() -> None:
    assert len((ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()) <= 60
