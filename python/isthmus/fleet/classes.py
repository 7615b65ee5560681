"""
Classes of equal machines: GPUs are judged by others of their own class alone.

The GPU, the CPU and the kind of device decide. Within such a group, those with another link or
another driver are a class of their own only if there are enough of them; the few that differ from
all others stay with the others: that difference may be what is wrong with them.

Pairs and shares (see `places`) are compared with those of the same GPUs on other nodes. Where too
few nodes have these, with all pairs or shares of equal nodes. Places that are equally fast on most
nodes are one kind.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from isthmus.fleet.measured import Gpu
from isthmus.fleet.places import NOUNS, Place
from isthmus.fleet.standing import FEWEST

OWN_CLASS = 8
"""So many GPUs with another link or driver are a class of their own."""
# Rates of places that differ by no more are those of one kind.
_ALIKE = 1.05


@dataclass(frozen=True, kw_only=True)
class MachineClass:
    """
    GPUs that should be equally fast.

    Attributes:
        usual: The value that most of them have, by the names of `facts_of`.
    """

    name: str
    gpus: tuple[Gpu, ...]
    usual: dict[str, str]

    @property
    def is_mixed(self) -> bool:
        """Whether it has different places, and too few nodes tell whether these are one kind."""
        places = Counter(gpu.place for gpu in self.gpus)
        return len(places) > 1 and min(places.values()) < FEWEST


def classes_of(gpus: Sequence[Gpu]) -> list[MachineClass]:
    """Divide GPUs into classes, the largest first."""
    groups: dict[tuple[object, ...], list[Gpu]] = {}
    for gpu in gpus:
        groups.setdefault(_group(gpu), []).append(gpu)
    kinds = [kind for group in groups.values() for kind in _kinds(group)]
    found = [_class(part) for kind in kinds for part in _parts(kind)]
    return sorted(found, key=lambda one: (-len(one.gpus), one.name))


def _group(gpu: Gpu) -> tuple[object, ...]:
    machine = gpu.machine
    name = machine.device.name
    return (machine.emulated, name, machine.host.cpu_model, gpu.num_gpus, len(gpu.place))


def _kinds(group: Sequence[Gpu]) -> list[list[Gpu]]:
    """Divide pairs or shares by what their place reaches on most of the nodes."""
    places: dict[Place, list[Gpu]] = {}
    for gpu in group:
        places.setdefault(gpu.place, []).append(gpu)
    if min(map(len, places.values())) < FEWEST:
        return [list(group)]
    kinds: list[tuple[float, list[Gpu]]] = []
    for own in sorted(places.values(), key=_usual_rate):
        if not kinds or _usual_rate(own) > _ALIKE * kinds[-1][0]:
            kinds.append((_usual_rate(own), []))
        kinds[-1][1].extend(own)
    return [kind for _, kind in kinds]


def _usual_rate(gpus: Sequence[Gpu]) -> float:
    return median(max(gpu.rates.values(), default=0.0) for gpu in gpus)


def _parts(group: Sequence[Gpu]) -> list[list[Gpu]]:
    parts: dict[tuple[object, ...], list[Gpu]] = {}
    for gpu in group:
        parts.setdefault(_link_and_driver(gpu), []).append(gpu)
    ordered = sorted(parts.values(), key=len, reverse=True)
    own = [ordered[0], *(part for part in ordered[1:] if len(part) >= OWN_CLASS)]
    few = [gpu for part in ordered[1:] if len(part) < OWN_CLASS for gpu in part]
    return [[*own[0], *few], *own[1:]]


def _link_and_driver(gpu: Gpu) -> tuple[object, ...]:
    link, driver = gpu.machine.link, gpu.machine.driver
    return (link.generation_max, link.width_max, driver.driver_version, driver.cuda_version)


def _class(gpus: Sequence[Gpu]) -> MachineClass:
    usual = {
        name: Counter(gpu.facts[name] for gpu in gpus).most_common(1)[0][0]
        for name in gpus[0].facts
    }
    words = [usual[name] for name in ("GPU", "link", "CPU", "driver")]
    name = ", ".join(word for word in words if word != "unknown")
    name = f"{NOUNS[len(gpus[0].place)]}s of {name}" if gpus[0].place else name
    return MachineClass(name=name, gpus=tuple(gpus), usual=usual)
