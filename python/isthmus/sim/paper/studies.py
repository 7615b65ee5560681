"""The runs that the paper's evaluation needs, and more that it doesn't have."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import Final, NamedTuple

from isthmus.sim.machine_files import DEFAULT_MACHINE, load_machine
from isthmus.sim.points import SweepPoint, key_of
from isthmus.sim.policy import default_policy
from isthmus.sim.settings import Setup, with_settings

# The seven that the paper names, and three of its source (Bakhoda et al., ISPASS 2009) that we
# guess. MUM has the input of that source, which the paper cites for its programs.
PROGRAMS: Final = ("bfs", "mum-140k", "nn", "cp", "lps", "lib", "wp", "aes", "ray", "sto")
RODINIA: Final = {"bfs": "bfs-rodinia", "nn": "nn-rodinia"}
"""
Program -> the one that has its name in Rodinia, from which Zhang 2019 takes BFS, MUM and NN. Its
MUM is by the authors of ours (docs/simulate-evaluation.md).
"""
HOST_PROGRAMS: Final = ("bfs", "bfs-rodinia")
"""Those whose memory the CPU accesses between kernels."""
LOCAL_PROGRAMS: Final = ("lib", "wp")
"""Those with per-thread memory: its place makes no difference to the others."""
BASELINES: Final = ("overlapped", "prefetch", "advise")
"""How a programmer does it now; not in the paper."""
POLICIES: Final = ("ideal", "programmer", "whole-page", "single-range", "ranges")
BANDWIDTHS: Final = ("16GB/s", "32GB/s", "96GB/s")
UNITS: Final = ("1KiB", "4KiB", "16KiB", "64KiB", "256KiB", "2MiB")
"""The unit sizes of Figure 5."""
FAULT_LATENCIES: Final = ("0", "20us", "45us")
"""Hardware; a driver at its best, and as in UVMSmart."""
TLB_PAGES: Final = ("4KiB", "2MiB")
_TLB_ENTRIES = "256"
_BANDWIDTH = "16GB/s"

_SCORED: Final = ("whole-page", "single-range", "ranges")
_TOTAL: Final = {"options.buffer_scope": "total"}
_UNMERGED: Final = {"policy.merge": "false"}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """
    One way to read all of the paper's text.

    Attributes:
        settings: Policy -> what differs from the first reading; a policy without any is as there.
        in_details: Whether it is scored with --details alone.
    """

    meaning: str
    settings: Mapping[str, Mapping[str, str]]
    in_details: bool = False


def _all(settings: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    return dict.fromkeys(_SCORED, settings)


READINGS: Final[Mapping[str, Reading]] = {
    "A": Reading(
        meaning="as fixed before: partial migrations merge requests, whole pages don't; 128 "
        "entries for each partition",
        settings={},
    ),
    "B": Reading(meaning="128 entries in all", settings=_all(_TOTAL)),
    "C": Reading(meaning="nothing merges but units", settings={"single-range": _UNMERGED}),
    "D": Reading(
        meaning="B and C", settings={**_all(_TOTAL), "single-range": {**_TOTAL, **_UNMERGED}}
    ),
    "E": Reading(
        meaning="nothing merges", settings={"single-range": _UNMERGED, "ranges": _UNMERGED}
    ),
    "F": Reading(meaning="everything merges", settings={"whole-page": {"policy.merge": "true"}}),
    "G": Reading(
        meaning="a core may have any number of stores in flight",
        settings=_all({"cores.stores": "0"}),
        in_details=True,
    ),
    "H": Reading(
        meaning="a single range's gap reaches to what has arrived",
        settings={"single-range": {"policy.single_gap": "valid"}},
        in_details=True,
    ),
    "I": Reading(
        meaning="a merged request takes an entry, too",
        settings=_all({"options.merged_waiters": "take_entries"}),
        in_details=True,
    ),
    "J": Reading(
        meaning="reading and changing a page's state take 100 cycles each",
        settings=_all({"gmmu.query_cycles": "100", "gmmu.change_cycles": "100"}),
        in_details=True,
    ),
}
"""Each is scored by itself: a target matched under one says nothing about another one's."""
FIRST: Final = "A"


def series_of(reading: str, policy: str) -> str:
    """Name a policy's runs under a reading."""
    return f"{reading} {policy}" if policy in READINGS[reading].settings else policy


# 96 GB/s is in the sibling paper.
_BANDWIDTHS_OF = {**dict.fromkeys(POLICIES, BANDWIDTHS), "single-range": BANDWIDTHS[:2]}


