"""The list of stored runs, as text, JSON and CSV."""

import json
import shlex
from collections.abc import Sequence

from isthmus.ground.json_text import csv_of_records, json_text
from isthmus.measure.run.stored import StoredRun
from isthmus.show.fitting import PAGE_WIDTH, table_lines
from isthmus.show.format import Format
from isthmus.show.page import Table

# Of a command, at least so many characters are shown.
_LEAST = 12


def stored_runs_text(found: Sequence[StoredRun], wanted: Format, *, width: int = PAGE_WIDTH) -> str:
    """Write the list."""
    if wanted is Format.TEXT:
        return "\n".join(table_lines(_table(found, width), width)) + "\n" if found else ""
    rows = [json.loads(run.model_dump_json()) for run in found]
    if wanted is Format.JSON:
        return json_text(rows)
    records = ({**row, "command": shlex.join(row["command"])} for row in rows)
    return csv_of_records(list(StoredRun.model_fields), records)


def _table(found: Sequence[StoredRun], width: int) -> Table:
    """Lay out a line for each run: a command that is too long for it is cut."""
    rows = [_row(run) for run in found]
    columns = zip(*(row[:-1] for row in rows), strict=True)
    room = width - sum(max(map(len, column)) + 2 for column in columns)
    cut = max(room - 2, _LEAST)
    return Table(
        title="Stored runs",
        heads=("id", "state", "started (UTC)", "device", "command"),
        rows=tuple(
            (*row, command if len(command) <= room else f"{command[:cut]}..")
            for *row, command in rows
        ),
        num_text_columns=5,
    )


def _row(run: StoredRun) -> tuple[str, ...]:
    return (
        run.id,
        run.state.value,
        f"{run.started_at:%Y-%m-%d %H:%M}" if run.started_at else "-",
        "emulated" if run.emulated else (run.device or "-").removeprefix("NVIDIA "),
        shlex.join(run.command[1:]) or "-",
    )
