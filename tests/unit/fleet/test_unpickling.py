"""What Dask may unpickle here, and that a hostile worker runs nothing in the process that asks."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isthmus.fleet.dask_asking import RefusedPickleError, nothing_unpickled


class Made:
    """Unpickled, it calls something."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._made = function, arguments

    def __reduce__(self) -> Any:  # noqa: ANN401 - as pickle wants it
        return self._made


@pytest.mark.parametrize("value", ["text", 1, [b"bytes", None], {"a": 1.5}, str, ValueError])
def test_text_and_errors_are_read(value: object) -> None:
    data = pickle.dumps(value)
    with nothing_unpickled():
        assert pickle.loads(data) == value  # noqa: S301 - ours


@pytest.mark.parametrize("function", [os.system, eval, getattr, exec, __import__, SystemExit])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_else_is(function: Callable[..., object], protocol: int) -> None:
    evil = pickle.dumps([Made(function, "1")], protocol)
    with nothing_unpickled(), pytest.raises(RefusedPickleError, match="is no text: it names"):
        pickle.loads(evil)  # noqa: S301 - the question is whether it runs


def test_afterwards_everything_is_as_before() -> None:
    with nothing_unpickled():
        pass
    assert pickle.loads(pickle.dumps(Path("a"))) == Path("a")  # noqa: S301 - ours


# What a hostile worker preloads: what it gives back runs code where it is unpickled.
_EVIL = """
import os, isthmus.fleet.worker as worker, isthmus.fleet.answering as answering
class Evil:
    def __reduce__(self): return os.system, ("echo $PPID >> {flag}",)
class Raised(Exception):
    def __reduce__(self): return os.system, ("echo $PPID >> {flag}",)
def answer(text): return Evil()
def fail(text): raise Raised()
def dask_setup(_):
    worker.introduce = {introduce}
    answering.answer_text = {answer}
"""
# A scheduler and a worker in one process, which ends with its input.
_CLUSTER = """
import sys, distributed
with distributed.LocalCluster(
    1, processes=False, threads_per_worker=1, dashboard_address=None, protocol="tcp",
    host="127.0.0.1", worker_dashboard_address=None, preload=[sys.argv[1]],
) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("introduce", "ask", "said"),
    [
        pytest.param("answer", "fail", "no text: it names posix.system", marks=pytest.mark.long),
        pytest.param("fail", "fail", "its log has it", marks=pytest.mark.long),
        ("worker.introduce", "answer", "failed: what came back is no text: it names posix.system"),
        ("worker.introduce", "fail", "failed: an error, and its log has it"),
    ],
)
def test_a_hostile_worker_of_a_scheduler_runs_nothing_here(
    tmp_path: Path, introduce: str, ask: str, said: str
) -> None:
    pytest.importorskip("distributed", reason="isthmus[scale] is not installed")
    from isthmus.errors import UsageError
    from isthmus.fleet.collecting import Collector, Request
    from isthmus.fleet.nodes import nodes_of
    from isthmus.fleet.task import Task

    flag, evil = tmp_path / "ran", tmp_path / "evil.py"
    evil.write_text(_EVIL.format(flag=flag, introduce=introduce, answer=ask))
    task = Task(suites=[], tests=[], devices=["emulated"], timeout_s=60)
    lines: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-c", _CLUSTER, str(evil)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as cluster:
        assert cluster.stdout is not None
        address = cluster.stdout.readline().strip()
        try:
            with nodes_of(address) as nodes:
                request = Request(task=task, repeats=1)
                Collector(nodes=nodes, folder=tmp_path, request=request, say=lines.append).collect()
        except UsageError as error:
            lines.append(str(error))
        assert cluster.stdin is not None
        cluster.stdin.close()
    assert said in lines[-1]
    # Dask unpickles an error in the worker itself, too.
    assert not flag.exists() or str(os.getpid()) not in flag.read_text().split()
