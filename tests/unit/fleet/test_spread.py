"""Spreading works over workers that a test plays: no process, no network, no waiting."""

import json
from collections.abc import Callable, Iterable, Mapping

import pytest

from isthmus.errors import Error, UsageError
from isthmus.fleet.spread import MAX_LOSSES, Spread, Work

WORKS = [Work(f"number {number}", str(number)) for number in range(8)]
Reply = str | BaseException | None


class PlayedWorkers:
    """
    Workers that answer one question each in `seconds`, in order.

    `reply` gives a worker's answer to a text; None if the worker is lost in that moment.
    """

    def __init__(
        self,
        threads: Mapping[str, int],
        reply: Callable[[str, str], Reply],
        seconds: float = 1,
    ) -> None:
        self._seconds = seconds
        self.here = dict(threads)
        self.now = 0.0
        self.asked: list[tuple[str, str]] = []
        self.questions: list[list[str]] = []
        self.forgotten: list[int] = []
        self.joining: list[str] = []
        self._reply = reply
        self._open: dict[int, tuple[str, str]] = {}
        self.most_open = 0

    def threads(self) -> Mapping[str, int]:
        return dict(self.here)

    def ask(self, worker: str, text: str) -> int:
        self.asked += [(worker, one) for one in json.loads(text)]
        self.questions.append(json.loads(text))
        self._open[len(self.questions)] = (worker, text)
        self.most_open = max(self.most_open, len(self._open))
        return len(self.questions)

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        assert timeout_s <= 0.1
        self.now += self._seconds
        for name in self.joining:
            self.here[name] = 1
        self.joining = []
        for worker in list(self.here):
            first = [number for number, one in self._open.items() if one[0] == worker][:1]
            for number in first:
                texts = json.loads(self._open[number][1])
                answers = [self._reply(worker, text) for text in texts]
                if None in answers:
                    # Started again, at another address.
                    del self.here[worker]
                    self.joining.append(f"{worker}'")
                    continue
                del self._open[number]
                raised = [one for one in answers if isinstance(one, BaseException)]
                yield number, raised[0] if raised else json.dumps(answers)

    def forget(self, question: int) -> None:
        self.forgotten.append(question)
        self._open.pop(question, None)


def right(_worker: str, text: str) -> Reply:
    return f"={text}"


def read(answer: str) -> int:
    if not answer.startswith("="):
        raise UsageError("what came back is no answer")
    return int(answer[1:])


def spread(
    workers: PlayedWorkers, should_stop: Callable[[], bool] = lambda: False
) -> tuple[dict[int, int], list[str]]:
    said: list[str] = []
    found: dict[int, int] = {}
    whole = Spread(workers=workers, say=said.append, clock=lambda: workers.now)
    for index, number in whole.results(WORKS, read, should_stop):
        assert index not in found
        found[index] = number
    return found, said


ALL = {number: number for number in range(8)}


def test_every_work_is_done_once_and_workers_have_one_more_than_they_do() -> None:
    workers = PlayedWorkers({"a": 1, "b": 2}, right)
    assert spread(workers) == (ALL, [])
    assert len(workers.asked) == 8
    assert workers.asked[:5] == [("a", "0"), ("a", "1"), ("b", "2"), ("b", "3"), ("b", "4")]
    assert workers.most_open == 5


def test_nothing_to_do_asks_nobody() -> None:
    workers = PlayedWorkers({}, right)
    assert list(Spread(workers=workers, say=print).results([], read, lambda: False)) == []


def test_what_was_under_way_when_a_worker_was_lost_is_done_again_after_the_rest() -> None:
    lost = []

    def reply(worker: str, text: str) -> Reply:
        if worker == "a" and text == "0":
            lost.append(text)
            return None
        return right(worker, text)

    workers = PlayedWorkers({"a": 1, "b": 1}, reply)
    found, said = spread(workers)
    assert (found, lost) == (ALL, ["0"])
    assert said == ["lost: the worker at a; its work is done again"]
    again = [text for _, text in workers.asked[4:]]
    # The lost worker was asked this one, too, and hadn't begun it: it comes next.
    assert "1" in again[:3]
    assert again[-1] == "0"
    assert "a'" in dict(workers.asked)


def test_a_work_that_loses_every_worker_is_given_up_and_the_others_are_done() -> None:
    def reply(worker: str, text: str) -> Reply:
        return None if text == "3" else right(worker, text)

    workers = PlayedWorkers({"a": 1, "b": 1}, reply)
    with pytest.raises(Error, match=r"1 point lost 4 workers each, .*; the first: number 3"):
        spread(workers)
    assert sum(text == "3" for _, text in workers.asked) == MAX_LOSSES
    assert {text for _, text in workers.asked} == set(map(str, range(8)))


