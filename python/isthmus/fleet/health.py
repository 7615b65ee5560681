"""
How a fleet is: a verdict for each GPU, and for each node that has none; and once all runs are
read, what is known of pairs and shares, and why pairs are slow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from statistics import median

from isthmus.fleet.causes import Cause
from isthmus.fleet.measured import Fleet, Gpu
from isthmus.fleet.places import Place, words_of
from isthmus.fleet.standing import Standing


class Verdict(StrEnum):
    """How a GPU or a node is; the worst first."""

    DEAD = "dead"
    """No run came from it."""
    WRONG = "wrong"
    """Results ended in errors that most of its class don't have, or wrong bytes arrived."""
    SLOW = "slow"
    """Slower than its class, repeatedly or for a reason it shows; or its link is broken."""
    DOUBTFUL = "doubtful"
    """Worth a look: not shown to be bad."""
    UNJUDGED = "not judged"
    """Nothing was found, and its class is too small to say that it is as fast as it should be."""
    OK = "ok"

    @property
    def is_bad(self) -> bool:
        """Whether the node shouldn't be used."""
        return self in {Verdict.DEAD, Verdict.WRONG, Verdict.SLOW}


@dataclass(frozen=True, kw_only=True)
class Patient:
    """
    One GPU, a pair or share of a node's GPUs, or a node without one that was measured.

    Attributes:
        uuid: The GPU's UUID; None for a dead node, a pair or a share.
        ordinal: Its number on the node; None for a dead node, a pair or a share.
        class_name: Its class, in words; None for a dead node.
        findings: What was found, in words, the worst first; none if it is ok.
        causes: What is unusual about it; what explains the worst finding comes first.
        standings: Every family of it that was judged, the slowest first.
        emulated: Whether its numbers are modelled; None for a dead node.
        measured_at: When its latest run ended, by its own clock; None for a dead node.
        rates: The best rate of each test in that run, in B/s.
    """

    node: str
    uuid: str | None = None
    ordinal: int | None = None
    place: Place = ()
    class_name: str | None = None
    verdict: Verdict
    findings: tuple[str, ...]
    causes: tuple[Cause, ...]
    standings: tuple[Standing, ...] = ()
    num_runs: int = 0
    emulated: bool | None = None
    measured_at: datetime | None = None
    rates: Mapping[str, float] = field(default_factory=dict)

    @property
    def part(self) -> str:
        """What of the node it is, such as "GPU 3"; "" for a dead node."""
        if self.place:
            return words_of(self.place)
        return "" if self.ordinal is None else f"GPU {self.ordinal}"

    @property
    def words(self) -> str:
        """The node, and what of it."""
        return f"{self.node} {self.part}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Health:
    """
    A fleet.

    Attributes:
        patients: Every GPU, pair, share and dead node, the worst first.
        classes: Each class with the number of its GPUs, the largest first.
        notes: What is so with most GPUs of a class, and therefore no GPU's own fault.
        tolerance: What counts as the same, as a fraction.
    """

    patients: Sequence[Patient]
    classes: Sequence[tuple[str, int]]
    num_nodes: int
    notes: Sequence[str]
    num_runs: int
    unread: Sequence[str]
    tolerance: float

    @cached_property
    def bad(self) -> list[Patient]:
        """List those that shouldn't be used."""
        return [patient for patient in self.patients if patient.verdict.is_bad]

    def count(self, verdict: Verdict) -> int:
        """Count the GPUs and dead nodes of a verdict."""
        return sum(patient.verdict == verdict for patient in self.patients)


_BETWEEN = ("device_to_device_memcpy_",)
_TO_HOST = ("host_to_device_memcpy_ce", "host_to_all_memcpy_ce")
# Copies between GPUs on PCIe are no faster than those to the host, but for measurement.
_LIKE_THE_HOST, _FASTER_WAY = 1.15, 1.5


def places_of(fleet: Fleet) -> list[Gpu]:
    """Complete the pairs and shares of a fleet by what their nodes' other runs say."""
    members = {(gpu.node, gpu.machine.device.ordinal): gpu for gpu in fleet.gpus.values()}
    last = dict.fromkeys(fleet.nodes, 0)
    for node, number in [*members, *((node, max(place)) for node, place in fleet.places)]:
        last[node] = max(last[node], number)
    for (node, place), one in fleet.places.items():
        one.num_gpus = 1 + last[node]
        one.at_once = {index for index, (gpu, run) in enumerate(one.made_by) if run in gpu.at_once}
        own = [members[node, number] for number in place if (node, number) in members]
        # The link of the GPU that measured says nothing of others.
        worst = max(own, key=lambda gpu: len(gpu.faults), default=None)
        if worst is not None:
            one.machine, one.facts = worst.machine, worst.facts
        else:
            unknown = one.machine.link.model_copy(update={"generation": None, "width": None})
            one.machine = one.machine.model_copy(update={"link": unknown, "link_errors": None})
    return list(fleet.places.values())


def way_of(pair: Gpu, equals: Sequence[Gpu], fleet: Fleet) -> list[Cause]:
    """Say if a pair has lost the fast way that equal ones have; nothing if that isn't known."""
    rate, usual = _rate(pair, _BETWEEN), median(_rate(one, _BETWEEN) for one in equals)
    on_node = [*fleet.gpus.values(), *fleet.places.values()]
    to_host = max(_rate(one, _TO_HOST) for one in on_node if one.node == pair.node)
    if not 0 < rate <= _LIKE_THE_HOST * to_host or usual < _FASTER_WAY * to_host:
        return []
    text = (
        f"{rate / 1e9:.3g} GB/s, like copies to the host ({to_host / 1e9:.3g} GB/s), and "
        f"{usual / 1e9:.3g} GB/s in most of its class: it goes over PCIe or through the host, and "
        "not over NVLink: see nvidia-smi topo -p2p n, and nvidia-smi nvlink -s"
    )
    return [Cause(part="path", text=text, shown=True)]


def _rate(gpu: Gpu, tests: tuple[str, ...]) -> float:
    return max((rate for test, rate in gpu.rates.items() if test.startswith(tests)), default=0.0)


def with_common_gpu(patients: Sequence[Patient]) -> list[Patient]:
    """Name the GPU that all bad pairs of a node have, unless all of its pairs are bad."""
    by_node: dict[str, list[Patient]] = {}
    for one in patients:
        if len(one.place) > 1:
            by_node.setdefault(one.node, []).append(one)
    named: dict[int, Patient] = {}
    for own in by_node.values():
        bad = [one for one in own if one.verdict.is_bad]
        if 1 < len(bad) < len(own):
            for number in set.intersection(*(set(one.place) for one in bad)):
                text = f"all {len(bad)} bad pairs of the node have it: look at its own links"
                cause = Cause(part=f"GPU {number}", text=text, shown=True)
                named |= {id(one): replace(one, causes=(cause, *one.causes)) for one in bad}
    return [named.get(id(one), one) for one in patients]
