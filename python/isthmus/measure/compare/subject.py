"""What a result measures: two results with the same subject can be compared."""

from dataclasses import dataclass

from isthmus.measure.run.result import Result


@dataclass(frozen=True, kw_only=True)
class Subject:
    """
    One metric of one test at one size, in the same circumstances and measured the same way.

    Attributes:
        circumstances: Everything else that must be equal, name and value.
    """

    test: str
    metric: str
    size_bytes: int
    unit: str
    circumstances: tuple[tuple[str, str], ...]
    words: str


def subject_of(result: Result) -> Subject:
    """Name what a result measures."""
    fixed = {
        "source": result.source,
        "target": result.target,
        "direction": result.direction,
        "clock": result.clock,
        "blocked": result.blocked,
        "cpu_cache": result.cpu_cache,
        "num_threads": result.num_threads,
        "cpu_node": result.cpu_node,
        "data": result.data,
    }
    named = fixed | dict(result.axes)
    known = ((name, str(value)) for name, value in named.items() if value is not None)
    return Subject(
        test=result.test,
        metric=result.metric,
        size_bytes=result.bytes,
        unit=result.unit,
        circumstances=tuple(sorted(known)),
        words=result.variation,
    )
