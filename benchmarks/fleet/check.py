"""
How often `isthmus fleet check` is wrong: healthy fleets, and fleets with three bad nodes.

    python benchmarks/fleet/check.py --out benchmarks/fleet/check.json

Each fleet has 64 simulated nodes: see noise.py. In every fleet, some nodes differ harmlessly: one
in twenty has another kernel, one in fifty another release of the driver.

- false alarms: healthy fleets in which a node is called dead, wrong or slow.
- planted: in each fleet, one node's link is trained to half of its width, the copies of another are
  1.3 to 2.5 times slower for one of the causes below, and a third is dead. Pageable copies, which
  drift more, are 2.2 to 3 times slower. A bad node is found if
  it is called bad and its first cause is the right one. Other nodes that are called bad count, too.
- power (`--power`, alone): in each fleet one node loses a small part of its bandwidth in all
  families, and shows no cause. What is said of it is counted, and how many others are doubtful.
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from noise import Node, Noise, healthy, read_noise

from isthmus.fleet.check import check_fleet
from isthmus.fleet.health import Health, Verdict
from isthmus.fleet.measured import Fleet
from isthmus.fleet.task import Attempt, Outcome
from isthmus.ground.json_text import json_text
from isthmus.measure.doctor.check import Check, Status

NODES = 64
_OF_THE_LINK = r"memcpy_(ce|sm|registered|write_combined|huge_pages|pool)$|duplex_memcpy"
_ALL_COPIES = r"memcpy|small_copy|window"
_BY_THE_CPU = r"memcpy_pageable$"
# Nodes, runs of each, and the part of the bandwidth that one has lost in all families.
POWER = (
    *((16, runs, 0.08) for runs in (1, 3, 5)),
    *((64, runs, 0.08) for runs in (1, 3)),
    *((8, runs, 0.08) for runs in (3, 5)),
    *((16, 3, loss) for loss in (0.0, 0.04, 0.06, 0.1)),
)
Change = Callable[[Node], Node]


def _machine(node: Node, part: str, **facts: object) -> Node:
    """Change facts of one part of a node's machine."""
    own = getattr(node.machine, part).model_copy(update=facts)
    return replace(node, machine=node.machine.model_copy(update={part: own}))


# Cause -> what it changes, and which copies it slows down.
CAUSES: dict[str, tuple[Change, str]] = {
    "NUMA": (lambda node: _machine(node, "host", measured_on_node=1), _ALL_COPIES),
    "power": (lambda node: _machine(node, "gpu_state", performance_state="P5"), _ALL_COPIES),
    "clocks": (
        lambda node: _machine(node, "gpu_state", throttle_reasons=["hw_thermal_slowdown"]),
        _OF_THE_LINK,
    ),
    "link errors": (lambda node: _machine(node, "link_errors", replays=900), _OF_THE_LINK),
    "huge pages": (
        lambda node: _machine(node, "host", transparent_huge_pages="never"),
        _BY_THE_CPU,
    ),
    "driver": (lambda node: _machine(node, "driver", driver_version="535.54.03"), _ALL_COPIES),
    "iommu": (lambda node: node, _OF_THE_LINK),
    "virtualisation": (lambda node: node, _ALL_COPIES),
}


def parsed() -> argparse.Namespace:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description="How often isthmus fleet check is wrong.")
    parser.add_argument("--healthy", type=int, default=200, help="healthy fleets (%(default)s)")
    parser.add_argument("--planted", type=int, default=50, help="fleets with bad nodes")
    parser.add_argument("--power", action="store_true", help="the study of small losses alone")
    parser.add_argument("--first", type=int, default=0, help="the first seed (%(default)s)")
    parser.add_argument("--processes", type=int, default=2, help="(%(default)s)")
    parser.add_argument("--out", type=Path, help="a file for the result")
    return parser.parse_args()


