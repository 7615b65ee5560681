"""What a copy of exec comes after is what the driver's comes after, and it holds nobody else up."""

import pytest

from preloading import EXEC, Place


@pytest.fixture(scope="session")
def order(place: Place) -> object:
    return place.compile("order.c")


AFTER = [
    ("free", "free"),
    ("blocking", "blocking"),
    ("legacy", "legacy"),
    ("null", "null"),
    ("legacy", "blocking"),
    ("null", "per_thread"),
    ("blocking", "null"),
]
BESIDE = [("free", "null"), ("null", "free"), ("free", "blocking"), ("blocking", "free")]


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("direction", ["down", "up"])
@pytest.mark.parametrize(("held", "stream"), AFTER)
def test_a_copy_comes_after_and_holds_up_nobody_else(
    place: Place, order: object, held: str, stream: str, direction: str, warm: bool
) -> None:
    settings = {"WARM": "1"} if warm else {}
    counters = place.like_the_driver(order, direction, held, stream, **settings).only
    assert counters.sum("replaced") == counters.sum("calls", "cuMemcpy", source="pageable") + (
        counters.sum("calls", "cuMemcpy", target="pageable")
    )


@pytest.mark.parametrize(("held", "stream"), BESIDE)
def test_a_copy_does_not_wait_for_what_it_does_not_come_after(
    place: Place, order: object, held: str, stream: str
) -> None:
    assert place.like_the_driver(order, "beside", held, stream).only.sum("replaced") == 1


def test_the_stream_of_a_thread_is_its_own(place: Place, order: object) -> None:
    assert place.like_the_driver(order, "own").only.sum("replaced") == 1


@pytest.mark.parametrize("size", [64 << 10, 2 << 20])
def test_an_upload_that_is_read_at_once_does_not_wait(
    place: Place, order: object, size: int
) -> None:
    """Nor does it under watch alone: the program would wait for itself."""
    settings = {"ISTHMUS_EXEC_UP": "1"}
    executed = place.like_the_driver(order, "few", size, **settings)
    assert executed.only.sum("replaced") == 0
    watched = place.watched([order, "few", size])
    assert watched.outcome == executed.outcome
    assert watched.only.sum("hidden", "cuMemcpy") == 0


@pytest.mark.parametrize("direction", ["down", "up"])
def test_watching_alone_waits_for_nothing_more(place: Place, order: object, direction: str) -> None:
    command = [order, direction, "null", "blocking"]
    watched = place.watched(command)
    assert watched.outcome == place.plain(command, EXEC)
    counters = watched.only
    assert counters.sum("hidden", "cuMemcpy") == counters.sum("calls", "cuMemcpy") - (
        counters.sum("calls", "cuMemcpyDtoH_v2")  # of what the program reads at its end
    )