@pytest.mark.parametrize(
    ("garbage", "said"),
    [
        ("?", "what came back is no answer"),
        (ModuleNotFoundError("No module named 'isthmus'"), "ModuleNotFoundError: No module named"),
        (RuntimeError("a\nb"), r"RuntimeError: a\nb"),
    ],
)
def test_a_worker_that_answers_with_garbage_is_asked_no_more_and_the_rest_goes_on(
    garbage: Reply, said: str
) -> None:
    workers = PlayedWorkers({"a": 1, "b": 1}, lambda w, t: garbage if w == "a" else right(w, t))
    found, lines = spread(workers)
    assert found == ALL
    assert [worker for worker, _ in workers.asked].count("a") == 2
    assert len(lines) == 1
    assert lines[0].startswith(f"asked no more: the worker at a: {said}")


def test_if_no_worker_can_be_used_the_last_reason_is_told() -> None:
    workers = PlayedWorkers({"a": 1, "b": 1}, lambda _worker, _text: "?")
    with pytest.raises(Error, match="no worker can be used; the last: what came back is no answer"):
        spread(workers)


def test_an_error_because_a_worker_was_lost_is_no_fault_of_its_answers() -> None:
    workers = PlayedWorkers({"a": 1, "b": 1}, right)

    def reply(worker: str, text: str) -> Reply:
        if (worker, text) == ("a", "0"):
            del workers.here["a"]
            return OSError("connection lost")
        return right(worker, text)

    workers._reply = reply
    assert spread(workers) == (ALL, ["lost: the worker at a; its work is done again"])


def test_without_workers_it_waits_a_minute_for_new_ones() -> None:
    workers = PlayedWorkers({"a": 1}, right)
    del workers.here["a"]
    with pytest.raises(Error, match="no worker was there for 60 s"):
        spread(workers)
    assert 60 < workers.now < 70


def test_a_worker_that_joins_is_used() -> None:
    workers = PlayedWorkers({}, right)
    workers.joining = ["late"]
    assert spread(workers)[0] == ALL


def test_when_it_should_stop_nobody_waits_for_what_is_under_way() -> None:
    workers = PlayedWorkers({"a": 1, "b": 1}, right)
    found, _ = spread(workers, lambda: workers.now >= 2)
    assert 0 < len(found) < 8
    assert len(workers.forgotten) == len(workers.asked) - len(found)


def test_short_works_are_asked_together_and_the_last_ones_alone() -> None:
    many = [Work(str(number), str(number)) for number in range(400)]
    workers = PlayedWorkers({"a": 1, "b": 1}, right, seconds=0.01)
    whole = Spread(workers=workers, say=print, clock=lambda: workers.now)
    found = dict(whole.results(many, read, lambda: False))
    assert found == {number: number for number in range(400)}
    sizes = [len(question) for question in workers.questions]
    assert sizes[:4] == [1, 1, 1, 1]
    assert 10 < max(sizes) <= 64
    assert sizes[-2:] == [1, 1]
    assert len(sizes) < 100


def test_works_of_one_kin_go_to_one_worker_until_it_has_none_to_begin() -> None:
    many = [Work(str(number), str(number), "xyz"[number % 3]) for number in range(300)]
    workers = PlayedWorkers({"a": 1, "b": 1}, right, seconds=0.01)
    whole = Spread(workers=workers, say=print, clock=lambda: workers.now)
    found = dict(whole.results(many, read, lambda: False))
    assert found == {number: number for number in range(300)}
    doers: dict[str, set[str]] = {}
    for worker, text in workers.asked:
        doers.setdefault("xyz"[int(text) % 3], set()).add(worker)
    # The third is begun by whoever ends first; the other one helps.
    assert (doers["x"], doers["y"], doers["z"]) == ({"a"}, {"b"}, {"a", "b"})


def test_what_was_lost_together_is_asked_alone_and_only_the_cause_is_given_up() -> None:
    many = [Work(str(number), str(number)) for number in range(100)]
    workers = PlayedWorkers(
        {"a": 1, "b": 1}, lambda w, t: None if t == "60" else right(w, t), seconds=0.01
    )
    said: list[str] = []
    whole = Spread(workers=workers, say=said.append, clock=lambda: workers.now)
    found: dict[int, int] = {}
    with pytest.raises(Error, match="1 point lost 4 workers each"):
        found.update(whole.results(many, read, lambda: False))
    having = [question for question in workers.questions if "60" in question]
    assert len(having[0]) > 1
    assert having[1:] == [["60"]] * 3


@pytest.mark.parametrize("answer", ["", "{}", "[]", '["=0", "=1"]', "3"])
def test_a_list_that_is_none_is_garbage(answer: str) -> None:
    class Odd(PlayedWorkers):
        def __init__(self) -> None:
            super().__init__({"a": 1, "b": 1}, right)
            self._asked_of: dict[int, str] = {}

        def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
            for number, found in super().answers(timeout_s):
                yield number, answer if self._asked_of[number] == "a" else found

        def ask(self, worker: str, text: str) -> int:
            number = super().ask(worker, text)
            self._asked_of[number] = worker
            return number

    found, said = spread(Odd())
    assert found == ALL
    assert said == [
        "asked no more: the worker at a: what came back is no list of answers",
    ]
