"""What is known of pairs and shares once all runs are read, and why pairs are slow."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from isthmus.fleet.causes import Cause
from isthmus.fleet.health import Patient
from isthmus.fleet.measured import Fleet, Gpu

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
