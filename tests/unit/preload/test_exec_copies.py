"""Copies that exec makes: bytes, surroundings and what a program sees are the driver's."""

import pytest

from preloading import Place


@pytest.fixture(scope="session")
def copies(place: Place) -> object:
    return place.compile("copies.c")


def test_every_entry_point_is_replaced_in_every_stream(place: Place, copies: object) -> None:
    counters = place.like_the_driver(copies, "entries").only
    assert counters.sum("replaced") == 80
    replaced = {row["entry"] for row in counters.rows if row["replaced"]}
    assert replaced == {
        *("cuMemcpyHtoD_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoHAsync_v2"),
        *("cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoDAsync_v2_ptsz"),
        *("cuMemcpyDtoH_v2_ptds", "cuMemcpyDtoHAsync_v2_ptsz"),
        *("cuMemcpy", "cuMemcpyAsync", "cuMemcpy_ptds", "cuMemcpyAsync_ptsz"),
    }
    assert counters.sum("replaced_bytes") == 80 * (3 * 2**20 + 5)
    assert counters.header["exec_failed"] == 0


def test_copies_are_replaced_from_the_named_size_on(place: Place, copies: object) -> None:
    settings = {"ISTHMUS_EXEC_UP": str(4 << 20), "ISTHMUS_EXEC_DOWN": str(128 << 10)}
    counters = place.like_the_driver(copies, "sizes", **settings).only
    # Of each size there are two, at other offsets.
    assert counters.sum("replaced", source="pageable") == 2 * 1
    assert counters.sum("replaced", target="pageable") == 2 * 6
    replaced = [row["size_class"] for row in counters.rows if row["replaced"]]
    assert min(replaced) == 18


@pytest.mark.parametrize("size", [1, 64 << 10, (64 << 10) + 1, 2 << 20])
def test_copies_that_the_driver_reads_at_once_are_never_replaced(
    place: Place, copies: object, size: int
) -> None:
    settings = {"ISTHMUS_EXEC_UP": str(size), "ISTHMUS_EXEC_DOWN": str(size)}
    counters = place.like_the_driver(copies, "sizes", **settings).only
    assert counters.sum("replaced", source="pageable") == 2 * 3  # sizes of more than 2 MiB
    assert counters.sum("replaced", target="pageable") == 2 * (4 if size == 2 << 20 else 8)


def test_what_is_not_between_pageable_memory_and_a_gpu_is_the_drivers(
    place: Place, copies: object
) -> None:
    counters = place.like_the_driver(copies, "others").only
    assert counters.sum("replaced") == 0
    assert counters.sum("calls", "cuMemcpy") == 14
    assert counters.header["exec_failed"] == 0


def test_threads_copy_at_once(place: Place, copies: object) -> None:
    """While one of them opens the engine, the driver copies for the others."""
    counters = place.like_the_driver(copies, "threads").only
    assert counters.sum("calls", "cuMemcpy") == 96
    assert 96 // 2 < counters.sum("replaced") <= 96
    assert counters.header["exec_failed"] == 0


def test_a_constructor_may_copy_while_another_thread_opens_the_engine(
    place: Place, copies: object
) -> None:
    """It holds the dynamic linker's lock, which opening the engine needs."""
    library = place.compile("constructor.c", "-shared", "-fPIC", name="libconstructor.so")
    for _ in range(5):
        counters = place.like_the_driver(copies, "loading", library).only
        assert counters.sum("calls", "cuMemcpyHtoD") == 70
        assert counters.sum("replaced") > 0


def test_a_child_is_refused_by_the_driver_and_its_parent_goes_on(
    place: Place, copies: object
) -> None:
    parent, child = place.like_the_driver(copies, "forked").processes
    assert parent.sum("replaced") == 4
    assert (child.sum("calls", "cuMemcpy"), child.sum("failed", "cuMemcpy")) == (1, 1)


def test_memory_is_looked_at_anew_when_it_was_pinned_or_withdrawn(
    place: Place, copies: object
) -> None:
    """Also where what is pinned and what isn't share a page."""
    assert place.like_the_driver(copies, "changing").only.sum("replaced") == 4


def test_a_process_may_end_without_destructors(place: Place, copies: object) -> None:
    assert place.like_the_driver(copies, "once", 5).outcome.code == 5


def test_an_audit_replaces_nothing_and_counts_what_would_be(place: Place, copies: object) -> None:
    counters = place.like_the_driver(copies, "entries", ISTHMUS_EXEC="audit").only
    assert counters.sum("replaced") == 80
    assert counters.header["exec_mode"] == 2


@pytest.mark.parametrize(
    ("settings", "replaced"),
    [
        ({"ISTHMUS_EXEC": "off"}, 0),
        ({"ISTHMUS_EXEC": "nonsense"}, 0),
        ({"ISTHMUS_EXEC_OFF": "/copies"}, 0),
        ({"ISTHMUS_EXEC_OFF": "another"}, 80),
        ({"ISTHMUS_EXEC_UP": "nonsense"}, 40),
        ({"ISTHMUS_EXEC_ONLY": "cuMemcpyDtoH_v2"}, 5),
        ({"ISTHMUS_EXEC_ONLY": "up_by"}, 0),
        ({"ISTHMUS_DRIVER": "emulated"}, 80),
        ({"ISTHMUS_PROFILE": "/nowhere"}, 80),
        ({"LOCAL_WORLD_SIZE": "8"}, 80),
    ],
)
def test_settings_say_what_is_replaced(
    place: Place, copies: object, settings: dict[str, str], replaced: int
) -> None:
    assert place.like_the_driver(copies, "entries", **settings).only.sum("replaced") == replaced


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"ISTHMUS_EXEC_LIBRARY": "/nowhere/libisthmus_exec.so"}, "/nowhere/libisthmus_exec.so"),
        ({"ISTHMUS_EXEC_LIBRARY": "libc.so.6"}, "isthmus_exec_open"),
        ({"CUDA_MPS_PIPE_DIRECTORY": "/"}, "MPS"),
    ],
)
def test_where_there_is_no_engine_the_report_says_why(
    place: Place, copies: object, settings: dict[str, str], reason: str
) -> None:
    counters = place.like_the_driver(copies, "once", **settings).only
    assert counters.sum("replaced") == 0
    assert reason in counters.header["exec_reason"]
