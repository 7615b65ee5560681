"""Nodes: processes on this machine, hosts behind a fake `ssh`, workers of a scheduler."""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from isthmus.cli.fleet.places import Place
from isthmus.errors import Unavailable, UsageError
from isthmus.fleet import dask_asking
from isthmus.fleet.asking import introductions
from isthmus.fleet.check import check_fleet
from isthmus.fleet.collecting import Collector, Request
from isthmus.fleet.dask_asking import check_address
from isthmus.fleet.health import Verdict
from isthmus.fleet.measured import read_fleet
from isthmus.fleet.nodes import AskedNodes, nodes_of
from isthmus.fleet.processes import here, processes
from isthmus.fleet.task import Introduction, Outcome, Task, read_attempt
from isthmus.measure.run.folder import FileKind, files_of

TASK = Task(
    suites=[],
    tests=["host_to_device_memcpy_ce"],
    sizes="4",
    devices=["emulated"],
    timeout_s=120,
)
# What a fake ssh does: it runs the command here, unless the host is "bad".
_SSH = """#!/bin/sh
while [ "$1" != "--" ]; do shift; done
if [ "$2" = bad ]; then echo "ssh: connect to host bad: Connection refused" >&2; exit 255; fi
exec sh -c "exec $3"
"""


def places(workers: int = 1, hosts: Path | None = None) -> Place:
    return Place(workers=workers, scheduler=None, hosts=hosts, python=sys.executable)


class KillsAWorker:
    """Nodes of which one's worker is killed as soon as it was asked to measure."""

    def __init__(self, nodes: AskedNodes, victim: str, process: int) -> None:
        self._nodes, self._victim, self._process = nodes, victim, process

    def names(self) -> Sequence[str]:
        return self._nodes.names()

    def ask(self, node: str, function: str, text: str) -> int:
        question = self._nodes.ask(node, function, text)
        if (node, function) == (self._victim, "measure"):
            os.kill(self._process, signal.SIGKILL)
        return question

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        return self._nodes.answers(timeout_s)

    def is_lost(self, node: str) -> bool:
        return self._nodes.is_lost(node)

    def forget(self, question: int) -> None:
        self._nodes.forget(question)


@pytest.mark.long
@pytest.mark.native
def test_a_worker_that_is_killed_is_a_result_and_the_other_goes_on(tmp_path: Path) -> None:
    with processes({f"local-{index}": here(1) for index in range(2)}) as asking:
        nodes = AskedNodes(asking, {name: name for name in asking.threads()})
        victim = asking.processes()["local-0"]
        Collector(
            nodes=KillsAWorker(nodes, "local-0", victim),
            folder=tmp_path,
            request=Request(task=TASK, repeats=1),
            say=lambda _: None,
        ).collect()
    kinds = [(file.node, file.kind) for file in files_of(tmp_path)]
    assert ("local-1", FileKind.RUN) in kinds
    assert ("local-0", FileKind.RUN) not in kinds
    (attempt,) = (tmp_path / "local-0").glob("*.attempt.json")
    assert read_attempt(attempt).outcome == Outcome.WORKER_LOST


def sockets(process: int) -> set[str]:
    fds = Path(f"/proc/{process}/fd").iterdir()
    # The folder's own is closed by now.
    files = {str(fd.readlink()) for fd in fds if os.path.lexists(fd)}
    return {file for file in files if file.startswith("socket:")}


@pytest.mark.native
def test_workers_have_no_socket_that_anybody_could_reach() -> None:
    before = sockets(os.getpid())
    with processes({"local": here(1)}) as asking:
        (worker,) = asking.processes().values()
        assert sockets(worker) == set()
        assert sockets(os.getpid()) == before


class OddNodes(AskedNodes):
    """Nodes that one worker plays, of which some have another emulated device."""

    def __init__(self, nodes: AskedNodes, devices: dict[str, str]) -> None:
        (address,) = nodes.names()
        super().__init__(nodes._asking, dict.fromkeys(devices, address))
        self._devices = devices

    def called(self, node: str, function: str, text: str) -> tuple[Callable[[str], str], str]:
        if function == "measure":
            task = Task.model_validate_json(text)
            task = task.model_copy(update={"devices": [self._devices[node]]})
            text = task.model_dump_json()
        return super().called(node, function, text)


