"""Collecting from nodes that a test plays: no process, no network, no waiting."""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from fakes import runs
from isthmus.errors import WriteError
from isthmus.fleet.check import check_fleet
from isthmus.fleet.collecting import GRACE_S, Collected, Collector, Request
from isthmus.fleet.measured import read_fleet
from isthmus.fleet.task import Answer, Answers, Outcome, Task, read_attempt
from isthmus.measure.run.folder import FileKind, files_of
from isthmus.measure.run.store import run_text

Reply = str | BaseException | None
GPUS = {
    "schema_version": 1,
    "emulated": False,
    "checks": [
        {"name": "driver", "status": "ok", "finding": "CUDA 13.0", "facts": {}},
        {"name": "gpu 0", "status": "ok", "finding": "Test GPU", "facts": {"ordinal": 0}},
        {"name": "gpu 1", "status": "ok", "finding": "Test GPU", "facts": {"ordinal": 1}},
    ],
}


class PlayedNodes:
    """Nodes whose answers a function gives; None is no answer, and an hour passes."""

    def __init__(self, names: Sequence[str], reply: Callable[[str, Task], Reply]) -> None:
        self._names, self._reply = names, reply
        self.diagnosis: str = json.dumps(GPUS)
        self.asked: list[tuple[str, Task]] = []
        self.forgotten: list[int] = []
        self.lost: set[str] = set()
        self.now = 0.0
        self.time_of_day = runs.run().run.finished_at
        self._ready: list[tuple[int, str | BaseException]] = []
        self._last = 0

    def names(self) -> Sequence[str]:
        return self._names

    def ask(self, node: str, function: str, text: str) -> int:
        self._last += 1
        reply: Reply = self.diagnosis
        if function == "measure":
            task = Task.model_validate_json(text)
            self.asked.append((node, task))
            reply = self._reply(node, task)
        if reply is not None:
            self._ready.append((self._last, reply))
        return self._last

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        del timeout_s
        ready, self._ready = self._ready, []
        if not ready:
            self.now += 3600
        return ready

    def is_lost(self, node: str) -> bool:
        return node in self.lost

    def forget(self, question: int) -> None:
        self.forgotten.append(question)


def good(node: str, task: Task) -> str:
    del node
    text = run_text(runs.run())
    answers = [Answer(device=device, outcome=None, run=text) for device in task.devices]
    return Answers(answers=answers).model_dump_json()


def request(*, at_once: bool = False, devices: Sequence[str] = ()) -> Request:
    task = Task(suites=[], tests=[], devices=list(devices), at_once=at_once, timeout_s=60)
    return Request(task=task, repeats=2)


def collect(
    folder: Path, nodes: PlayedNodes, wanted: Request | None = None
) -> tuple[Collected, list[str]]:
    said: list[str] = []
    collector = Collector(
        nodes=nodes,
        folder=folder,
        request=wanted or request(),
        say=said.append,
        clock=lambda: nodes.now,
        now=lambda: nodes.time_of_day,
    )
    return collector.collect(), said


def outcomes(folder: Path, node: str) -> list[tuple[Outcome, str]]:
    attempts = [
        read_attempt(file.path)
        for file in files_of(folder)
        if file.kind == FileKind.ATTEMPT and file.node == node
    ]
    return [(attempt.outcome, attempt.reason) for attempt in attempts]


def test_every_gpu_of_every_node_is_measured_as_often_as_wanted(tmp_path: Path) -> None:
    nodes = PlayedNodes(["a", "b"], good)
    collected, said = collect(tmp_path, nodes)
    assert (collected.runs, collected.attempts) == (8, 0)
    of_a = [(task.devices, task.number) for node, task in nodes.asked if node == "a"]
    assert of_a == [(["0"], 1), (["1"], 1), (["0"], 2), (["1"], 2)]
    assert "a, GPU 1: run 2 of 2" in said
    assert {file.node for file in files_of(tmp_path)} == {"a", "b"}
    assert (tmp_path / "a" / "doctor.json").exists()