def harmless(chance: random.Random, nodes: list[Node]) -> list[Node]:
    """Give some nodes another kernel or another release of the driver."""
    found = []
    for node in nodes:
        changed = node
        if chance.random() < 1 / 20:
            changed = _machine(changed, "host", kernel="6.12.9")
        if chance.random() < 1 / 50:
            changed = _machine(changed, "driver", driver_version="580.126.09")
        found.append(changed)
    return found


def measured(chance: random.Random, noise: Noise, nodes: list[Node], repeats: int) -> Fleet:
    """Draw what a folder of the nodes' runs and diagnoses would say."""
    gpus = [noise.gpu(chance, node, repeats) for node in nodes]
    fleet = Fleet(gpus={(gpu.node, gpu.uuid): gpu for gpu in gpus}, families=noise.families)
    for node in nodes:
        fleet.checks[node.name] = diagnosis(iommu="passed through", virtual=False)
    return fleet


def diagnosis(*, iommu: str, virtual: bool) -> list[Check]:
    """Give what the doctor says about IOMMU and virtualisation."""
    translated = iommu != "passed through"
    return [
        Check(
            name="gpu 0 iommu",
            status=Status.NOTE if translated else Status.OK,
            finding=f"group 12, {iommu}",
            advice="boot with iommu=pt" if translated else None,
        ),
        Check(
            name="virtualisation",
            status=Status.NOTE if virtual else Status.OK,
            finding="virtual machine (KVM)" if virtual else "no virtual machine",
        ),
    ]


def false_alarm(task: tuple[int, int]) -> list[str]:
    """Judge one healthy fleet; give the families that are called slow."""
    seed, repeats = task
    chance = random.Random(seed)  # noqa: S311 - no secret
    noise = read_noise()
    fleet = measured(chance, noise, harmless(chance, healthy(noise, NODES)), repeats)
    return [standing.family.name for p in check_fleet(fleet).bad for standing in p.standings[:1]]


def planted(task: tuple[int, int]) -> dict[str, Any]:
    """Judge one fleet with three bad nodes; give what was found of each."""
    seed, repeats = task
    chance = random.Random(100_000 + seed)  # noqa: S311 - no secret
    noise = read_noise()
    nodes = harmless(chance, healthy(noise, NODES))
    narrow, slow, dead = chance.sample(range(NODES), 3)
    nodes[narrow] = replace(
        _machine(nodes[narrow], "link", width=8),
        slowed=_OF_THE_LINK,
        times=chance.uniform(1.8, 2.0),
        from_bytes=1 << 20,
    )
    cause = chance.choice(sorted(CAUSES))
    change, tests = CAUSES[cause]
    times = chance.uniform(2.2, 3.0) if tests == _BY_THE_CPU else chance.uniform(1.3, 2.5)
    nodes[slow] = replace(change(nodes[slow]), slowed=tests, times=times)
    alive = [node for index, node in enumerate(nodes) if index != dead]
    fleet = measured(chance, noise, alive, repeats)
    fleet.checks[nodes[slow].name] = diagnosis(
        iommu="translated (DMA-FQ)" if cause == "iommu" else "passed through",
        virtual=cause == "virtualisation",
    )
    if chance.random() < 0.5:  # noqa: PLR2004
        fleet.attempts[nodes[dead].name] = [_timed_out(nodes[dead].name)]
    health = check_fleet(fleet, expected=[node.name for node in nodes])
    return {
        "cause": cause,
        "times": round(nodes[slow].times, 3),
        "narrow": _outcome(health, nodes[narrow].name, Verdict.SLOW, "link"),
        "slow": _outcome(health, nodes[slow].name, Verdict.SLOW, cause),
        "dead": _outcome(health, nodes[dead].name, Verdict.DEAD, None),
        "others": len({p.node for p in health.bad} - {nodes[i].name for i in (narrow, slow, dead)}),
    }