@pytest.mark.long
@pytest.mark.native
def test_a_gpu_that_vanishes_is_wrong_and_a_driver_without_one_is_a_dead_node(
    tmp_path: Path,
) -> None:
    devices = {f"n{index}": "emulated" for index in range(4)}
    devices |= {"n4": "emulated:vanishing", "n5": "emulated:no-gpu"}
    long = TASK.model_copy(update={"sizes": "4,64,1KiB,64KiB"})
    with places().nodes() as (nodes, _):
        assert isinstance(nodes, AskedNodes)
        Collector(
            nodes=OddNodes(nodes, devices),
            folder=tmp_path,
            request=Request(task=long, repeats=1),
            say=lambda _: None,
        ).collect()
    health = check_fleet(read_fleet(files_of(tmp_path)))
    assert [(one.node, one.verdict) for one in health.bad] == [
        ("n5", Verdict.DEAD),
        ("n4", Verdict.WRONG),
    ]
    assert health.count(Verdict.OK) == 4
    dead, wrong = health.bad
    assert dead.findings[0].startswith("no device: ")
    assert "CUDA_ERROR_UNKNOWN" in wrong.findings[0] or "999" in wrong.findings[0]


@pytest.mark.long
@pytest.mark.native
def test_hosts_are_reached_by_ssh_and_one_that_is_not_is_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(_SSH)
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    hosts = tmp_path / "hosts"
    hosts.write_text("user@good\nbad\n")
    with places(hosts=hosts).nodes() as (nodes, missing):
        assert list(nodes.names()) == ["good"]
        assert dict(missing) == {
            "bad": "ssh ended with exit code 255: ssh: connect to host bad: Connection refused"
        }
        Collector(
            nodes=nodes,
            folder=tmp_path / "fleet",
            request=Request(task=TASK, repeats=1),
            say=lambda _: None,
        ).collect()
    assert ("good", FileKind.RUN) in [(f.node, f.kind) for f in files_of(tmp_path / "fleet")]


@pytest.mark.parametrize(
    "address", ["tls://10.0.0.1:8786", "tcp://127.0.0.1:8786", "tcp://[::1]:1"]
)
def test_an_encrypted_address_or_one_of_this_machine_is_allowed(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://10.0.0.1:8786", "isn't encrypted"),
        ("tcp://node.example:8786", "isn't encrypted"),
        ("ucx://10.0.0.1:1", "is no address"),
        ("10.0.0.1:8786", "is no address"),
        ("tls://host", "is no address"),
        ("tls://host:port", "is no address"),
    ],
)
def test_an_address_that_others_could_read_is_refused(address: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check_address(address)


def test_a_scheduler_that_does_not_answer_is_a_clear_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("distributed", reason="isthmus[scale] is not installed")
    monkeypatch.setattr(dask_asking, "_CONNECT_S", 0.1)
    with (
        pytest.raises(UsageError, match=r"no scheduler answers at tcp://127.0.0.1:1"),
        nodes_of("tcp://127.0.0.1:1"),
    ):
        pass


class Answering:
    """Workers that introduce themselves in one way."""

    def __init__(self, answer: str | BaseException) -> None:
        self._answer = answer

    def introductions(self, addresses: Sequence[str]) -> dict[str, str | BaseException]:
        return dict.fromkeys(addresses, self._answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            Introduction(hostname="n1", isthmus_version="9.9").model_dump_json(),
            r"n1 \(tcp://127.0.0.1:5\) has isthmus 9.9, and this is ",
        ),
        (ModuleNotFoundError("No module named 'isthmus'"), "can't run isthmus: ModuleNotFound"),
        (ConnectionResetError("Reset by peer"), "can't be reached: ConnectionResetError: Reset"),
        ("{", "has another isthmus"),
    ],
)
def test_workers_of_another_version_are_refused_and_named(
    answer: str | BaseException, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        introductions(Answering(answer), ["tcp://127.0.0.1:5"])  # type: ignore[arg-type]  # a part


def test_without_dask_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(Unavailable, match=r"pip install 'isthmus\[scale\]'"):
        dask_asking.check_dask()
