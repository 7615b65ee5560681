"""The results of the evaluation's runs, by program, policy and bandwidth; and their averages."""

from collections.abc import Iterable, Mapping
from copy import copy
from statistics import fmean, geometric_mean

from isthmus.sim.paper.studies import (
    BANDWIDTHS,
    FAULT_LATENCIES,
    PROGRAMS,
    READINGS,
    TLB_PAGES,
    UNITS,
    StudyRun,
    series_of,
)
from isthmus.sim.store import Row

_REFERENCE = "programmer"
TLB_READINGS = {
    "of the shared TLB, for each request": ("tlb_shared_misses", "tlb_accesses"),
    "of the shared TLB, for each of its look-ups": ("tlb_shared_misses", "tlb_shared_accesses"),
    "of the core's TLB": ("tlb_misses", "tlb_accesses"),
    "of the core's TLB, or not migrated": ("tlb_misses_or_absent", "tlb_accesses"),
    "of the core's TLB, after L1": ("tlb_misses_after_l1", "tlb_accesses_after_l1"),
    "of the core's TLB, or not migrated, after L1": (
        "tlb_misses_or_absent_after_l1",
        "tlb_accesses_after_l1",
    ),
}
"""Reading of "TLB miss rate" -> numerator and denominator. The first is the default."""


class Evaluation:
    """The finished runs with one input, seed 0; `by_seed` has them with the others."""

    def __init__(self, runs: Iterable[StudyRun], rows: Mapping[str, Row]) -> None:
        """Match rows, by the keys of their points, with runs; runs without one are left out."""
        self._seed = 0
        self._rows: dict[tuple[int | str, ...], Row] = {}
        seeds, absent = set(), set()
        for run in runs:
            row = rows.get(run.point.key)
            seed = run.point.seed
            seeds.add(seed)
            if row is None or row["error"] is not None:
                absent.add(seed)
                continue
            self._rows[seed, run.study, run.program, run.series, run.bandwidth, *run.place] = row
        self._seeds = sorted(seeds - (absent - {0}))

    def by_seed(self) -> "list[Evaluation]":
        """Give the evaluation with each input whose runs are all finished, this one first."""
        return [self._with_seed(seed) for seed in self._seeds]

    def _with_seed(self, seed: int) -> "Evaluation":
        other = copy(self)
        other._seed = seed  # noqa: SLF001 - a copy of this one
        return other

    def number(self, column: str, study: str, program: str, series: str, *place: str) -> float:
        """Give a number of one run."""
        value = self._rows[self._seed, study, program, series, *place][column]
        return float(value or 0)

    def ratio(self, program: str, series: str, bandwidth: str) -> float:
        """Give a program's time over the time of the programmer's copy."""
        return self._time("matrix", program, series, bandwidth) / self._base(program, bandwidth)

    def ratios(self, series: str, bandwidth: str) -> list[float]:
        """Give the ratios of all programs that are finished."""
        return [self.ratio(program, series, bandwidth) for program in self.programs()]

    def mean(self, series: str, bandwidth: str) -> float:
        """Give the arithmetic mean of the ratios."""
        return fmean(self.ratios(series, bandwidth))

    def overlap_bound(self, bandwidth: str) -> float:
        """
        Give the mean of the programs' least time ratios if nothing that the programmer copies is
        left out, but copies (X) hide behind computing (C) perfectly: max(C, X) of C + X.
        """
        return fmean(max(share, 1 - share) for share in self.ratios("ideal", bandwidth))

    def mean_over(self, series: str, other: str, bandwidth: str) -> float:
        """Give the arithmetic mean of a policy's times over those of another."""
        ratios = zip(self.ratios(series, bandwidth), self.ratios(other, bandwidth), strict=True)
        return fmean(one / two for one, two in ratios)

    def has_reading(self, reading: str) -> bool:
        """Whether a reading was run."""
        series = [series_of(reading, policy) for policy in READINGS[reading].settings]
        return all(
            self._ran(program, one, BANDWIDTHS[0]) for one in series for program in self.programs()
        )

    def _ran(self, program: str, series: str, bandwidth: str) -> bool:
        return (self._seed, "matrix", program, series, bandwidth) in self._rows

    def programs(self) -> list[str]:
        """List the programs with every run of the matrix."""
        return [
            program
            for program in PROGRAMS
            if all(self._ran(program, _REFERENCE, one) for one in BANDWIDTHS)
        ]

    def unit_ratio(self, program: str, unit: str) -> float:
        """Give the time ratio of a unit size for a program at the bandwidth of Figure 5."""
        return self._time("unit", program, "ranges", BANDWIDTHS[0], unit) / self._base(
            program, BANDWIDTHS[0]
        )

    def unit_means(self) -> dict[str, float]:
        """Give the arithmetic mean of Figure 5's ratios for each unit size."""
        return {
            unit: fmean(self.unit_ratio(program, unit) for program in self.programs())
            for unit in UNITS
        }

    def fault_means(self) -> dict[tuple[str, str], float]:
        """Give the mean ratio for each fault latency and unit size."""
        return {
            (latency, unit): fmean(
                self._time("fault", program, "ranges", BANDWIDTHS[0], latency, unit)
                / self._base(program, BANDWIDTHS[0])
                for program in self.programs()
            )
            for latency in FAULT_LATENCIES
            for unit in UNITS
        }

    def best_units(self) -> dict[str, tuple[str, ...]]:
        """
        Give the unit sizes with the smallest mean, for each fault latency: several if other inputs
        have another.
        """
        found = [one.fault_means() for one in self.by_seed()]
        best = {
            latency: {_smallest(means, latency) for means in found} for latency in FAULT_LATENCIES
        }
        return {
            latency: tuple(unit for unit in UNITS if unit in units)
            for latency, units in best.items()
        }

    def tlb_rates(self, page: str) -> dict[str, float]:
        """Give the mean of the programs' miss rates, for every reading."""
        assert page in TLB_PAGES  # noqa: S101 - the two that were run
        return {
            f"{reading}{', if entries hold the range' * (in_entry == 'true')}": self._share(
                numerator, denominator, page, in_entry
            )
            for in_entry in ("false", "true")
            if self._ran_tlb(page, in_entry)
            for reading, (numerator, denominator) in TLB_READINGS.items()
        }

    def _ran_tlb(self, page: str, in_entry: str) -> bool:
        place = ("ranges", BANDWIDTHS[0], page, in_entry)
        return all((self._seed, "tlb", one, *place) in self._rows for one in self.programs())

    def _share(self, numerator: str, denominator: str, page: str, in_entry: str) -> float:
        rates = []
        for program in self.programs():
            place = (program, "ranges", BANDWIDTHS[0], page, in_entry)
            accesses = self.number(denominator, "tlb", *place)
            rates.append(self.number(numerator, "tlb", *place) / accesses if accesses else 0.0)
        return fmean(rates)

    def _time(self, study: str, program: str, series: str, *place: str) -> float:
        return self.number("total_ps", study, program, series, *place)

    def _base(self, program: str, bandwidth: str) -> float:
        return self._time("matrix", program, _REFERENCE, bandwidth)


def _smallest(means: Mapping[tuple[str, str], float], latency: str) -> str:
    return min(UNITS, key=lambda unit: means[latency, unit])


def means(ratios: list[float]) -> tuple[float, float]:
    """Give the arithmetic and the geometric mean."""
    return fmean(ratios), geometric_mean(ratios)
