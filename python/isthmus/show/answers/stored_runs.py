"""The list of stored runs, as text, JSON and CSV."""

import json
import shlex
from collections.abc import Sequence

from isthmus.ground.csv_text import csv_of_records
from isthmus.ground.json_text import json_text
from isthmus.ground.sizes import approximate_size
from isthmus.measure.run.stored import StoredRun
from isthmus.show.fitting import PAGE_WIDTH, table_lines
from isthmus.show.format import Format
from isthmus.show.page import Table


def stored_runs_text(found: Sequence[StoredRun], wanted: Format, *, width: int = PAGE_WIDTH) -> str:
    """Write the list."""
    if wanted is Format.TEXT:
        return "\n".join(table_lines(_table(found), width)) + "\n" if found else ""
    rows = [json.loads(run.model_dump_json()) for run in found]
    if wanted is Format.JSON:
        return json_text(rows)
    records = ({**row, "command": shlex.join(row["command"])} for row in rows)
    return csv_of_records(list(StoredRun.model_fields), records)


def _table(found: Sequence[StoredRun]) -> Table:
    return Table(
        title="Stored runs",
        heads=("id", "state", "started (UTC)", "device", "size", "command"),
        rows=tuple(map(_row, found)),
        num_text_columns=6,
    )


def _row(run: StoredRun) -> tuple[str, ...]:
    return (
        run.id,
        run.state.value,
        f"{run.started_at:%Y-%m-%d %H:%M}" if run.started_at else "-",
        # The name of an emulated device says that it is one.
        run.device or "-",
        approximate_size(run.num_bytes) if run.num_bytes else "-",
        shlex.join(run.command[1:]) or "-",
    )