def test_all_gpus_of_a_node_are_measured_at_once_on_request(tmp_path: Path) -> None:
    nodes = PlayedNodes(["a"], good)
    collect(tmp_path, nodes, request(at_once=True))
    assert [task.devices for _, task in nodes.asked] == [["0"], ["1"], ["0", "1"]] * 2


def test_a_node_without_a_gpu_is_a_result_and_the_emulated_one_is_not_measured_instead(
    tmp_path: Path,
) -> None:
    nodes = PlayedNodes(["a"], good)
    nodes.diagnosis = json.dumps(GPUS | {"emulated": True})
    collected, _ = collect(tmp_path, nodes)
    assert (collected.runs, nodes.asked) == (0, [])
    assert outcomes(tmp_path, "a")[0][0] == Outcome.NO_DEVICE


def test_a_device_that_was_named_is_measured_even_without_a_diagnosis(tmp_path: Path) -> None:
    nodes = PlayedNodes(["a"], good)
    nodes.diagnosis = ""
    collected, said = collect(tmp_path, nodes, request(devices=["emulated"]))
    assert collected.runs == 2
    assert said[0].startswith("a: no diagnosis: ")


@pytest.mark.parametrize(
    ("reply", "outcome", "reason"),
    [
        ("{", Outcome.GARBAGE, "Invalid JSON"),
        ('{"answers": [], "more": 1}', Outcome.GARBAGE, "Extra inputs"),
        (RuntimeError("no\nmemory"), Outcome.FAILED, r"RuntimeError: no\nmemory"),
    ],
)
def test_what_a_node_answers_instead_of_runs_is_kept_and_the_others_go_on(
    tmp_path: Path, reply: str | BaseException, outcome: Outcome, reason: str
) -> None:
    nodes = PlayedNodes(["a", "b"], lambda node, task: reply if node == "a" else good(node, task))
    collected, _ = collect(tmp_path, nodes)
    assert collected.runs == 4
    assert all(found == outcome and reason in why for found, why in outcomes(tmp_path, "a"))
    assert outcomes(tmp_path, "a") != []


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "it isn't JSON"), ('{"schema_version": 9, "results": []}', "schema 9")],
)
def test_a_run_that_is_none_is_garbage(tmp_path: Path, text: str, reason: str) -> None:
    def reply(node: str, task: Task) -> str:
        del node, task
        return Answers(answers=[Answer(device="0", outcome=None, run=text)]).model_dump_json()

    collected, _ = collect(tmp_path, PlayedNodes(["a"], reply), request(devices=["0"]))
    assert (collected.runs, collected.attempts) == (0, 2)
    assert all(reason in why for _, why in outcomes(tmp_path, "a"))


