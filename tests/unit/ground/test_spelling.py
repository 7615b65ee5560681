import pytest

from isthmus.ground.spelling import cpu_list, cuda_version, listed


@pytest.mark.parametrize(
    ("cpus", "text"), [([], ""), ([3], "3"), ([0, 1, 2, 8], "0-2,8"), ([1, 3, 5, 6], "1,3,5-6")]
)
def test_cpu_lists_are_written_as_the_kernel_does(cpus: list[int], text: str) -> None:
    assert cpu_list(cpus) == text


@pytest.mark.parametrize(("version", "text"), [(12020, "12.2"), (13000, "13.0"), (11080, "11.8")])
def test_versions_are_written_as_people_write_them(version: int, text: str) -> None:
    assert cuda_version(version) == text


@pytest.mark.parametrize(
    ("words", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_the_last_of_several_things_follows_an_and(words: list[str], text: str) -> None:
    assert listed(words) == text
