"""Which works a worker gets next, so that few make the same thing twice, and how many."""

from isthmus.fleet.waiting import Waiting

KINS = ["x", "y", "x", "y", "x", "z"]
BOTH = {"a": 1, "b": 1}
THREE = {"a": 1, "b": 1, "c": 1}


def test_a_worker_goes_on_with_the_kin_that_it_has_begun() -> None:
    waiting = Waiting(KINS)
    taken = [waiting.take(worker, BOTH) for worker in "abaabb"]
    assert taken == [(0,), (1,), (2,), (4,), (3,), (5,)]
    assert len(waiting) == 0


def test_a_worker_without_a_kin_of_its_own_helps_where_most_is_left_to_do() -> None:
    waiting = Waiting(["x"] * 4 + ["y"] * 4)
    for worker, index, seconds in (("a", 0, 1), ("b", 4, 2)):
        assert waiting.take(worker, THREE) == (index,)
        waiting.done((index,), seconds)
    assert waiting.take("c", THREE) == (5,)


def test_what_a_lost_worker_has_begun_is_nobodys_again() -> None:
    waiting = Waiting(["x", "x", "x", "y", "y"])
    waiting.take("a", THREE)
    waiting.take("b", THREE)
    # Without "b", which has begun it, "y" is new to all; of "x" more is left.
    assert waiting.take("c", {"a": 1, "c": 1}) == (4,)


def test_what_is_put_back_comes_next_and_what_is_put_last_comes_in_the_end() -> None:
    waiting = Waiting(["x"] * 4)
    for index in range(3):
        assert waiting.take("a", BOTH) == (index,)
    for index in (2, 1):
        waiting.put_back(index)
    waiting.put_last(0)
    assert len(waiting) == 4
    assert [waiting.take("a", BOTH) for _ in range(4)] == [(1,), (2,), (3,), (0,)]


def test_a_question_takes_two_seconds_by_what_others_of_its_kin_took() -> None:
    waiting = Waiting(["x"] * 200 + ["y"] * 200)
    for worker, each_s in (("a", 0.25), ("b", 0.125)):
        taken = waiting.take(worker, BOTH)
        waiting.done(taken, each_s * len(taken))
    assert len(waiting.take("a", BOTH)) == 8
    assert len(waiting.take("b", BOTH)) == 16


def test_of_kins_that_have_one_work_each_many_come_together() -> None:
    waiting = Waiting([str(index) for index in range(1000)])
    waiting.done(waiting.take("a", BOTH), 0.125)
    first = waiting.take("a", BOTH)
    assert first == tuple(range(1, 1 + len(first)))
    assert 10 < len(first) <= 16


def test_of_a_kin_that_nobody_has_timed_few_are_taken_and_nothing_with_them() -> None:
    waiting = Waiting(["x"] + ["y"] * 300 + ["z"] * 300)
    waiting.done(waiting.take("a", BOTH), 0.125)
    assert waiting.take("a", BOTH) == (1, 2, 3, 4)
    assert waiting.take("b", BOTH) == (301, 302, 303, 304)


def test_questions_become_small_near_the_end_and_none_has_more_than_64_works() -> None:
    waiting = Waiting(["x"] * 400)
    waiting.done(waiting.take("a", BOTH), 0.001)
    sizes = []
    while waiting:
        sizes.append(len(waiting.take("a", BOTH)))
    assert max(sizes) <= 64
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-4:] == [1, 1, 1, 1]
