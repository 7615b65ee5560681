"""Folders of runs, as `isthmus fleet check` and `isthmus runs query` read them."""

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa

from edits import Choices, edited
from fuzzing import Finding, fuzz, require, temporary_folder
from isthmus.fleet.check import check_fleet
from isthmus.fleet.measured import read_fleet
from isthmus.fleet.task import Attempt, Outcome
from isthmus.measure.query.store import FILE, find_runs
from isthmus.measure.run.folder import FileKind, Unreadable, files_of, read_runs
from isthmus.measure.run.store import run_text
from isthmus.show.answers.fleet import fleet_text
from isthmus.show.answers.fleet_data import fleet_json, fleet_prometheus
from runs_fuzzer import example

_HEALTHY = 4
_DIAGNOSIS = {
    "schema_version": 1,
    "emulated": False,
    "checks": [{"name": "gpu 0", "status": "ok", "finding": "GPU", "facts": {"ordinal": 0}}],
}


@cache
def _texts() -> dict[str, str]:
    """Give a file of each kind, by the end of its name."""
    run = example()
    attempt = Attempt(
        node="node",
        device=None,
        number=1,
        outcome=Outcome.FAILED,
        reason="it failed",
        exit_code=1,
        ended_at=run.run.finished_at,
    )
    return {
        "a.json": run_text(run),
        f"a.{FileKind.ATTEMPT.value}": attempt.model_dump_json(),
        FileKind.DIAGNOSIS.value: json.dumps(_DIAGNOSIS),
    }


@cache
def _folder() -> Path:
    """Give a folder with some healthy nodes, whose runs are in its store."""
    folder = temporary_folder() / "fleet"
    for number in range(_HEALTHY):
        run = example()
        device = run.machine.device.model_copy(update={"uuid": f"GPU-{number}"})
        machine = run.machine.model_copy(update={"device": device})
        (folder / f"n{number}").mkdir(parents=True)
        changed = run.model_copy(update={"machine": machine})
        (folder / f"n{number}" / "a.json").write_text(run_text(changed), "utf-8")
    find_runs(folder, files_of(folder))
    shutil.copy(folder / FILE, temporary_folder() / "store")
    return folder


def check(data: bytes) -> None:
    """
    See that a folder with one odd file is judged and asked, and that the others are in the answer.

    What begins with a brace is a run. Of all else, the first byte chooses what is odd: a run, an
    attempt, a diagnosis, or the folder's store; and the others what is changed in it.
    """
    folder, choices = _folder(), Choices(data)
    node = folder / "odd"
    shutil.rmtree(node, ignore_errors=True)
    shutil.copy(temporary_folder() / "store", folder / FILE)
    node.mkdir()
    if data[:1] == b"{":
        (node / "a.json").write_bytes(data)
    elif (kind := choices.number(len(_texts()) + 1)) < len(_texts()):
        name, text = list(_texts().items())[kind]
        (node / name).write_text(json.dumps(edited(text, choices)), "utf-8")
    else:
        _damage(folder / FILE, choices)
    _check_fleet(folder)
    _ask(folder)


def _damage(path: Path, choices: Choices) -> None:
    """Change bytes of a store's file, and perhaps cut it."""
    contents = bytearray(path.read_bytes())
    while choices:
        place = choices.number(256) << 8 | choices.number(256)
        contents[place % len(contents)] = choices.number(256)
    path.write_bytes(contents)


def _check_fleet(folder: Path) -> None:
    health = check_fleet(read_fleet(files_of(folder)))
    nodes = {patient.node for patient in health.patients}
    require(nodes >= {f"n{number}" for number in range(_HEALTHY)}, "a healthy node is missing")
    fleet_text(health, every=True)
    json.loads(fleet_json(health), parse_constant=_no_constant)
    for line in fleet_prometheus(health).splitlines():
        require(line.startswith(("# ", "isthmus_")), f"a line of Prometheus's is {line[:80]!r}")


def _ask(folder: Path) -> None:
    """See that the views have each run that can be read, whatever the store says."""
    files = files_of(folder)
    readable = sum(not isinstance(found, Unreadable) for found in read_runs(files))
    count: Callable[[], int] = lambda: find_runs(folder, files).views["machines"].num_rows  # noqa: E731
    require(count() == readable, "a run is missing")
    require(count() == readable, "a run is missing in the store")
    tables = find_runs(folder, files).views
    require(all(isinstance(table, pa.Table) for table in tables.values()), "a view is missing")


def _no_constant(name: str) -> None:
    raise Finding(f"{name} is no JSON")


if __name__ == "__main__":
    fuzz(check)
