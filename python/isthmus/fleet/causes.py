"""
Why a GPU may be slower than its class: what its run and its diagnosis show, and others' don't.

The texts are those of `isthmus bench --expect` and `isthmus doctor`.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isthmus.fleet.classes import MachineClass
from isthmus.fleet.clocks import TIME_OF_DAY
from isthmus.fleet.measured import Gpu
from isthmus.measure.compare.families import Family
from isthmus.measure.doctor.check import Check, Status
from isthmus.measure.expected.shortfall import seen_here

# What identifies a machine, is another for each GPU of a node, or is in `seen_here` already.
_NO_CAUSE = {
    *("GPU's UUID", "PCI address", "bound to node", "performance state", "clocks reduced by"),
    *("huge pages", "GPU", "CPU"),
}
# A doctor's check -> what `seen_here` calls the same part of the machine.
_SAME = {"numa": "NUMA"}
_OF_A_GPU = re.compile(r"gpu (?P<number>\d+) (?P<part>.+)")
_PEERS = "peers"
_STATUSES = {status: rank for rank, status in enumerate(Status)}
# The most telling first; what isn't here comes after the rest.
_ORDER = (
    *("link", "slot", "link errors", "iommu", "NUMA", "placement", "power", "clocks", "cores"),
    *("CPUs", "huge pages", "virtualisation", "driver", "CUDA"),
)
# What explains only copies that the CPU takes part in, or only those that it doesn't.
_OF_THE_CPU = {"huge pages", "cores", "CPUs"}
_OF_THE_LINK = {"link", "slot", "link errors", "iommu"}
# What is no fault of a GPU's data path, however different it is.
_OF_NO_COPY = {
    "memlock",
    "profile",
    "windows",
    "memory",
    "cpu",
    "driver symbols",
    "gpus",
    "clock",
    TIME_OF_DAY,
}


@dataclass(frozen=True, kw_only=True)
class Cause:
    """
    Something about one GPU that isn't so with most GPUs of its class.

    Attributes:
        part: The part of the machine: "link", "NUMA", "driver".
        shown: Whether it makes copies slow by itself; False if it only differs from the class.
    """

    part: str
    text: str
    shown: bool

    def explains(self, family: Family) -> bool:
        """Whether this can slow such results down."""
        by_cpu = family.staged or family.clock == "host"
        if self.part in _OF_THE_CPU:
            return by_cpu
        return not (self.part in _OF_THE_LINK and by_cpu)


class Causes:
    """What is unusual about the GPUs of one class."""

    def __init__(self, one: MachineClass, checks: Mapping[str, Sequence[Check]]) -> None:
        """Find what is usual."""
        self._class = one
        self._checks = {
            id(gpu): _by_part(gpu, checks[gpu.node]) for gpu in one.gpus if gpu.node in checks
        }
        seen = [seen_here(gpu.machine) for gpu in one.gpus]
        self._usual_parts = Counter(part for lines in seen for part in lines)
        self.usual_lines = Counter(line for lines in seen for line in lines.values())
        statuses: dict[str, Counter[Status]] = {}
        for own in self._checks.values():
            for part, check in own.items():
                statuses.setdefault(part, Counter())[check.status] += 1
        self._usual_statuses = {
            part: counts.most_common(1)[0][0] for part, counts in statuses.items()
        }

    def of(self, gpu: Gpu) -> list[Cause]:
        """List what is unusual about a GPU of the class, the most telling first."""
        found = {cause.part: cause for cause in self._differences(gpu)}
        found |= {cause.part: cause for cause in self._diagnosed(gpu)}
        found |= {cause.part: cause for cause in self._seen(gpu)}
        return sorted(found.values(), key=lambda cause: (not cause.shown, _place(cause.part)))

    def usual_of(self, gpu: Gpu) -> list[Cause]:
        """List what its run shows, though most of the class show the same."""
        seen = seen_here(gpu.machine).items()
        return [Cause(part=part, text=text, shown=True) for part, text in seen]

    def _seen(self, gpu: Gpu) -> list[Cause]:
        """What its run shows, unless most of the class show the same."""
        half = len(self._class.gpus) / 2
        alone = len(self._class.gpus) == 1
        return [
            cause
            for cause in self.usual_of(gpu)
            if alone or cause.part in gpu.faults or self._usual_parts[cause.part] <= half
        ]

    def _diagnosed(self, gpu: Gpu) -> list[Cause]:
        own = self._checks.get(id(gpu), {})
        return [
            Cause(part=part, text=text_of(check), shown=True)
            for part, check in own.items()
            if _STATUSES[check.status] > _STATUSES[self._usual_statuses[part]]
        ]

    def _differences(self, gpu: Gpu) -> list[Cause]:
        return [
            Cause(part=name, text=f"{name} {value}; most of its class: {usual}", shown=False)
            for name, usual in self._class.usual.items()
            if name not in _NO_CAUSE and (value := gpu.facts[name]) != usual
        ]


def _by_part(gpu: Gpu, checks: Sequence[Check]) -> dict[str, Check]:
    """Give the checks of a node that are about one of its GPUs or the host, by their part."""
    found: dict[str, Check] = {}
    own = {str(number) for number in gpu.place or (gpu.machine.device.ordinal,)}
    for check in checks:
        match = _OF_A_GPU.fullmatch(check.name)
        if match and match["number"] not in own:
            continue
        part = match["part"] if match else check.name
        part = _SAME.get(part, part)
        if part in _OF_NO_COPY or (part == _PEERS and not _is_about(check, gpu)):
            continue
        # Of a pair's two GPUs, the worse one counts.
        found[part] = max(found.get(part, check), check, key=lambda one: _STATUSES[one.status])
    return found


def _is_about(check: Check, gpu: Gpu) -> bool:
    """Whether the check of peer access is about this pair; ACS is about all of a node."""
    refused = check.facts.get("refused")
    other = isinstance(refused, list) and refused and list(gpu.place) not in refused
    return len(gpu.place) > 1 and (not other or bool(check.facts.get("acs")))


def text_of(check: Check) -> str:
    """Say what a check of the doctor found, and what to do about it."""
    return "; ".join(filter(None, (check.finding, check.advice)))


def _place(part: str) -> int:
    return _ORDER.index(part) if part in _ORDER else len(_ORDER)
