"""`isthmus sim`: short runs, in this process where that is enough."""

import csv
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from program import NO_GPU, PROGRAM, Golden, Invoke, Outcome, interruptible, run_code

pytestmark = pytest.mark.native
REPRODUCE = ("reproduce", "partial-page-migration")
EXAMPLES = Path(__file__).parents[2] / "examples" / "policies"
AXES = ("-a", "workload=cp", "-a", "policy=tree,ranges", "-a", "link.bandwidth=16GB/s,32GB/s")


@pytest.mark.parametrize(
    "command", ["", "run", "list", "sweep", "trace", "trace record", "trace import"]
)
def test_help_is_as_reviewed(invoke: Invoke, golden: Golden, command: str) -> None:
    outcome = invoke("sim", *command.split(), "--help")
    assert (outcome.code, outcome.err) == (0, "")
    golden("_".join(["help_sim", *command.split()]) + ".text", outcome.out)


@pytest.mark.parametrize("group", [("sim",), ("sim", "trace")])
def test_a_group_alone_shows_its_help(invoke: Invoke, group: tuple[str, ...]) -> None:
    assert invoke(*group) == invoke(*group, "--help")


def test_a_run_compares_policies_and_says_that_it_is_modelled(invoke: Invoke) -> None:
    outcome = invoke("sim", "run", "cp", "-p", "ideal", "-p", "ranges")
    assert outcome.code == 0
    assert outcome.out.startswith("modelled: no number here was measured")
    assert "16 GB/s to the GPU" in outcome.out
    heads = next(line for line in outcome.out.splitlines() if line.split() == ["ideal", "ranges"])
    assert heads
    assert any(line.split()[:3] == ["relative", "to", "the"] for line in outcome.out.splitlines())


def test_results_call_an_own_policy_by_its_file_and_a_digest_of_its_contents(
    invoke: Invoke, tmp_path: Path
) -> None:
    own = f"{EXAMPLES / 'adaptive_migration.py'}:AdaptiveMigration"
    shown = invoke("sim", "run", "cp", "-p", "bitmap", "-p", own, "--format", "json")
    assert shown.code == 0, shown.err
    name = json.loads(shown.out)["runs"][1]["policy"]
    assert re.fullmatch(r"adaptive_migration\.py:AdaptiveMigration@[0-9a-f]{12}", name)
    path = tmp_path / "s.parquet"
    swept = invoke("sim", "sweep", "cp", "-a", f"policy=bitmap,{own}", "-o", str(path))
    assert swept.code == 0, swept.err
    assert pq.read_table(path).column("policy").to_pylist() == ["bitmap", name]


def test_own_policies_are_not_sent_to_workers(invoke: Invoke, tmp_path: Path) -> None:
    own = f"{EXAMPLES / 'adaptive_migration.py'}:AdaptiveMigration"
    path = tmp_path / "s.parquet"
    swept = invoke("sim", "sweep", "cp", "-a", f"policy={own}", "-o", str(path), "--workers", "1")
    assert swept.code == 2
    assert "is code, which isn't sent to other processes" in swept.err
    assert "leave out --workers" in swept.err


def test_equal_runs_print_equal_bytes(invoke: Invoke) -> None:
    arguments = ("sim", "run", "cp", "--seed", "3", "--format", "json")
    assert invoke(*arguments) == invoke(*arguments)