def test_the_id_of_a_run_leads_to_no_other_folder(tmp_path: Path) -> None:
    run = runs.run()
    hostile = run.model_copy(update={"run": run.run.model_copy(update={"id": "/../../x" * 50})})
    text = run_text(hostile)

    def reply(node: str, task: Task) -> str:
        del node, task
        return Answers(answers=[Answer(device="0", outcome=None, run=text)]).model_dump_json()

    collect(tmp_path / "fleet", PlayedNodes(["a"], reply), request(devices=["0"]))
    (kept,) = (tmp_path / "fleet" / "a").glob("2*.json")
    assert kept.read_text("utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["fleet"]


def test_a_timeout_on_the_node_leaves_a_note_and_the_repeats_go_on(tmp_path: Path) -> None:
    def reply(node: str, task: Task) -> str:
        if task.number == 2:
            return good(node, task)
        late = Answer(device="0", outcome=Outcome.TIMED_OUT, reason="no end within 60 s")
        return Answers(answers=[late]).model_dump_json()

    collected, _ = collect(tmp_path, PlayedNodes(["a"], reply), request(devices=["0"]))
    assert (collected.runs, collected.attempts) == (1, 1)
    assert outcomes(tmp_path, "a") == [(Outcome.TIMED_OUT, "no end within 60 s")]


def test_a_node_that_never_answers_is_given_up_and_asked_no_more(tmp_path: Path) -> None:
    nodes = PlayedNodes(["a", "b"], lambda node, task: None if node == "a" else good(node, task))
    collected, _ = collect(tmp_path, nodes, request(devices=["0"]))
    assert collected.runs == 2
    assert outcomes(tmp_path, "a") == [(Outcome.TIMED_OUT, "the worker gave no answer")]
    assert len(nodes.forgotten) == 1
    assert nodes.now > 60 + GRACE_S


def test_a_worker_that_dies_is_noticed_before_its_time_is_over(tmp_path: Path) -> None:
    nodes = PlayedNodes(["a"], lambda _node, _task: nodes.lost.add("a"))
    collect(tmp_path, nodes, request(devices=["0"]))
    assert outcomes(tmp_path, "a") == [(Outcome.WORKER_LOST, "the worker is gone")]
    assert len(nodes.asked) == 1


def test_a_host_that_could_not_be_reached_leaves_a_note(tmp_path: Path) -> None:
    collector = Collector(
        nodes=PlayedNodes([], good), folder=tmp_path, request=request(), say=lambda _: None
    )
    collector.missing("gone", "ssh ended with exit code 255")
    assert outcomes(tmp_path, "gone") == [(Outcome.WORKER_LOST, "ssh ended with exit code 255")]


def dated(text: str, ahead: timedelta) -> str:
    run = runs.run()
    times = {"started_at": run.run.started_at + ahead, "finished_at": run.run.finished_at + ahead}
    other = run.model_copy(update={"run": run.run.model_copy(update=times)})
    return text.replace(json.dumps(run_text(run)), json.dumps(run_text(other)))


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (1.0, "ahead of"),
        pytest.param(-2.0, "behind", marks=pytest.mark.long),
        pytest.param(0.0, "", marks=pytest.mark.long),
        (0.01, ""),
    ],
)
def test_a_clock_that_differs_is_said_once_and_the_runs_are_kept(
    tmp_path: Path, hours: float, said: str
) -> None:
    def reply(node: str, task: Task) -> str:
        return dated(good(node, task), timedelta(hours=hours if node == "odd" else 0))

    collected, lines = collect(tmp_path, PlayedNodes(["odd", "other"], reply))
    assert (collected.runs, collected.attempts) == (8, 0)
    found = [line for line in lines if "clock" in line]
    assert len(found) == bool(said)
    assert all(line.startswith("odd: its clock is ") and said in line for line in found)


@pytest.mark.long
def test_a_clock_that_differs_is_a_finding_and_changes_no_other(tmp_path: Path) -> None:
    def reply(node: str, task: Task) -> str:
        text = good(node, task)
        text = dated(text, timedelta(days=9)) if node == "n3" else text
        return text.replace("GPU-00000000", f"GPU-0000000{node[-1]}")

    collect(tmp_path, PlayedNodes([f"n{number}" for number in range(6)], reply), request())
    found = {p.node: p.findings for p in check_fleet(read_fleet(files_of(tmp_path))).patients}
    (said,) = set(found.pop("n3")) - set(found["n1"])
    assert said.startswith("its clock is ")
    assert len(set(found.values())) == 1


def test_two_nodes_that_answer_for_one_gpu_are_named(tmp_path: Path) -> None:
    collect(tmp_path, PlayedNodes(["a", "b"], good), request(devices=["0"]))
    health = check_fleet(read_fleet(files_of(tmp_path)))
    findings = {one.node: one.findings for one in health.patients}
    for node in ("a", "b"):
        assert "one GPU was measured as a and b at the same time" in findings[node]


def test_a_link_in_place_of_a_nodes_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fleet").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "fleet" / "a").symlink_to("../elsewhere")
    nodes = PlayedNodes(["a"], lambda *_: None)
    with pytest.raises(WriteError, match="it is a link, which may lead anywhere"):
        collect(tmp_path / "fleet", nodes, request(devices=["0"]))
    assert list((tmp_path / "elsewhere").iterdir()) == []
