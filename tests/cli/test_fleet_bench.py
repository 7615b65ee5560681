"""`isthmus fleet bench`: what it measures on this machine, and what it refuses."""

import os
import signal
import sys
from pathlib import Path

import pytest

from isthmus.cli import INTERRUPTED, MESSAGE
from isthmus.measure.run.folder import FileKind, files_of
from program import PROGRAM, Invoke, interruptible

SHORT = ("fleet", "bench", "-t", "host_to_device_memcpy_ce", "--sizes", "4", "-d", "emulated")


@pytest.mark.long
@pytest.mark.native
def test_workers_of_this_machine_measure_and_are_checked(spawn: Invoke, tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    outcome = spawn(*SHORT, "--workers", "2", "--repeat", "2", "-o", str(folder))
    assert outcome.code == 0, outcome.err
    assert "2 GPUs, no errors. Speed not judged: needs 4 equal GPUs" in outcome.out
    assert "every node produced a run" in outcome.err
    assert "local-1, emulated: run 2 of 2\n" in outcome.err
    kinds = [(file.node, file.kind) for file in files_of(folder)]
    assert kinds.count(("local-0", FileKind.RUN)) == 2
    assert kinds.count(("local-1", FileKind.RUN)) == 2
    assert kinds.count(("local-0", FileKind.DIAGNOSIS)) == 1


@pytest.mark.long
@pytest.mark.native
def test_sixteen_workers_whose_links_all_have_half_of_their_width_are_bad_with_the_cause(
    spawn: Invoke, tmp_path: Path
) -> None:
    wished = ("-t", "host_to_device_memcpy_ce", "--sizes", "4M")
    good = tmp_path / "good.json"
    measured = spawn("bench", *wished, "--device", "emulated", "--no-save", "-o", str(good))
    assert measured.code == 0, measured.err
    (tmp_path / "site.toml").write_text(spawn("runs", "expect", str(good)).out)
    outcome = spawn(
        *("fleet", "bench", *wished, "-d", "emulated:half-link", "--workers", "16", "--repeat"),
        *("1", "-o", str(tmp_path / "fleet")),
    )
    assert outcome.code == 0, outcome.err
    folder, site = str(tmp_path / "fleet"), str(tmp_path / "site.toml")
    outcome = spawn("fleet", "check", folder, "--expect", site)
    assert outcome.code == 3, outcome.err
    assert "16 of 16 GPUs are bad: 16 slow (16 nodes" in outcome.out
    assert "of the expected value: host_to_device_memcpy_ce " in outcome.out
    assert "-> emulated profile: half-link" in outcome.out


@pytest.mark.long
@pytest.mark.native
def test_the_driver_that_the_environment_names_is_measured(
    spawn: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated:half-link")
    outcome = spawn(*SHORT[:-2], "--repeat", "1", "-o", str(tmp_path / "fleet"))
    assert outcome.code == 0, outcome.err
    assert "local, emulated:half-link: run 1 of 1" in outcome.err


@pytest.mark.long
@pytest.mark.native
def test_without_a_run_the_exit_code_is_1_and_the_node_is_dead(
    spawn: Invoke, tmp_path: Path
) -> None:
    outcome = spawn(*SHORT[:-1], "emulated:nonsense", "-o", str(tmp_path / "fleet"))
    assert outcome.code == 1
    assert "dead      local: " in outcome.out
    assert "nonsense" in outcome.out
    assert "1 of 1 node is bad: 1 dead" in outcome.out


@pytest.mark.long
@pytest.mark.native
def test_ctrl_c_ends_all_processes_and_shows_no_trace_of_the_workers(tmp_path: Path) -> None:
    command = [*PROGRAM, *SHORT, "--workers", "2", "-o", str(tmp_path / "fleet")]
    with interruptible(command, start_new_session=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("measuring 2 nodes into ")
        # As a terminal does it: to the workers, too.
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (INTERRUPTED, "")
    assert err.endswith(f"{MESSAGE}\n")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nonsense",), "nonsense"),
        (("-t", "nonsense"), "no test is named 'nonsense'"),
        (("--sizes", "x"), "x"),
        (("--workers", "2", "--scheduler", "tls://a:1"), "exclude each other"),
        (("--python", "p"), "--python is for --hosts"),
        (("--scheduler", "tcp://10.0.0.1:1"), "isn't encrypted"),
        (("-d", "a b"), "can't be sent to a node"),
        (("--hosts", "nothing"), "can't read nothing"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_starts(
    invoke: Invoke, arguments: tuple[str, ...], said: str
) -> None:
    outcome = invoke("fleet", "bench", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err


@pytest.mark.native
def test_a_scheduler_that_is_not_encrypted_is_named(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="isthmus[scale] is not installed")
    monkeypatch.setattr("isthmus.fleet.dask_asking._CONNECT_S", 0.1)
    outcome = invoke(*SHORT, "--scheduler", "tcp://127.0.0.1:1")
    assert outcome.code == 2
    assert "tcp://127.0.0.1:1 isn't encrypted: every user of this machine can run" in outcome.err


def test_a_line_of_hosts_that_would_lead_out_of_the_folder_is_refused(
    invoke: Invoke, tmp_path: Path
) -> None:
    (tmp_path / "hosts").write_text("n1\n..\n")
    outcome = invoke(*SHORT, "--hosts", str(tmp_path / "hosts"), "-o", str(tmp_path / "f"))
    assert outcome.code == 2
    assert "line 2 of " in outcome.err
    assert "is no host: '..'" in outcome.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hosts"]


def test_without_dask_the_error_names_the_extra(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    outcome = invoke(*SHORT, "--scheduler", "tcp://127.0.0.1:1")
    assert outcome.code == 1
    assert "distributed is not installed (needs pip install 'isthmus[scale]')" in outcome.err
