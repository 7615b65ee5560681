import pytest

from isthmus.bench.selection import select_tests
from isthmus.bench.tests import BY_NAME, TESTS, CopyTest
from isthmus.errors import UsageError
from isthmus.suggest import did_you_mean, nearest_names


def test_nothing_asked_for_means_every_test() -> None:
    assert select_tests() == list(TESTS)


def test_names_and_prefixes_choose_together_each_test_once_in_the_registry_s_order() -> None:
    names = ["device_to_host_memcpy_ce", "host_to_device_memcpy_ce"]
    chosen = select_tests(names, ["host_to_device_memcpy"])
    assert [test.name for test in chosen] == [
        "host_to_device_memcpy_ce",
        "device_to_host_memcpy_ce",
        "host_to_device_memcpy_pageable",
    ]


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


@pytest.mark.parametrize("prefix", ["device_to_hosts", "", "xx"])
def test_a_prefix_that_fits_nothing_is_refused(prefix: str) -> None:
    with pytest.raises(UsageError, match=f"begins with '{prefix}'"):
        select_tests((), [prefix])


def test_a_suggestion_reads_as_a_question() -> None:
    assert did_you_mean("axle", ["apple", "angle"]) == "did you mean apple or angle?"
    assert did_you_mean("aple", ["apple"]) == "did you mean apple?"
    assert did_you_mean("a", []) == ""
    assert nearest_names("memcpy", ["x_memcpy", "y_memcpy", "z"]) == ["y_memcpy", "x_memcpy"]


def test_every_test_s_name_tells_its_direction_and_its_memory() -> None:
    for name, test in BY_NAME.items():
        if not isinstance(test, CopyTest):
            continue
        assert name.startswith("host_to_device") == (test.direction == "h2d")
        assert {test.source, test.target} == {test.host_memory, "device"}
        assert (test.target == "device") == (test.direction == "h2d")


def test_only_copies_from_pinned_memory_wait_behind_a_gate() -> None:
    assert {test.name for test in TESTS if isinstance(test, CopyTest) and test.blocked} == {
        "host_to_device_memcpy_ce",
        "device_to_host_memcpy_ce",
    }
