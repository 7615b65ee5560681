"""`isthmus fleet` on hosts that a real sshd lets in: each has a network of its own."""

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import isthmus
from isthmus.fleet.task import Outcome, read_attempt
from isthmus.measure.run.folder import FileKind, files_of
from program import PROGRAM, Invoke, interruptible, run_process
from program import Outcome as Done
from ssh_hosts import Host, SshHosts, ssh_hosts, what_is_missing

pytestmark = [pytest.mark.long, pytest.mark.native]
SHORT = ("fleet", "bench", "-t", "host_to_device_memcpy_ce", "--sizes", "4", "-d", "emulated")
AXES = ("-a", "workload=bfs", "-a", "link.bandwidth=1GB/s..32GB/s", "-a", "seed=0..3")
_WITHOUT = f"mount -t tmpfs tmpfs {Path(isthmus.__file__).parent}"
HOSTS = (
    *(Host(name="n1"), Host(name="n2"), Host(name="first"), Host(name="second")),
    Host(name="stranger", known=False),
    Host(name="bare", boot=_WITHOUT),
    Host(name="closed", sshd="AllowTcpForwarding no"),
)
# What is said of each host that can't be measured.
REASONS = {
    "gone": "ssh ended with exit code 255: ssh: connect to host 198.18.1.9 port 22: ",
    "stranger": "ssh ended with exit code 255: Host key verification failed.",
    "bare": "ssh ended with exit code 1: ",
}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
    missing = what_is_missing()
    if missing:
        pytest.skip(missing)
    with ssh_hosts(tmp_path_factory.mktemp("hosts"), HOSTS) as found:
        yield found


def run(hosts: SshHosts, *arguments: str) -> Done:
    command = hosts.reaching([*PROGRAM, *arguments])
    return run_process(command, hosts.environment(), max_seconds=300)


def soon(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end


def only_sshd_runs(hosts: SshHosts, node: str) -> bool:
    return list(hosts.running(node).values()) == ["sshd"]


def test_hosts_are_measured_and_each_that_cannot_be_is_dead_with_its_reason(
    hosts: SshHosts, tmp_path: Path
) -> None:
    measured = ("n1", "n2", "closed")
    names = hosts.file(*measured, *REASONS)
    done = run(hosts, *SHORT, "--repeat", "2", "--hosts", str(names), "-o", str(tmp_path / "f"))
    assert done.code == 3, done.err
    kinds = [(file.node, file.kind) for file in files_of(tmp_path / "f")]
    for node in measured:
        assert kinds.count((node, FileKind.RUN)) == 2
    for node, reason in REASONS.items():
        (attempt,) = (tmp_path / "f" / node).glob("*.attempt.json")
        assert read_attempt(attempt).reason.startswith(reason)
        assert f"dead      {node}: worker lost: " in done.out
    assert len(kinds) == len(REASONS) + 3 * len(measured)
    # Nothing is left there, although the user's ssh keeps connections for others.
    for node in (*measured, "bare"):
        soon(partial(only_sshd_runs, hosts, node))


def test_a_python_that_is_not_there_is_named(hosts: SshHosts, tmp_path: Path) -> None:
    where = ("--hosts", str(hosts.file("n1")), "--python", "/nowhere/python")
    done = run(hosts, *SHORT, *where, "-o", str(tmp_path / "f"))
    assert done.code == 1
    assert "n1: worker lost: ssh ended with exit code 127: " in done.err
    assert "/nowhere/python: No such file or directory" in done.err


def test_when_an_sshd_is_killed_its_measurement_ends_too_and_the_others_go_on(
    hosts: SshHosts, tmp_path: Path
) -> None:
    names = str(hosts.file("n1", "first"))
    # Without sizes it takes a second or more.
    command = [*PROGRAM, *SHORT[:4], *SHORT[6:], "--repeat", "3", "--hosts", names]
    command = hosts.reaching([*command, "-o", str(tmp_path / "f")])
    with interruptible(command, os.environ | hosts.environment()) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line == "first, emulated: run 1 of 3\n":
                break
        hosts.kill_sshd("first")
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    (attempt,) = (tmp_path / "f" / "first").glob("*.attempt.json")
    found = read_attempt(attempt)
    assert (found.outcome, found.reason) == (Outcome.WORKER_LOST, "the worker is gone")
    kinds = [(file.node, file.kind) for file in files_of(tmp_path / "f")]
    assert kinds.count(("n1", FileKind.RUN)) == 3
    soon(lambda: hosts.running("first") == {})


def test_when_an_sshd_is_killed_a_sweep_has_the_bytes_of_one_machine(
    hosts: SshHosts, invoke: Invoke, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow", reason="isthmus[sim] is not installed")
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    assert invoke("sim", "sweep", *AXES, "-o", str(here)).code == 0
    names = str(hosts.file("n1", "second", "stranger", "bare"))
    command = [*PROGRAM, "sim", "sweep", *AXES, "--hosts", names, "-o", str(there)]
    with interruptible(hosts.reaching(command), os.environ | hosts.environment()) as process:
        journal = there.with_name("there.parquet.journal")
        soon(lambda: journal.exists() and journal.read_text("utf-8").count("\n") > 3)
        hosts.kill_sshd("second")
        _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    for node in ("stranger", "bare"):
        assert f"not used: {node}: {REASONS[node]}" in err
    assert "simulating on 2 workers, " in err
    assert "lost: the worker at second; its work is done again\n" in err
    assert there.read_bytes() == here.read_bytes()


def test_without_any_host_a_sweep_is_refused_and_leaves_nothing(
    hosts: SshHosts, tmp_path: Path
) -> None:
    file = tmp_path / "s.parquet"
    names = str(hosts.file("stranger", "gone"))
    done = run(hosts, "sim", "sweep", *AXES, "--hosts", names, "-o", str(file))
    assert done.code == 2
    assert "error: there is no worker\nhint: each host is named above, with why\n" in done.err
    assert list(tmp_path.iterdir()) == []
