"""Pairs of a node's GPUs, and what each GPU gets while all of them copy, are judged as GPUs are."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from math import exp
from typing import Any

import pytest

from fakes.fleets import Made
from isthmus.fleet.check import check_fleet
from isthmus.fleet.health import Health, Patient, Verdict
from isthmus.fleet.measured import Fleet
from isthmus.measure.doctor.check import Check, Status
from isthmus.measure.expected.judging import judge
from isthmus.measure.expected.values import GpuValues
from isthmus.measure.expected.writing import expectations_of
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.result import Failure
from isthmus.measure.run.result import Status as ResultStatus
from isthmus.show.answers.fleet import fleet_text
from isthmus.show.answers.fleet_data import fleet_json, fleet_junit, fleet_prometheus

ENDS = {"read": ("peer", "device"), "write": ("device", "peer")}
NVLINK, PCIE = 388e9, 53e9
UNREACHED = "peer access unavailable: GPU 0 can't reach the memory of GPU 1 (needs NVLink)"
NULLS = dict.fromkeys(("median", "min", "max", "p99", "iqr", "mean", "cov", "n", "num_outliers"))


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node: how many times slower a pair or a GPU's share is, and what its pairs reach."""

    name: str
    gpus: int = 4
    slower: Mapping[tuple[int, ...], float] = field(default_factory=dict)
    rate: Callable[[int, int], float] = lambda *_: NVLINK
    failed: Mapping[tuple[int, ...], dict[str, Any]] = field(default_factory=dict)
    runs: int = 3


def run_of(node: Node, number: int, chance: random.Random) -> Run:
    run = Made(name=node.name, runs=number + 1).left(random.Random(1))[number]  # noqa: S311
    [like] = [r for r in run.results if r.test == "host_to_device_memcpy_ce"][-1:]

    def result(test: str, metric: str, axes: dict[str, str], rate: float, **more: object) -> Result:
        place = tuple(sorted(int(axes[name]) for name in axes))
        loaded = 1.0 if metric == "alone" else node.slower.get(place, 1.0)
        drawn = rate / loaded * exp(chance.gauss(0, 0.003))
        update = {"test": test, "suite": "multi", "metric": metric, "axes": axes, "median": drawn}
        made = like.model_copy(update={**update, "bytes": 64 << 20, "repeats": None, **more})
        return made.model_copy(update=node.failed.get(place, {}))

    results = [
        result(
            f"device_to_device_memcpy_{role}_ce",
            "bandwidth",
            {"gpu": str(gpu), "peer": str(peer)},
            node.rate(gpu, peer),
            source=ends[0],
            target=ends[1],
            direction=None,
        )
        for role, ends in ENDS.items()
        for gpu, peer in permutations(range(node.gpus), 2)
    ] + [
        result("host_to_all_memcpy_ce", metric, {"gpu": str(gpu)}, 55e9)
        for metric in ("bandwidth", "alone")
        for gpu in range(node.gpus)
    ]
    return run.model_copy(update={"results": [*run.results, *results]})


def fleet_of(*nodes: Node, own: GpuValues | None = None, seed: int = 1) -> Fleet:
    chance = random.Random(seed)  # noqa: S311 - no secret
    fleet = Fleet(own=own)
    for node in nodes:
        for number in range(node.runs):
            fleet.add(node.name, run_of(node, number, chance))
    return fleet


def equal(number: int, **more: Any) -> list[Node]:  # noqa: ANN401 - of a Node
    return [Node(name=f"n{index}", **more) for index in range(number)]


def bad_of(health: Health) -> list[tuple[str, tuple[int, ...]]]:
    return [(patient.node, patient.place) for patient in health.bad]


def at(health: Health, node: str, place: tuple[int, ...]) -> Patient:
    (found,) = [one for one in health.patients if (one.node, one.place) == (node, place)]
    return found


def bridged(one: int, other: int) -> float:
    return NVLINK if {one, other} in ({0, 1}, {2, 3}) else PCIE


@pytest.mark.parametrize("rate", [lambda *_: NVLINK, bridged])
@pytest.mark.parametrize("number", [1, 2, 6])
def test_healthy_pairs_and_shares_are_not_bad_whatever_joins_them(
    number: int, rate: Callable[[int, int], float]
) -> None:
    for seed in range(3):
        health = check_fleet(fleet_of(*equal(number, rate=rate), seed=seed))
        assert bad_of(health) == []
        assert health.count(Verdict.DOUBTFUL) == 0
        assert len(health.patients) == number * (1 + 6 + 4)


def test_a_slow_pair_is_bad_and_its_gpus_are_not() -> None:
    health = check_fleet(fleet_of(*equal(5), Node(name="odd", slower={(1, 2): 1.2})))
    assert bad_of(health) == [("odd", (1, 2))]
    found = at(health, "odd", (1, 2))
    assert found.verdict == Verdict.SLOW
    assert "copies into the first of a pair: 17 % less bandwidth" in " ".join(found.findings)
    assert fleet_text(health).count("odd GPUs 1 and 2") == 1
    assert "1 of 6 GPUs, 24 shares and 36 pairs is bad: 1 slow" in fleet_text(health)


def test_one_direction_of_a_pair_is_enough() -> None:
    fleet = fleet_of(*equal(5), Node(name="odd"))
    pair = fleet.places["odd", (0, 1)]
    for costs in pair.costs:
        for subject, values in dict(costs).items():
            if ("into", "second") in subject.circumstances:
                costs[subject] = tuple(None if cost is None else cost + 0.2 for cost in values)  # type: ignore[index]
    assert bad_of(check_fleet(fleet)) == [("odd", (0, 1))]


