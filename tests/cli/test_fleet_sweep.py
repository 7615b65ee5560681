"""`isthmus sim sweep` on workers of this machine, on hosts, and what it refuses."""

import json
import os
import re
import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from isthmus.cli import INTERRUPTED
from isthmus.fleet import dask_asking
from isthmus.sim.paper.grid import grid_points
from isthmus.sim.result import empty_result
from isthmus.sim.sweep import columns_of
from program import PROGRAM, Invoke, interruptible

pytestmark = pytest.mark.native

AXES = ("-a", "workload=cp,bfs", "-a", "policy=ranges,tree", "-a", "link.bandwidth=16GB/s,32GB/s")


@pytest.mark.long
def test_the_file_has_the_bytes_of_one_machine_and_both_commands_continue_it(
    invoke: Invoke, tmp_path: Path
) -> None:
    here, there = str(tmp_path / "here.parquet"), str(tmp_path / "there.parquet")
    assert invoke("sim", "sweep", *AXES, "-o", here).code == 0
    first = invoke("sim", "sweep", *AXES, "--workers", "2", "-o", there)
    assert first.code == 0, first.err
    assert "simulating on 2 workers, 2 points at a time\n" in first.err
    assert f"8 of 8 points in {there} (modelled)\n" in first.err
    assert Path(there).read_bytes() == Path(here).read_bytes()
    again = invoke("sim", "sweep", *AXES, "-o", there)
    assert "8 existed already" in again.err
    assert Path(there).read_bytes() == Path(here).read_bytes()


@pytest.mark.long
def test_a_point_that_fails_has_the_row_of_one_machine(invoke: Invoke, tmp_path: Path) -> None:
    stuck = ("--set", "options.eviction_kind=block_64k", "-p", "bitmap")
    axis = ("-a", "partitions.memory=128KiB,1MiB")
    files = [tmp_path / f"{name}.parquet" for name in ("here", "there")]
    for file, where in zip(files, ((), ("--workers", "2")), strict=True):
        code = invoke("sim", "sweep", "nqu", *stuck, *axis, *where, "-o", str(file)).code
        assert code == 1
    assert files[0].read_bytes() == files[1].read_bytes()
    assert "waits for room in GPU memory" in pq.read_table(files[1]).to_pylist()[0]["error"]


def nearly_finished(folder: Path) -> None:
    """Write the grid's journal, with all points but three; their numbers are made up."""
    folder.mkdir()
    lines = [{"sweep": 1, "identity": "the paper's evaluation"}]
    for index, point in enumerate(grid_points()):
        if index not in {3, 70, 2000}:
            numbers = {**empty_result().flat(), "total_ps": 1000 + index}
            row = {**columns_of(point), "modelled": True, "error": None, **numbers}
            lines.append({"key": point.key, "row": row})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "grid.parquet.journal").write_text(text, "utf-8")


@pytest.mark.long
def test_the_grid_has_the_bytes_of_one_machine(invoke: Invoke, tmp_path: Path) -> None:
    from isthmus.cli.reproduce.migration import run_grid
    from isthmus.cli.sim.runners import here

    for name in ("here", "there"):
        nearly_finished(tmp_path / name)
    run_grid(tmp_path / "here", here)
    outcome = invoke("sim", "sweep", "--grid", "--workers", "1", "-o", str(tmp_path / "there"))
    assert outcome.code == 0, outcome.err
    assert "3 runs in " in outcome.err
    names = ["grid.csv", "grid.parquet", "grid.txt"]
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == names
    for name in names:
        there, own = tmp_path / "there" / name, tmp_path / "here" / name
        assert there.read_bytes() == own.read_bytes()


@pytest.mark.long
def test_ctrl_c_keeps_the_finished_points_and_shows_no_trace_of_the_workers(
    tmp_path: Path,
) -> None:
    file = tmp_path / "s.parquet"
    axes = ("-a", "workload=mum-140k", "-a", "seed=0..29")
    command = [*PROGRAM, "sim", "sweep", *axes, "--workers", "2", "-o", str(file)]
    with interruptible(command, start_new_session=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("simulating on 2 workers")
        journal = file.with_name("s.parquet.journal")
        # The head, and at least one point.
        while not journal.exists() or journal.read_text("utf-8").count("\n") < 2:
            assert process.poll() is None
        # As a terminal does it: to the workers, too.
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (INTERRUPTED, "")
    assert err.endswith("(modelled), the same command continues\n")
    assert "Traceback" not in err
    assert 1 <= pq.read_table(file).num_rows < 30


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("-o x.parquet", "no axis to sweep"),
        ("cp -a seed=1", "'-o'"),
        ("--grid -o f -a seed=1", "--grid chooses its own runs"),
        ("cp --grid -o f", "--grid chooses its own runs"),
        ("--grid -o f -p tree", "--grid chooses its own runs"),
        ("cp -a seed=1 -o x.parquet --workers 2 --hosts f", "exclude each other"),
        ("cp -a seed=1 -o x.parquet --python p", "--python is for --hosts"),
        ("cp -a seed=1 -o x.parquet --scheduler tcp://10.0.0.1:1", "isn't encrypted"),
        ("cp -a seed=1 -o x.parquet --hosts nothing", "can't read nothing"),
        ("cp -a unit=1 -o x.parquet", "no setting 'unit'"),
        ("-a workload=bsf -o x.parquet", "did you mean bfs?"),
    ],
)
def test_what_cannot_be_swept_is_refused_and_leaves_nothing(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = invoke("sim", "sweep", *arguments.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_scheduler_that_does_not_answer_is_named_and_nothing_is_left(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="isthmus[scale] is not installed")
    monkeypatch.setattr(dask_asking, "_CONNECT_S", 0.1)
    file = tmp_path / "s.parquet"
    at = ("--scheduler", "tcp://127.0.0.1:1")
    outcome = invoke("sim", "sweep", "cp", "-a", "seed=1", *at, "-o", str(file))
    assert outcome.code == 2
    assert "no scheduler answers at tcp://127.0.0.1:1" in outcome.err
    assert list(tmp_path.iterdir()) == []


# What a fake ssh does: it runs the command here, unless the host is "bad".
_SSH = """#!/bin/sh
while [ "$1" != "--" ]; do shift; done
if [ "$2" = bad ]; then echo "ssh: connect to host bad: Connection refused" >&2; exit 255; fi
exec sh -c "exec $3"
"""


@pytest.mark.long
def test_hosts_are_reached_by_ssh_and_one_that_is_not_is_named(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(_SSH)
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "all").write_text("good\nbad\n")
    (tmp_path / "none").write_text("bad\n")
    sweep = ("sim", "sweep", "cp", "-a", "policy=tree,ranges")
    file = tmp_path / "s.parquet"
    refused = invoke(*sweep, "--hosts", str(tmp_path / "none"), "-o", str(file))
    assert refused.code == 2
    assert "not used: bad: ssh ended with exit code 255: ssh: connect to host bad" in refused.err
    assert "there is no worker" in refused.err
    assert not file.exists()
    done = invoke(*sweep, "--hosts", str(tmp_path / "all"), "-o", str(file))
    assert done.code == 0, done.err
    assert "not used: bad: " in done.err
    assert re.search(r"^simulating on 1 worker, \d+ points? at a time$", done.err, re.MULTILINE)
    assert "2 of 2 points in " in done.err


def test_the_command_that_it_was_names_the_one_that_it_is(invoke: Invoke) -> None:
    outcome = invoke("fleet", "sweep")
    assert outcome.code == 2
    assert "hint: points of a sweep run on many machines: isthmus sim sweep --sched" in outcome.err
