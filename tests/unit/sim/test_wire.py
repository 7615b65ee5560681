"""Points as text and their answers: what crosses to another process, and what is refused."""

import json
import os
from pathlib import Path

import pytest

from isthmus.errors import Deadlock, UsageError
from isthmus.sim.axes import points, read_axes
from isthmus.sim.library import Library
from isthmus.sim.points import Base, SweepPoint, build_points
from isthmus.sim.result import empty_result
from isthmus.sim.running import open_source
from isthmus.sim.trace.file import record_trace
from isthmus.sim.wire import Elsewhere, numbers_of, run_text, run_texts, text_of

pytestmark = pytest.mark.native
BASE = Base(workload="cp", machine="paper-gtx480", policy="ranges", seed=3, settings={})


def point(*axes: str, workload: str = "cp") -> SweepPoint:
    base = Base(**{**vars(BASE), "workload": workload})
    (built,) = build_points(base, points(read_axes(axes)))
    return built


def changed(text: str, **parts: object) -> str:
    return json.dumps(json.loads(text) | parts)


def test_a_point_that_was_run_from_text_has_the_numbers_of_one_that_was_run_here() -> None:
    one = point("policy.unit=4KiB", "link.bandwidth=24GB/s")
    here = Library().run(one, lambda: True).flat()
    numbers = numbers_of(run_text(text_of(one)))
    assert json.dumps(numbers) == json.dumps({"modelled": True, "error": None, **here})


def test_a_point_that_fails_has_the_error_that_it_would_have_here() -> None:
    settings = {"options.eviction_kind": "block_64k", "partitions.memory": "128KiB"}
    base = Base(workload="nqu", machine="paper-gtx480", policy="bitmap", seed=0, settings=settings)
    (stuck,) = build_points(base, [{}])
    with pytest.raises(Deadlock) as caught:
        Library().run(stuck, lambda: True)
    numbers = numbers_of(run_text(text_of(stuck)))
    assert numbers == {"modelled": True, "error": str(caught.value)}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"command": "reboot"}'])
def test_a_text_that_is_no_simulation_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="this is no simulation: "):
        numbers_of(run_text(text))


@pytest.mark.parametrize(
    "parts",
    [{"command": "reboot"}, {"seed": -1}, {"setup": {}}, {"schema_version": 2}, {"workload": 1}],
)
def test_a_simulation_with_other_parts_is_refused(parts: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="this is no simulation: "):
        numbers_of(run_text(changed(text_of(point()), **parts)))


def test_another_version_is_refused_and_both_are_named() -> None:
    with pytest.raises(UsageError, match=r"isthmus \S+ is there, and the sweep is of 9\.9"):
        numbers_of(run_text(changed(text_of(point()), isthmus_version="9.9")))


def test_another_setup_than_the_key_says_is_refused() -> None:
    with pytest.raises(UsageError, match="isn't there, or is another file"):
        numbers_of(run_text(changed(text_of(point()), seed=4)))


def test_a_trace_is_found_by_its_whole_path_and_one_that_has_changed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_trace(open_source("cp"), tmp_path / "cp.arrow")
    monkeypatch.chdir(tmp_path)
    text = text_of(point(workload="cp.arrow"))
    monkeypatch.chdir("/")
    assert numbers_of(run_text(text))["error"] is None
    os.utime(tmp_path / "cp.arrow", (1, 1))
    with pytest.raises(UsageError, match=r"cp\.arrow isn't there, or is another file"):
        numbers_of(run_text(text))


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({}, "other numbers"),
        ({**empty_result().flat(), "more": 1}, "other numbers"),
        ({**empty_result().flat(), "total_ps": 1.5}, "other numbers"),
        ({**empty_result().flat(), "total_ps": True}, "no answer: numbers.total_ps"),
        ({**empty_result().flat(), "total_ps": "1"}, "no answer: numbers.total_ps"),
        ({**empty_result().flat(), "total_ps": 1 << 70}, "other numbers"),
    ],
)
def test_numbers_that_are_not_those_of_a_result_are_refused(
    numbers: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        numbers_of(json.dumps({"numbers": numbers}))


@pytest.mark.parametrize("text", ["", "None", '{"numbers": 3}', '{"answers": []}'])
def test_an_answer_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="what came back is no answer: "):
        numbers_of(text)


def test_numbers_are_read_in_the_order_of_a_result() -> None:
    numbers = empty_result().flat()
    backwards = dict(reversed(numbers.items()))
    found = numbers_of(json.dumps({"numbers": backwards}))
    assert list(found) == ["modelled", "error", *numbers]


def test_an_error_that_nobody_expected_crosses_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(Library, "run", broken)
    with pytest.raises(UsageError, match="MemoryError: no room"):
        numbers_of(run_text(text_of(point())))


def test_points_are_run_elsewhere_in_any_order() -> None:
    given = build_points(BASE, points(read_axes(["seed=0..2"])))
    stop = lambda: False  # noqa: E731 - to compare it

    def backwards(works, read, should_stop):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        assert should_stop is stop
        assert [label for label, _, _ in works] == ["seed=0", "seed=1", "seed=2"]
        # Each seed has its own trace.
        assert len({kin for _, _, kin in works}) == 3
        for index in reversed(range(3)):
            yield index, read(json.dumps({"error": json.loads(works[index][1])["key"]}))

    found = list(Elsewhere(backwards).finished(given, stop))
    assert [one for one, _ in found] == given[::-1]
    assert [numbers["error"] for _, numbers in found] == [one.key for one in given[::-1]]


def test_points_are_of_one_kin_if_they_need_the_same_trace() -> None:
    given = build_points(BASE, points(read_axes(["policy=tree,ranges", "workload=cp,bfs"])))
    kins: list[str] = []

    def nothing(works, *_):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        kins.extend(kin for _, _, kin in works)
        return iter(())

    assert list(Elsewhere(nothing).finished(given, lambda: False)) == []
    programs = [one.workload for one in given]
    assert len(set(kins)) == 2
    assert len(set(zip(kins, programs, strict=True))) == 2


def test_several_points_are_answered_in_their_order() -> None:
    texts = [text_of(point("seed=1")), "{", text_of(point("seed=2"))]
    first, refused, last = json.loads(run_texts(json.dumps(texts)))
    assert (first, last) == (run_text(texts[0]), run_text(texts[2]))
    with pytest.raises(UsageError, match="this is no simulation"):
        numbers_of(refused)


@pytest.mark.parametrize("text", ["", "{}", "[3]", '"a"', '["a", null]'])
def test_what_is_no_list_of_simulations_is_refused(text: str) -> None:
    (refused,) = json.loads(run_texts(text))
    with pytest.raises(UsageError, match="this is no list of simulations"):
        numbers_of(refused)
