"""What is worked out from a run's results when all are there, area by area."""

from collections.abc import Callable, Sequence

from isthmus.bench.crossover import crossovers
from isthmus.run.result import Result

_AREAS: tuple[Callable[[Sequence[Result]], list[Result]], ...] = (crossovers,)


def derived(results: Sequence[Result]) -> list[Result]:
    """Derive results from those that were measured."""
    return [found for derive in _AREAS for found in derive(results)]
