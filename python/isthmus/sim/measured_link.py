"""A machine with the link of a real one, as `isthmus profile` measured it."""

from math import isfinite

from isthmus.decide.profile.model import Cost, Profile
from isthmus.errors import UsageError
from isthmus.sim.machine import ModelledMachine
from isthmus.sim.settings import Setup, with_settings


def with_measured_link(setup: Setup, profile: Profile) -> Setup:
    """
    Take the link's bandwidths from a profile: the best of any path from or to pinned memory, at its
    longest copy. The latency stays the machine's: a profile times whole copies, with the driver's
    work, and not a GPU's own requests.
    """
    rates = {
        "link.bandwidth": _best_rate(profile, "h2d"),
        "link.back_bandwidth": _best_rate(profile, "d2h"),
    }
    texts = {name: f"{round(rate)}B/s" for name, rate in rates.items()}
    return with_settings(setup, {**texts, "link.packet": "0", "link.packet_overhead": "0"})


def link_source(machine: ModelledMachine, profile: Profile) -> str:
    """Say where the link comes from, for a note."""
    of = f"{profile.machine.link} of {profile.machine.gpu_name}"
    if profile.machine.emulated:
        return f"{machine.name} with the link of an emulated device, modelled too: {of}"
    return f"{machine.name} with the link that was measured here: {of}"


def _best_rate(profile: Profile, direction: str) -> float:
    rates = [
        _rate(cost)
        for cost in profile.costs
        if cost.direction == direction and cost.host_memory == "pinned"
    ]
    if not rates:
        raise UsageError(
            f"the profile has no {direction.upper()} copies of pinned memory",
            hint="`isthmus profile` measures them",
        )
    if not isfinite(max(rates)):
        raise UsageError(
            f"the profile's {direction.upper()} copies of pinned memory take no time",
            hint="`isthmus profile` makes a new one",
        )
    return max(rates)


def _rate(cost: Cost) -> float:
    last = cost.points[-1]
    return last.bytes / last.seconds
