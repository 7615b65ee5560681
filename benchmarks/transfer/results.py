"""Reads the files of `measure.sh` in a folder."""

import json
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]


class Results:
    """The tables of one folder; missing or broken ones are empty."""

    def __init__(self, folder: Path) -> None:
        """Read the files."""
        self._details = _read(folder / "details.json")
        self._grid = _read(folder / "grid.json")
        self._side = _read(folder / "side_by_side.json")
        self._loading = _read(folder / "loading.json")
        self._calls = _read(folder / "python_calls.json")
        self._cores = {count: _read(folder / f"cores_{count}.json") for count in (4, 1)}

    @property
    def emulated(self) -> bool:
        """Whether any of it is modelled."""
        records = (self._details, self._grid, self._side, self._loading)
        return any(record.get("machine", {}).get("emulated", False) for record in records)

    def table(self, name: str, **wanted: object) -> Rows:
        """List matching rows of transfer_details."""
        record = self._grid if name == "grid" else self._details
        return chosen(record.get(name, []), wanted)

    def cores(self, count: int, **wanted: object) -> Rows:
        """List rows that were measured with this number of cores."""
        return chosen(self._cores[count].get("large", []), wanted)

    def side(self, **wanted: object) -> Rows:
        """List matching rows of side_by_side.py."""
        return chosen(self._side.get("results", []), wanted)

    def calls(self, **wanted: object) -> Rows:
        """List matching rows of python_calls.py."""
        return chosen(self._calls.get("calls", []), wanted)

    def loading(self, **wanted: object) -> Rows:
        """List matching rows of loading.py."""
        return chosen(self._loading.get("results", []), wanted)


def chosen(rows: Rows, wanted: dict[str, object]) -> Rows:
    """List the rows that have these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def _read(path: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return record
