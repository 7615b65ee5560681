"""The runs that the paper's evaluation needs, and more that it doesn't have."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
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
MUM is by the authors of ours (docs/simulate.md).
"""
HOST_PROGRAMS: Final = ("bfs", "bfs-rodinia")
"""Those whose memory the CPU accesses between kernels."""
LOCAL_PROGRAMS: Final = ("lib", "wp")
"""Those with per-thread memory: its place makes no difference to the others."""
BASELINES: Final = ("overlapped", "prefetch", "advise")
"""How a programmer does it now; not in the paper."""
POLICIES: Final = ("ideal", "programmer", "whole-page", "single-range", "ranges")
BANDWIDTHS: Final = ("16GB/s", "32GB/s", "96GB/s")
FAULT_UNITS: Final = ("1KiB", "4KiB", "16KiB", "64KiB", "256KiB", "2MiB")
UNITS: Final = ("128", *FAULT_UNITS)
"""The unit sizes of Figure 5: from a line to a page."""
FAULT_LATENCIES: Final = ("0", "20us", "45us")
"""Hardware; a driver at its best, and as in UVMSmart."""
TLB_PAGES: Final = ("4KiB", "2MiB")
_TLB_ENTRIES = "256"
_BANDWIDTH = "16GB/s"

# Other readings of the paper's text, reported beside the default.
VARIANTS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "whole-page, merged": ("whole-page", {"policy.merge": "true"}),
    "whole-page, 128 in all": ("whole-page", {"options.buffer_scope": "total"}),
    "single-range, gap to arrived data": ("single-range", {"policy.single_gap": "valid"}),
}


# 96 GB/s is in the sibling paper; the grid has the variants at 32 GB/s, too.
_BANDWIDTHS_OF = {
    "ideal": BANDWIDTHS,
    "programmer": BANDWIDTHS,
    "whole-page": BANDWIDTHS,
    "ranges": BANDWIDTHS,
    **dict.fromkeys(VARIANTS, BANDWIDTHS[:1]),
}


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


def evaluation(programs: Sequence[str] = PROGRAMS, num_seeds: int = 1) -> list[StudyRun]:
    """List all runs, those of seed 0 first; some have the same point."""
    return [
        run
        for seed in range(num_seeds)
        for study in (_matrix, _units, _faults, _ranges, _tlb)
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
    every = [_plain(policy) for policy in (*POLICIES, *BASELINES)]
    every += [_Series(name, policy, settings) for name, (policy, settings) in VARIANTS.items()]
    for series, bandwidth, program in product(every, BANDWIDTHS, programs):
        if bandwidth in _BANDWIDTHS_OF.get(series.name, BANDWIDTHS[:2]):
            yield _run("matrix", program, series, bandwidth, seed)


def _units(programs: Sequence[str], seed: int) -> Iterator[StudyRun]:
    for unit, program in product(UNITS, programs):
        yield _run("unit", program, _plain("ranges"), _BANDWIDTH, seed, {"policy.unit": unit})


def _faults(programs: Sequence[str], seed: int) -> Iterator[StudyRun]:
    for latency, unit, program in product(FAULT_LATENCIES, FAULT_UNITS, programs):
        place = {"faults.latency": latency, "policy.unit": unit}
        yield _run("fault", program, _plain("ranges"), _BANDWIDTH, seed, place)


def _ranges(programs: Sequence[str], seed: int) -> Iterator[StudyRun]:
    # A bitmap has as many ranges as a page can have: `ranges` would show its own limit.
    for program in programs:
        yield _run("ranges", program, _plain("bitmap"), _BANDWIDTH, seed)


def _tlb(programs: Sequence[str], seed: int) -> Iterator[StudyRun]:
    series = _Series("ranges", "ranges", {"tlb.shared_entries": _TLB_ENTRIES})
    for page, program in product(TLB_PAGES, programs):
        yield _run("tlb", program, series, _BANDWIDTH, seed, {"policy.page": page})


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
