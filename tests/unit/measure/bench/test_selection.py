import pytest

from isthmus.errors import UsageError
from isthmus.ground.spelling import did_you_mean, nearest_names
from isthmus.measure.bench.plan import select_tests
from isthmus.measure.bench.tests.catalogue import BY_NAME, TESTS, CopyTest, HostMemory, Suite


def test_nothing_asked_for_means_every_test_but_those_of_paging_and_of_blocks() -> None:
    usual = [test for test in TESTS if not test.only_by_name]
    assert select_tests() == [
        test for test in usual if test.suite not in {Suite.PAGING, Suite.BLOCKS}
    ]


def test_what_fills_the_device_is_measured_only_by_name() -> None:
    filling = [test for test in TESTS if test.only_by_name]
    assert [test.name for test in filling] == [
        "host_to_device_managed_thrashing",
        "host_to_device_managed_thrashing_random",
    ]
    assert not set(filling) & set(select_tests(suites=["bandwidth"]))
    assert select_tests(["*_thrashing*"]) == filling


def test_names_and_patterns_choose_together_each_test_once_in_the_registry_s_order() -> None:
    names = ["device_to_host_memcpy_ce", "host_to_device_memcpy_ce"]
    chosen = select_tests([*names, "window_bandwidth*", "host_to_device_memcpy_c*"])
    assert [test.name for test in chosen if test.name != "host_to_device_memcpy_contents"] == [
        "host_to_device_memcpy_ce",
        "device_to_host_memcpy_ce",
        "window_bandwidth_write",
        "window_bandwidth_read",
    ]


def test_a_suite_alone_chooses_its_tests() -> None:
    assert select_tests(suites=["windows"]) == [t for t in TESTS if t.suite == Suite.WINDOWS]


def test_a_suite_narrows_the_choice_of_names_and_patterns() -> None:
    chosen = select_tests(["*_pageable"], suites=["windows", "bandwidth"])
    assert [test.name for test in chosen] == [
        "host_to_device_memcpy_pageable",
        "device_to_host_memcpy_pageable",
    ]


def test_a_choice_of_which_the_suite_has_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="no chosen test is of suite latency or alloc") as caught:
        select_tests(["*_memcpy_ce"], suites=["latency", "alloc"])
    assert "name bandwidth, numa, multi, or no suite" in caught.value.hint


@pytest.mark.parametrize(
    ("pattern", "first", "count"),
    [
        ("host_to_device_memcpy_c?", "host_to_device_memcpy_ce", 1),
        ("*_to_*_memcpy_pageable", "host_to_device_memcpy_pageable", 4),
        ("[dh]*_memcpy_pageable", "host_to_device_memcpy_pageable", 2),
        ("*", "host_to_device_memcpy_ce", len(TESTS)),
    ],
)
def test_a_pattern_chooses_every_test_that_fits(pattern: str, first: str, count: int) -> None:
    chosen = select_tests([pattern])
    assert (chosen[0].name, len(chosen)) == (first, count)


def test_a_pattern_that_fits_nothing_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no test's name fits 'h2d_memcpy_\*'") as caught:
        select_tests(["h2d_memcpy_*"])
    assert "_memcpy_" in caught.value.hint


def test_every_suite_has_a_test_and_every_test_a_name_of_its_own() -> None:
    assert {test.suite for test in TESTS} == set(Suite)
    assert len(BY_NAME) == len(TESTS)


def test_a_test_s_name_where_a_suite_belongs_is_told_apart() -> None:
    with pytest.raises(UsageError, match="it is a test: -t takes its name"):
        select_tests(suites=["host_to_device_memcpy_ce"])


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("host_to_device_memcpy", "host_to_device_memcpy_ce"),
        ("host_to_devise_memcpy_ce", "host_to_device_memcpy_ce"),
        ("pageable", "host_to_device_memcpy_pageable"),
        ("small_copy_async", "device_to_host_small_copy_async"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(typed: str, nearest: str) -> None:
    with pytest.raises(UsageError, match=f"'{typed}'") as caught:
        select_tests([typed])
    assert nearest in caught.value.hint


def test_a_suggestion_reads_as_a_question() -> None:
    assert did_you_mean("axle", ["apple", "angle"]) == "did you mean apple or angle?"
    assert did_you_mean("aple", ["apple"]) == "did you mean apple?"
    assert did_you_mean("a", []) == ""
    assert nearest_names("memcpy", ["x_memcpy", "y_memcpy", "z"]) == ["y_memcpy", "x_memcpy"]


def test_every_copy_s_name_tells_its_direction() -> None:
    for name, test in BY_NAME.items():
        if not isinstance(test, CopyTest):
            continue
        up = test.direction == "h2d"
        host, device = (test.source, test.target) if up else (test.target, test.source)
        assert name.startswith("host_to_device" if up else "device_to_host")
        assert device in {"device", "pool"}
        assert host not in {"device", "pool"}


def test_copies_that_synchronise_inside_never_wait_behind_a_gate() -> None:
    blocked = {test.host_memory for test in TESTS if isinstance(test, CopyTest) and test.blocked}
    assert HostMemory.PINNED in blocked
    assert HostMemory.PAGEABLE not in blocked