def test_a_pair_that_lost_nvlink_is_named_with_the_way_it_goes() -> None:
    health = check_fleet(fleet_of(*equal(5), Node(name="odd", slower={(0, 3): NVLINK / PCIE})))
    [cause, *_] = at(health, "odd", (0, 3)).causes
    assert cause.part == "path"
    assert "53" in cause.text
    assert "not over NVLink" in cause.text


def test_pairs_without_the_gpu_that_measured_are_of_the_same_class() -> None:
    """Only GPU 0 of each node has a run of its own."""
    health = check_fleet(fleet_of(*equal(2), Node(name="odd", slower={(1, 3): 1.2})))
    assert bad_of(health) == [("odd", (1, 3))]
    assert dict(health.classes)[at(health, "odd", (1, 3)).class_name or ""] == 3 * 6


def test_pairs_are_judged_within_one_node_unless_too_many_differ() -> None:
    one = Node(name="one", gpus=8, slower={(2, 5): 1.5})
    assert bad_of(check_fleet(fleet_of(one))) == [("one", (2, 5))]
    ring = Node(name="one", slower={(0, 2): 1.5, (1, 3): 1.5})
    health = check_fleet(fleet_of(ring))
    assert bad_of(health) == []
    assert at(health, "one", (0, 2)).verdict == Verdict.UNJUDGED
    assert "four equal nodes" in at(health, "one", (0, 2)).findings[0]


def test_the_gpu_that_all_slow_pairs_have_is_the_first_cause() -> None:
    slower: dict[tuple[int, ...], float] = {(0, 2): 1.3, (1, 2): 1.3, (2, 3): 1.3}
    health = check_fleet(fleet_of(*equal(5), Node(name="odd", slower=slower)))
    assert sorted(bad_of(health)) == [("odd", place) for place in sorted(slower)]
    assert {patient.causes[0].part for patient in health.bad} == {"GPU 2"}


def test_a_pair_without_peer_access_is_wrong_and_the_diagnosis_is_its_cause() -> None:
    waived = {**NULLS, "status": ResultStatus.WAIVED, "reason": UNREACHED}
    fleet = fleet_of(*equal(5), Node(name="odd", failed={(0, 1): waived}))
    for node in fleet.nodes:
        refused = [[0, 1]] if node == "odd" else []
        status = Status.NOTE if refused else Status.OK
        advice = "see nvidia-smi topo -p2p r" if refused else None
        facts: dict[str, Any] = {"refused": refused, "acs": []}
        check = Check(name="peers", status=status, finding="x", advice=advice, facts=facts)
        fleet.checks[node] = [check]
    health = check_fleet(fleet)
    assert bad_of(health) == [("odd", (0, 1))]
    found = at(health, "odd", (0, 1))
    assert (found.verdict, found.causes[0].part) == (Verdict.WRONG, "peers")
    assert health.count(Verdict.DOUBTFUL) == 0


def test_wrong_bytes_between_two_gpus_are_the_pairs() -> None:
    error = Failure(symbol=None, code=None, code_name=None, message="verification failed at 0")
    failed = {**NULLS, "status": ResultStatus.ERROR, "error": error}
    health = check_fleet(fleet_of(Node(name="one", failed={(0, 1): failed})))
    assert bad_of(health) == [("one", (0, 1))]
    assert at(health, "one", (0, 1)).verdict == Verdict.WRONG


def test_a_gpu_whose_share_is_small_when_all_copy_is_bad_as_a_share() -> None:
    health = check_fleet(fleet_of(*equal(5), Node(name="odd", slower={(3,): 1.5})))
    assert bad_of(health) == [("odd", (3,))]
    assert "all GPUs at once" in at(health, "odd", (3,)).findings[0]
    assert "odd share of GPU 3" in fleet_text(health)


def test_values_of_ones_own_hold_for_each_pair() -> None:
    good = run_of(Node(name="good"), 0, random.Random(2))  # noqa: S311 - no secret
    own = expectations_of(good)
    odd = Node(name="odd", slower={(0, 1): 1.2})
    health = check_fleet(fleet_of(odd, Node(name="good"), own=own))
    told = " ".join(at(health, "odd", (0, 1)).findings)
    assert bad_of(health) == [("odd", (0, 1))]
    assert "of the expected value: device_to_device_memcpy_read_ce 8" in told
    worst = [
        one
        for one in judge(run_of(odd, 0, random.Random(3)), own)  # noqa: S311 - no secret
        if one.value.test == "device_to_device_memcpy_read_ce"
    ]
    assert sorted(int(number) for number in worst[0].result.axes.values()) == [0, 1]


def test_programs_get_pairs_with_their_gpus() -> None:
    health = check_fleet(fleet_of(*equal(5), Node(name="odd", slower={(1, 2): 1.5})))
    first = json.loads(fleet_json(health))["gpus"][0]
    assert (first["place"], first["gpu"], first["ordinal"]) == ([1, 2], None, None)
    assert 'isthmus_gpu_bad{node="odd",gpu="GPUs 1 and 2"} 1' in fleet_prometheus(health)
    labels = [line.rsplit(" ", 1)[0] for line in fleet_prometheus(health).splitlines()]
    series = [line for line in labels if "{" in line]
    assert len(series) == len(set(series))
    assert 'name="odd GPUs 1 and 2"' in fleet_junit(health)
