"""The results that are derived when a run's results are complete, area by area."""

from collections.abc import Callable, Sequence

from isthmus.measure.bench.derived.allocation_fit import allocation_fits
from isthmus.measure.bench.derived.crossover import crossovers
from isthmus.measure.bench.derived.fit import fits
from isthmus.measure.bench.derived.overlap_ratio import overlap_ratios
from isthmus.measure.run.break_even import break_evens, pinned_gains
from isthmus.measure.run.result import Result

_AREAS: tuple[Callable[[Sequence[Result]], list[Result]], ...] = (
    crossovers,
    fits,
    allocation_fits,
    break_evens,
    pinned_gains,
    overlap_ratios,
)


def derived(results: Sequence[Result]) -> list[Result]:
    """Derive results from those that were measured."""
    return [found for derive in _AREAS for found in derive(results)]
