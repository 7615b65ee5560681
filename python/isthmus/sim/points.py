"""The points of a sweep: each is a run with a key of its own."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from isthmus.errors import UsageError
from isthmus.ground.spelling import shortened
from isthmus.ground.version import __version__
from isthmus.sim.axes import MACHINE, POLICY, SEED, WORKLOAD
from isthmus.sim.machine_files import load_machine
from isthmus.sim.own import policy_of
from isthmus.sim.quantities import SEED_NUMBER
from isthmus.sim.running import check_setup
from isthmus.sim.settings import Setup, with_settings

_KEY_DIGITS = 16


@dataclass(frozen=True, kw_only=True)
class SweepPoint:
    """
    One run of a sweep.

    Attributes:
        place: Axis -> value, as typed.
        key: A digest of everything that decides the result.
    """

    place: Mapping[str, str]
    workload: str
    seed: int
    setup: Setup
    key: str

    @property
    def label(self) -> str:
        """Name it in one line."""
        return " ".join(f"{name}={value}" for name, value in self.place.items())


@dataclass(frozen=True, kw_only=True)
class Base:
    """What all points of a sweep share, unless an axis says otherwise."""

    workload: str | None
    machine: str
    policy: str
    seed: int
    settings: Mapping[str, str]


def build_points(base: Base, places: Sequence[Mapping[str, str]]) -> list[SweepPoint]:
    """Make a run for every place."""
    built = []
    for place in places:
        try:
            point = _build(base, place)
            check_setup(point.setup)
            built.append(point)
        except UsageError as cause:
            where = " ".join(f"{name}={shortened(value)}" for name, value in place.items())
            raise UsageError(f"{where or 'sweep'}: {cause}", hint=cause.hint) from None
    return built


def key_of(workload: str, seed: int, setup: Setup) -> str:
    """Digest everything that decides a run's result."""
    identity = {
        "version": __version__,
        "workload": workload,
        "seed": seed,
        "setup": setup.model_dump(mode="json"),
        "file": _file_identity(workload),
    }
    text = json.dumps(identity, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_DIGITS]


def _build(base: Base, place: Mapping[str, str]) -> SweepPoint:
    workload = place.get(WORKLOAD, base.workload)
    if workload is None:
        raise UsageError(
            "no workload to simulate", hint="name one, or give --axis workload=bfs,lps"
        )
    seed = SEED_NUMBER.parse(place.get(SEED, base.seed))
    axes = {name: text for name, text in place.items() if "." in name}
    setup = with_settings(
        Setup(
            machine=load_machine(place.get(MACHINE, base.machine)),
            policy=policy_of(place.get(POLICY, base.policy)),
        ),
        {**base.settings, **axes},
    )
    key = key_of(workload, seed, setup)
    return SweepPoint(place=place, workload=workload, seed=seed, setup=setup, key=key)


def _file_identity(workload: str) -> list[int]:
    """Distinguish a trace's file from another of the same name; empty for a workload."""
    try:
        status = Path(workload).stat()
    except (OSError, ValueError):
        return []
    return [status.st_size, status.st_mtime_ns]
