import pytest

from isthmus.errors import UsageError
from isthmus.sim.axes import points, read_axes
from isthmus.sim.points import Base, build_points

BASE = Base(workload="bfs", machine="paper-gtx480", policy="ranges", seed=0, settings={})


def values(text: str) -> tuple[str, ...]:
    (axis,) = read_axes([text])
    return axis.values


def test_a_list_is_taken_as_it_is_each_value_once() -> None:
    assert values("workload=bfs, lps,bfs") == ("bfs", "lps")


def test_a_range_doubles_and_ends_with_its_end() -> None:
    assert values("policy.unit=128..1KiB") == ("128 B", "256 B", "512 B", "1 KiB")
    assert values("faults.latency=1us..5us") == ("1 us", "2 us", "4 us", "5 us")
    assert values("faults.latency=0,1us..2us") == ("0", "1 us", "2 us")


def test_a_range_of_seeds_has_every_one() -> None:
    assert values("seed=3..5") == ("3", "4", "5")


def test_points_are_all_combinations_the_last_axis_fastest() -> None:
    axes = read_axes(["workload=bfs,lps", "policy=tree,ranges"])
    assert [tuple(point.values()) for point in points(axes)] == [
        ("bfs", "tree"),
        ("bfs", "ranges"),
        ("lps", "tree"),
        ("lps", "ranges"),
    ]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("policy.unit", "is not an axis", "policy.unit=128..2MiB"),
        ("policy.unti=1", "no setting 'policy.unti'", "policy.unit"),
        ("workloads=bfs", "no setting 'workloads'", "workload"),
        ("policy.unit=128,,256", "an empty value", "128..2MiB"),
        ("policy.unit=1KiB..128", "runs backwards", "128..1KiB"),
        ("policy.unit=1KiB..", "is not a range", "128..2MiB"),
        ("policy.unit=1KiB..2Q", "unknown unit 'Q'", "2"),
        ("faults.latency=0..1us", "doubling 0", "faults.latency=0,..."),
        ("workload=a..b", "is not a range", "workload=bfs"),
        ("policy=tree,rangs", "no policy 'rangs'", "ranges"),
        ("machine=h100", "no machine 'h100'", "h100-pcie5"),
        ("seed=x", "is not a seed", "8"),
        ("seed=0..9999999", "values", "at most"),
    ],
)
def test_an_axis_that_can_not_be_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_axes([text])
    assert message in str(caught.value)
    assert hint in caught.value.hint


def test_an_axis_is_given_once() -> None:
    with pytest.raises(UsageError, match="given twice"):
        read_axes(["seed=1", "seed=2"])


def test_a_point_is_what_its_axes_and_the_base_say() -> None:
    (point,) = build_points(BASE, [{"policy": "tree", "link.bandwidth": "32GB/s", "seed": "7"}])
    assert point.setup.policy.kind == "tree"
    assert point.setup.machine.link.bandwidth == 32_000_000_000
    assert (point.workload, point.seed) == ("bfs", 7)
    assert point.label == "policy=tree link.bandwidth=32GB/s seed=7"


def test_points_of_one_result_have_one_key_and_others_another() -> None:
    same = build_points(BASE, [{"link.bandwidth": "16GB/s"}, {"link.bandwidth": "16000MB/s"}])
    assert same[0].key == same[1].key
    other = build_points(BASE, [{"link.bandwidth": "32GB/s"}, {"seed": "1"}])
    assert len({same[0].key, *(point.key for point in other)}) == 3


def test_a_point_that_can_not_be_is_named() -> None:
    with pytest.raises(UsageError, match=r"^policy.unit=4MiB: .*larger than its page"):
        build_points(BASE, [{"policy.unit": "1KiB"}, {"policy.unit": "4MiB"}])
    nothing = Base(workload=None, machine="paper-gtx480", policy="tree", seed=0, settings={})
    with pytest.raises(UsageError, match="no workload"):
        build_points(nothing, [{}])