def test_a_run_as_json_and_csv(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    outcome = invoke("sim", "run", "cp", "--format", "json", "-o", str(path))
    document = json.loads(outcome.out)
    assert document["modelled"] is True
    assert [run["policy"] for run in document["runs"]] == ["programmer", "overlapped", "ranges"]
    assert document["machine"]["link"]["bandwidth"] == 16_000_000_000
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert int(rows[1]["total_ps"]) == document["runs"][1]["total_ps"]


def test_settings_change_the_machine(invoke: Invoke) -> None:
    outcome = invoke(
        "sim", "run", "cp", "--set", "link.bandwidth=32GB/s", "--set", "policy.unit=4K"
    )
    assert outcome.code == 0
    assert "32 GB/s to the GPU" in outcome.out


def test_a_timeline_is_written(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    outcome = invoke("sim", "run", "cp", "-p", "ranges", "--timeline", str(path))
    assert f"written: {path}" in outcome.err
    assert json.loads(path.read_text(encoding="utf-8"))["traceEvents"]


def test_a_synthetic_input_is_said_to_be_one(invoke: Invoke) -> None:
    assert "note: breadth-first search, " in invoke("sim", "run", "bfs", "-p", "ideal").err
    assert invoke("sim", "run", "cp", "-p", "ideal").err == ""


def test_the_list_names_everything(invoke: Invoke) -> None:
    text = invoke("sim", "list").out
    for name in ("mum-140k", "whole-page", "gh200-c2c", "link.bandwidth"):
        assert name in text
    assert "what is a TLB miss?" in invoke("sim", "list", "settings").out
    assert "nodes of the graph; 65536 if not set" in invoke("sim", "list", "workloads").out
    machines = invoke("sim", "list", "machines", "--format", "json").out
    assert set(json.loads(machines)) == {"schema_version", "machines"}
    refused(invoke("sim", "list", "polices"), "nothing to list is named 'polices'", "policies")
    document = json.loads(invoke("sim", "list", "--format", "json").out)
    assert set(document) >= {"workloads", "policies", "machines", "settings"}
    assert invoke("sim", "list", "--format", "csv").out.startswith("group,name,meaning\n")


def refused(outcome: Outcome, error: str, hint: str) -> None:
    assert outcome.code == 2, outcome.err
    assert outcome.out == ""
    assert outcome.err.count("error: ") == 1
    assert error in outcome.err
    assert hint in outcome.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        ("run bsf", "no workload or trace file 'bsf'", "did you mean bfs?"),
        ("run cp -p rangs", "no policy 'rangs'", "did you mean ranges?"),
        ("run cp -m h100", "no machine 'h100'", "did you mean h100-pcie5?"),
        ("run cp -m /no/such.toml", "can't read machine", "one of ours"),
        ("run cp --set link.bandwith=1GB/s", "no setting 'link.bandwith'", "link.bandwidth"),
        ("run cp --set link.bandwidth=32", "a unit is missing", "did you mean 32GB/s?"),
        ("run cp --set link.bandwidth=0GB/s", "nothing would ever arrive", "32GB/s"),
        ("run cp --set tlb.entries=0", "tlb.entries", "8"),
        ("run cp --set policy.unit=4MiB", "larger than its page", "policy.unit=2 MiB"),
        ("run cp --set partitions.memory=1MiB", "partitions.memory=1 MiB is less", "2 MiB"),
        ("run cp --seed x", "'--seed'", "isthmus sim run --help"),
        ("run cp --timeline t.json", "--timeline needs a single policy", "-p ranges"),
        ("sweep cp -o x.parquet -a policy.unit=4MiB", "policy.unit=4MiB: ", "policy.unit=2 MiB"),
        ("sweep cp -o x.parquet -a unit=1", "no setting 'unit'", "unit"),
        ("sweep -o x.parquet -a seed=1", "no workload", "--axis workload="),
        ("sweep -o x.parquet -a workload=bsf", "'bsf'", "did you mean bfs?"),
        ("sweep cp -a seed=1", "'-o'", "isthmus sim sweep --help"),
        ("trace info /no/such.arrow", "/no/such.arrow", ""),
    ],
)
def test_bad_usage_is_one_line_a_hint_and_exit_code_2(
    invoke: Invoke,
    arguments: str,
    error: str,
    hint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = invoke("sim", *arguments.split())
    if "profile" in arguments:
        assert (outcome.code, error in outcome.err) == (1, True)
    else:
        refused(outcome, error, hint)
    assert list(tmp_path.iterdir()) == []


# Memory of two blocks of 64 KiB: a page that waits for room keeps what its own requests wait for.
DEADLOCK = ("--set", "options.eviction_kind=block_64k", "-p", "bitmap")


def test_a_configuration_that_deadlocks_is_an_error_that_says_who_waits_for_whom(
    invoke: Invoke,
) -> None:
    outcome = invoke("sim", "run", "nqu", *DEADLOCK, "--set", "partitions.memory=128KiB")
    assert (outcome.code, outcome.out) == (1, "")
    [line] = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert "nothing can go on in launch 'board' after " in line
    assert "warp 0 of CTA 0 on core 0 waits for " in line
    assert "bytes to page " in line
    assert "waits for room in GPU memory" in line


def test_a_point_of_a_sweep_that_deadlocks_has_a_row_and_the_others_go_on(
    invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "s.parquet"
    axis = ("-a", "partitions.memory=128KiB,1MiB")
    outcome = invoke("sim", "sweep", "nqu", *DEADLOCK, *axis, "-o", str(path))
    assert outcome.code == 1
    stuck, well = pq.read_table(path).to_pylist()
    assert (stuck["total_ps"], stuck["partitions.memory"]) == (None, 131072)
    assert "waits for room in GPU memory" in stuck["error"]
    assert (well["error"], well["total_ps"] > 0) == (None, True)


def test_a_sweep_writes_a_table_and_does_not_run_twice(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    outcome = invoke("sim", "sweep", *AXES, "-o", str(path))
    assert outcome.code == 0
    assert "[4/4] workload=cp" in outcome.err
    assert "4 of 4 points" in outcome.err
    before = path.read_bytes()
    again = invoke("sim", "sweep", *AXES, "-o", str(path))
    assert again.err.endswith("(modelled), 4 existed already\n")
    assert path.read_bytes() == before
    rows = pq.read_table(path).to_pylist()
    assert [(row["policy"], row["link.bandwidth"]) for row in rows] == [
        ("tree", 16_000_000_000),
        ("tree", 32_000_000_000),
        ("ranges", 16_000_000_000),
        ("ranges", 32_000_000_000),
    ]


def test_a_sweep_over_another_file_is_refused(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    invoke("sim", "sweep", *AXES, "-o", str(path))
    outcome = invoke("sim", "sweep", "cp", "-a", "seed=1", "-o", str(path))
    refused(outcome, "is of another sweep", "another --output")


@pytest.mark.long
def test_ctrl_c_in_a_sweep_keeps_the_finished_points_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    command = [*PROGRAM, "sim", "sweep", "-a", "workload=mum-140k", "-a", "seed=0..9"]
    with subprocess.Popen(
        [*command, "-o", str(path)],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | NO_GPU,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("[ 1/10]")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command continues" in err
    num_rows = pq.read_table(path).num_rows
    assert 1 <= num_rows < 10
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.long
def test_ctrl_c_in_a_run_ends_it_at_once(tmp_path: Path) -> None:
    command = [*PROGRAM, "sim", "run", "mum-1400k", "-p", "whole-page"]
    with interruptible(command, cwd=tmp_path) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("note: 50,000 reads")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "interrupted: unfinished work was not kept\n"


def test_the_evaluation_is_written_to_a_folder_and_not_run_twice(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isthmus.sim.paper.studies.PROGRAMS", ("cp", "aes"))
    folder = tmp_path / "evaluation"
    first = invoke(*REPRODUCE, "-o", str(folder))
    assert first.code == 0
    assert "modelled" in first.out
    assert "T1 " in first.out
    assert (folder / "targets.txt").read_text(encoding="utf-8") == first.out
    assert {path.name for path in folder.iterdir()} == {
        "targets.txt",
        "targets.json",
        "targets.csv",
        "runs.parquet",
    }
    again = invoke(*REPRODUCE, "-o", str(folder))
    assert again.out == first.out
    assert "\n0 runs in" in f"\n{again.err}"


@pytest.mark.long
def test_the_evaluation_s_pictures_are_drawn_where_plots_says(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.setattr("isthmus.sim.paper.studies.PROGRAMS", ("cp", "aes"))
    drawn = tmp_path / "plots"
    outcome = invoke(*REPRODUCE, "--plots", str(drawn))
    assert outcome.code == 0, outcome.err
    assert outcome.err.endswith(f"in {drawn}\n")
    assert {path.suffix for path in drawn.iterdir()} >= {".svg", ".png", ".html"}


def test_without_a_folder_nothing_is_written(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("isthmus.sim.paper.studies.PROGRAMS", ("cp",))
    document = json.loads(invoke(*REPRODUCE, "--format", "json").out)
    assert document["modelled"] is True
    assert list(tmp_path.iterdir()) == []


def test_a_recorded_trace_runs_as_its_workload_does(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "cp.arrow"
    assert invoke("sim", "trace", "record", "cp", "-o", str(path)).code == 0
    info = invoke("sim", "trace", "info", str(path))
    assert info.code == 0
    assert "128 B" in info.out
    direct, recorded = (
        json.loads(invoke("sim", "run", one, "--format", "json").out)["runs"]
        for one in ("cp", str(path))
    )
    assert direct == recorded


def test_a_trace_without_memory_operations_is_warned_of(invoke: Invoke, tmp_path: Path) -> None:
    from fakes.traces import END, program
    from isthmus import _native
    from isthmus.sim.trace.file import record_trace

    block = [
        np.zeros(2, np.uint32),
        np.zeros(2, np.uint32),
        np.arange(3, dtype=np.uint32),
        np.full(2, END, np.uint8),
        np.full(2, 100, np.uint32),
        np.zeros(3, np.uint32),
        np.zeros(0, np.uint64),
    ]
    path = tmp_path / "none.arrow"
    source = _native.TraceSource("none", program(num_ctas=(1,)), 1, [block].__getitem__)
    record_trace(source, path)
    outcome = invoke("sim", "run", str(path), "-p", "ranges")
    assert outcome.code == 0
    assert f"warning: {path} has no memory operations" in outcome.err
    assert "memory operations" not in invoke("sim", "run", "cp", "-p", "ideal").err


def test_advice_is_counted_where_it_is_given(invoke: Invoke) -> None:
    advised = invoke("sim", "run", "aes", "-p", "programmer", "-p", "advise").out
    [row] = [line.split() for line in advised.splitlines() if line.startswith("advice:")]
    assert row[-2:] == ["-", "1/1/1"]  # the picture, the keys, the cipher text
    assert "advice:" not in invoke("sim", "run", "aes", "-p", "programmer").out


def test_a_program_for_which_nothing_crosses_is_told(invoke: Invoke) -> None:
    told = "warning: ranges: cp asks for memory, and no byte crossed the link"
    resident = ("--set", "options.initially=on_gpu")
    assert told in invoke("sim", "run", "cp", "-p", "ranges", *resident).err
    assert "no byte crossed" not in invoke("sim", "run", "cp", "-p", "ranges", "-p", "ideal").err


def test_a_simulation_without_numpy_names_what_installs_it() -> None:
    arguments = ["sim", "run", "bfs", "--set", "workload.nodes=256"]
    done = run_code(
        "import sys; sys.modules['numpy'] = None\n"
        f"from isthmus.cli.app import main; sys.exit(main({arguments!r}))"
    )
    assert done.code == 1
    assert "numpy is not installed (needs pip install 'isthmus[sim]')" in " ".join(done.err.split())
