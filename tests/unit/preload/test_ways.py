"""However a program reaches the driver, each copy is counted once."""

import pytest

from preloading import Place, libraries

UP, UP_ASYNC = "cuMemcpyHtoD_v2", "cuMemcpyHtoDAsync_v2"


@pytest.mark.parametrize(
    ("way", "copies"),
    [
        ("linked", {UP: 3}),
        ("by_name", {UP: 4}),
        ("by_resolver", {UP: 11, f"{UP}_ptds": 7, UP_ASYNC: 8}),
        ("by_default_handle", {UP: 19}),
    ],
)
def test_every_copy_is_seen(place: Place, way: str, copies: dict[str, int]) -> None:
    program = place.compile("ways.c")
    watched = place.watched([program, way])
    assert watched.outcome == place.plain([program, way])
    assert watched.outcome.out == "done\n"
    assert watched.only.copies() == copies
    assert watched.only.header["unwatched"] == ""


def test_a_program_for_per_thread_streams_is_counted_as_one(place: Place) -> None:
    program = place.compile(
        "ways.c", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM", name="ways_per_thread"
    )
    watched = place.watched([program, "linked"])
    assert watched.outcome.out == "done\n"
    assert watched.only.copies() == {f"{UP}_ptds": 3}


def test_a_library_that_is_bound_deeply_is_seen_with_an_audit_library(place: Place) -> None:
    program = place.compile("ways.c")
    library = place.compile("deep.c", "-shared", "-fPIC", name="libdeep.so")
    command = [program, "deep", library]
    audit = {"LD_AUDIT": str(libraries() / "libisthmus_watch.so")}
    assert place.plain(command).out == "done\n"
    assert place.watched(command, audit).only.copies() == {UP: 25}
    assert place.watched(command).outcome.out == "done\n"


@pytest.mark.parametrize(("way", "copies"), [("linked", {UP: 3}), ("by_default_handle", {UP: 19})])
def test_an_audit_library_counts_no_copy_twice(
    place: Place, way: str, copies: dict[str, int]
) -> None:
    audit = {"LD_AUDIT": str(libraries() / "libisthmus_watch.so")}
    watched = place.watched([place.compile("ways.c"), way], audit)
    assert watched.outcome.out == "done\n"
    assert watched.only.copies() == copies