@dataclass(frozen=True, kw_only=True)
class StudyRun:
    """
    A run of the evaluation.

    Attributes:
        study: matrix, unit, fault, ranges or tlb.
    """

    study: str
    program: str
    series: str
    bandwidth: str
    place: tuple[str, ...]
    point: SweepPoint


class _Series(NamedTuple):
    """A policy under a name, with settings of its own."""

    name: str
    policy: str
    settings: Mapping[str, str]


def evaluation(
    programs: Sequence[str] = PROGRAMS, num_seeds: int = 1, *, details: bool = False
) -> list[StudyRun]:
    """List all runs, those of seed 0 first; some have the same point."""
    studies = (_matrix, _readings, _units, _ranges, _tlb)
    more = (
        partial(_readings, in_details=True),
        partial(_tlb, range_in_tlb="true"),
        _baselines,
        _faults,
    )
    return [
        run
        for seed in range(num_seeds)
        for study in (*studies, *(more if details else ()))
        for run in study(programs, seed)
    ]


def make_point(program: str, policy: str, settings: Mapping[str, str], seed: int = 0) -> SweepPoint:
    """Make a point on the paper's machine."""
    setup = with_settings(_paper_setup(policy), settings)
    return SweepPoint(
        place={"workload": program, "policy": policy, **settings},
        workload=program,
        seed=seed,
        setup=setup,
        key=key_of(program, seed, setup),
    )


@cache
def _paper_setup(policy: str) -> Setup:
    return Setup(machine=load_machine(DEFAULT_MACHINE), policy=default_policy(policy))


def _matrix(programs: Sequence[str], seed: int) -> Iterator[StudyRun]:
    for policy in POLICIES:
        for bandwidth, program in product(_BANDWIDTHS_OF[policy], programs):
            yield _run("matrix", program, _plain(policy), bandwidth, seed)


def _readings(
    programs: Sequence[str], seed: int, *, in_details: bool = False
) -> Iterator[StudyRun]:
    for name, reading in READINGS.items():
        for policy, settings in reading.settings.items():
            if reading.in_details is in_details:
                series = _Series(series_of(name, policy), policy, settings)
                for bandwidth, program in product(_BANDWIDTHS_OF[policy], programs):
                    yield _run("matrix", program, series, bandwidth, seed)


def _baselines(programs: Sequence[str], seed: int) -> Iterator[StudyRun]:
    for policy, bandwidth, program in product(BASELINES, BANDWIDTHS[:2], programs):
        yield _run("matrix", program, _plain(policy), bandwidth, seed)


def _units(programs: Sequence[str], seed: int) -> Iterator[StudyRun]:
    for unit, program in product(UNITS, programs):
        yield _run("unit", program, _plain("ranges"), _BANDWIDTH, seed, {"policy.unit": unit})


def _faults(programs: Sequence[str], seed: int) -> Iterator[StudyRun]:
    for latency, unit, program in product(FAULT_LATENCIES, UNITS, programs):
        place = {"faults.latency": latency, "policy.unit": unit}
        yield _run("fault", program, _plain("ranges"), _BANDWIDTH, seed, place)


def _ranges(programs: Sequence[str], seed: int) -> Iterator[StudyRun]:
    # A bitmap has as many ranges as a page can have: `ranges` would show its own limit.
    for program in programs:
        yield _run("ranges", program, _plain("bitmap"), _BANDWIDTH, seed)


def _tlb(programs: Sequence[str], seed: int, *, range_in_tlb: str = "false") -> Iterator[StudyRun]:
    series = _Series("ranges", "ranges", {"tlb.shared_entries": _TLB_ENTRIES})
    for page, program in product(TLB_PAGES, programs):
        place = {"policy.page": page, "gmmu.range_in_tlb": range_in_tlb}
        yield _run("tlb", program, series, _BANDWIDTH, seed, place)


def _plain(policy: str) -> _Series:
    return _Series(policy, policy, {})


def _run(
    study: str,
    program: str,
    series: _Series,
    bandwidth: str,
    seed: int,
    place: Mapping[str, str] | None = None,
) -> StudyRun:
    swept = place or {}
    link = {"link.bandwidth": bandwidth, "link.back_bandwidth": bandwidth}
    return StudyRun(
        study=study,
        program=program,
        series=series.name,
        bandwidth=bandwidth,
        place=tuple(swept.values()),
        point=make_point(program, series.policy, {**link, **series.settings, **swept}, seed),
    )