def small_loss(task: tuple[int, int, int, float]) -> tuple[str, int, int]:
    """Judge a fleet of which one node has lost a part in all families; give what is said of it."""
    seed, size, repeats, loss = task
    chance = random.Random(200_000 + seed)  # noqa: S311 - no secret
    noise = read_noise()
    nodes = harmless(chance, healthy(noise, size))
    odd = chance.randrange(size)
    nodes[odd] = replace(nodes[odd], slowed=".", times=1 / (1 - loss))
    health = check_fleet(measured(chance, noise, nodes, repeats))
    others = [one for one in health.patients if one.node != nodes[odd].name]
    (own,) = [one.verdict.value for one in health.patients if one.node == nodes[odd].name]
    doubtful = sum(one.verdict == Verdict.DOUBTFUL for one in others)
    return own, doubtful, sum(one.verdict.is_bad for one in others)


def power(options: argparse.Namespace) -> dict[str, Any]:
    """Run the study of small losses."""
    rows = []
    with ProcessPoolExecutor(options.processes) as pool:
        for size, repeats, loss in POWER:
            seeds = range(options.first, options.first + options.healthy)
            found = list(pool.map(small_loss, [(seed, size, repeats, loss) for seed in seeds]))
            said = Counter(verdict for verdict, _, _ in found)
            healthy_gpus = len(found) * (size - 1)
            rows.append(
                {
                    "nodes": size,
                    "runs_of_a_node": repeats,
                    "loss": loss,
                    "fleets": len(found),
                    **{verdict: said[verdict] for verdict in ("slow", "doubtful", "ok")},
                    "others_doubtful": round(sum(n for _, n, _ in found) / healthy_gpus, 5),
                    "others_bad": sum(n for _, _, n in found),
                }
            )
            print(rows[-1], flush=True)
    return {"first_seed": options.first, "power": rows}


def _timed_out(node: str) -> Attempt:
    return Attempt(
        node=node,
        device=None,
        number=1,
        outcome=Outcome.TIMED_OUT,
        reason="no answer within 120 s",
        exit_code=None,
        ended_at=datetime(2026, 11, 23, tzinfo=UTC),
    )


def _outcome(health: Health, node: str, verdict: Verdict, cause: str | None) -> str:
    """Say "found", or what was said instead."""
    (patient,) = [one for one in health.patients if one.node == node]
    first = patient.causes[0].part if patient.causes else None
    if patient.verdict == verdict and (cause is None or first == cause):
        return "found"
    return f"{patient.verdict}, {first}"


def _tasks(first: int, number: int, repeats: int) -> list[tuple[int, int]]:
    return [(seed, repeats) for seed in range(first, first + number)]


def main() -> None:
    """Run both studies, with one run of each node and with three."""
    options = parsed()
    began = time.monotonic()
    if options.power:
        found = power(options) | {"seconds": round(time.monotonic() - began)}
        if options.out:
            options.out.write_text(json_text(found), "utf-8")
        return
    result: dict[str, Any] = {
        "nodes": NODES,
        "first_seed": options.first,
        "healthy": [],
        "planted": [],
        "fleets": [],
    }
    with ProcessPoolExecutor(options.processes) as pool:
        for repeats in (1, 3):
            alarms = list(pool.map(false_alarm, _tasks(options.first, options.healthy, repeats)))
            result["healthy"].append(
                {
                    "runs_of_a_node": repeats,
                    "fleets": options.healthy,
                    "with_false_alarms": sum(map(bool, alarms)),
                    "families": dict(Counter(name for names in alarms for name in names)),
                }
            )
            print(result["healthy"][-1], flush=True)
            rows = list(pool.map(planted, _tasks(options.first, options.planted, repeats)))
            found = {
                kind: sum(row[kind] == "found" for row in rows)
                for kind in ("narrow", "slow", "dead")
            }
            others = sum(row["others"] for row in rows)
            summary = {"runs_of_a_node": repeats, "fleets": options.planted, **found}
            result["planted"].append(summary | {"others_called_bad": others})
            result["fleets"] += [{"runs_of_a_node": repeats, **row} for row in rows]
            print(result["planted"][-1], flush=True)
    result["seconds"] = round(time.monotonic() - began)
    if options.out:
        options.out.write_text(json_text(result), "utf-8")


if __name__ == "__main__":
    main()
