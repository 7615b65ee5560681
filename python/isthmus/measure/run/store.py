"""Where runs are kept."""

import json
import os
import re
from pathlib import Path

from isthmus.errors import WriteError
from isthmus.files.failure import writing
from isthmus.files.folder import make_folder, try_folder
from isthmus.files.whole import write_whole
from isthmus.ground.json_text import json_text
from isthmus.measure.run.model import Run

FINISHED = ".json"
"""The suffix of a run's file."""
UNFINISHED = ".journal"
"""The suffix of the file of a run that is being measured, or that was killed."""
STEM = re.compile(r"[0-9]{8}T[0-9]{6}Z-.+")
"""What `stem_of` gives: a name of a time, and not of a node."""


def runs_folder() -> Path:
    """Give the folder of the user's runs: `$XDG_DATA_HOME/isthmus/runs`, or below `~/.local`."""
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    # The XDG specification says to ignore a relative path.
    data = base if base.is_absolute() else Path.home() / ".local" / "share"
    return data / "isthmus" / "runs"


def run_text(run: Run) -> str:
    """Give a run as JSON text, one result a line."""
    return json_text(json.loads(run.model_dump_json()))


def save_run(run: Run, folder: Path | None = None) -> Path:
    """Keep a run among the user's runs, or in a folder, and give its file."""
    target_folder = make_folder(folder or place_of_runs())
    return write_whole(target_folder / f"{stem_of(run)}{FINISHED}", run_text(run))


def stem_of(run: Run) -> str:
    """Give the name of a run's file without its suffix: its time, which sorts, and its id."""
    return f"{run.run.started_at:%Y%m%dT%H%M%SZ}-{run.run.id}"


def check_runs_folder() -> None:
    """Check whether a run could be kept among the user's runs. Leaves nothing behind."""
    folder = place_of_runs()
    # save_run creates what is missing.
    while not os.path.lexists(folder):
        folder = folder.parent
    with writing(folder):
        try_folder(folder)


def place_of_runs() -> Path:
    """Give the folder of the user's runs for writing."""
    try:
        return runs_folder()
    except RuntimeError as cause:
        raise WriteError(f"no place for the run: {cause}", hint="set XDG_DATA_HOME") from cause
