"""Where exec leaves a copy to the driver: errors, captures, other contexts."""

import pytest

from preloading import EXEC, Place


@pytest.mark.parametrize(("what", "replaced"), [("refused", 1), ("readable", 1), ("broken", 1)])
def test_a_program_gets_the_drivers_own_errors(place: Place, what: str, replaced: int) -> None:
    """And the bytes, around the target, too, are those that the driver leaves."""
    watched = place.like_the_driver(place.compile("errors.c"), what)
    assert watched.outcome.code == 0
    assert watched.only.sum("replaced") == replaced


@pytest.mark.parametrize(
    "what", ["unmapped", "unreadable", "read_only", "truncated", "truncated_target"]
)
def test_memory_that_must_not_be_touched_ends_a_program_as_before(place: Place, what: str) -> None:
    watched = place.like_the_driver(place.compile("errors.c"), what)
    assert watched.outcome.code < 0
    assert "can be" in watched.only.header["exec_reason"]


@pytest.mark.parametrize(
    ("what", "replaced"),
    [
        ("global", 2),
        ("local", 2),
        ("relaxed", 2),
        ("blocking", 2),
        ("inside", 2),
        ("own", 2),
        ("invalidated", 2),
        ("destroyed", 2),
    ],
)
def test_nothing_is_replaced_or_waited_for_while_a_stream_is_captured(
    place: Place, what: str, replaced: int
) -> None:
    """Captures end as they would, and then copies are replaced again."""
    watched = place.like_the_driver(place.compile("captures.c"), what)
    assert watched.only.sum("replaced") == replaced
    assert watched.only.sum("captured") == (2 if what in {"inside", "own"} else 0)
    assert place.watched([place.compile("captures.c"), what]).outcome == watched.outcome


@pytest.mark.parametrize("call", ["cuStreamSynchronize", "cuEventSynchronize", "cuEventRecord"])
def test_a_capture_that_begins_during_the_wait_is_not_disturbed(place: Place, call: str) -> None:
    watched = place.like_the_driver(place.compile("captures.c"), "wait", call)
    assert watched.outcome.out == "down: 0\nstatus 1\nmode 0\n"
    assert watched.only.sum("replaced") == 1


@pytest.mark.parametrize(
    ("what", "replaced"), [("created", 4), ("foreign", 0), ("reset", 2), ("retained_again", 2)]
)
def test_copies_in_the_primary_context_alone_are_replaced(
    place: Place, what: str, replaced: int
) -> None:
    assert place.like_the_driver(place.compile("contexts.c"), what).only.sum("replaced") == replaced


def test_a_reset_ends_all_replacing(place: Place) -> None:
    watched = place.watched([place.compile("contexts.c"), "reset"], EXEC)
    assert "reset a device" in watched.only.header["exec_reason"]
    assert watched.only.header["exec_failed"] == 0


def test_each_of_two_gpus_has_its_own_copies(place: Place) -> None:
    """Another device's memory, than that of the current context, is the driver's business."""
    watched = place.like_the_driver(place.compile("contexts.c"), "two", PROFILE="two-gpus")
    assert watched.only.sum("replaced") == 6
