"""What a result is about: two results with the same subject can be compared."""

from dataclasses import dataclass

from isthmus.run.result import Result
from isthmus.sizes import format_size


@dataclass(frozen=True, kw_only=True)
class Subject:
    """
    One metric of one test at one size, in the same circumstances and measured the same way.

    Attributes:
        test: Its name.
        metric: Its name.
        size_bytes: Of one copy.
        unit: Of the numbers.
        circumstances: What else must be alike, name and value.
    """

    test: str
    metric: str
    size_bytes: int
    unit: str
    circumstances: tuple[tuple[str, str], ...]

    @property
    def words(self) -> str:
        """The special circumstances, for people: "cold, 4 threads, 2 streams"; perhaps empty."""
        named = dict(self.circumstances)
        parts = [
            "cold" if named.pop("cpu_cache") == "cold" else "",
            _threads(named.pop("num_threads")),
            f"{named.pop('cpu_node')} node" if "cpu_node" in named else "",
            f"{named.pop('data')} data" if "data" in named else "",
            *(_axis(name, value) for name, value in sorted(named.items()) if name not in _SILENT),
        ]
        return ", ".join(filter(None, parts))

    @property
    def label(self) -> str:
        """The whole subject in one line."""
        words = f", {self.words}" if self.words else ""
        return f"{self.test} {self.metric} {format_size(self.size_bytes)}{words}"


# They tell ways of measuring apart, and follow from the test.
_SILENT = frozenset({"clock", "blocked", "source", "target", "direction"})


def subject_of(result: Result) -> Subject:
    """Name what a result is about."""
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
    )


def _threads(number: str) -> str:
    return f"{number} threads" if number != "1" else ""


def _axis(name: str, value: str) -> str:
    spoken = name.replace("_", " ")
    return f"{value} {spoken}" if value.isdecimal() else f"{spoken} {value}"
