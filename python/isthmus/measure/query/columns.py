"""The views that a question may use: their columns, each with its type and meaning."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Literal

from isthmus.measure.run.folder import NodeFile
from isthmus.measure.run.model import Run
from isthmus.measure.run.result import Result

SqlType = Literal["VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP"]


@dataclass(frozen=True)
class Column:
    """
    A column of a view.

    Attributes:
        type: DuckDB's type. Times are in UTC.
        value: Its value of a run's file, of a run, or of one of its results: see `of`. None for
            NULL.
    """

    name: str
    type: SqlType
    about: str
    value: Callable[[Any], Any]
    of: Literal["file", "run", "result"] = "run"


def _of_file(name: str, about: str, value: Callable[[NodeFile], str | None]) -> Column:
    return Column(name, "VARCHAR", about, value, "file")


def _of_result(name: str, kind: SqlType, about: str) -> Column:
    return Column(name, kind, about, attrgetter(name), "result")


def _of_machine(path: str, kind: SqlType, about: str, name: str = "") -> Column:
    """Make a column of a fact of the machine, by its path, such as "host.kernel"."""

    def value(run: Run) -> object:
        found: Any = run.machine
        for part in path.split("."):
            found = None if found is None else getattr(found, part)
        return found

    return Column(name or path.rpartition(".")[2], kind, about, value)


def _at(name: str, about: str) -> Column:
    """Make a column of a time. DuckDB's times without a zone need no further package."""

    def value(run: Run) -> datetime | None:
        found: datetime = getattr(run.run, name)
        try:
            return found.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            # The first and the last day of Python's calendar, in a zone that leads out of it.
            return None

    return Column(name, "TIMESTAMP", about, value)


def _reason(result: Result) -> str | None:
    return result.error.message if result.error is not None else result.reason


KEYS = (
    _of_file("node", "the node, by its folder or file; NULL for a kept run", lambda one: one.node),
    Column("run", "VARCHAR", "the run's id", lambda run: run.run.id),
    _of_machine("device.uuid", "VARCHAR", "the GPU's UUID", "gpu"),
    _of_machine("emulated", "BOOLEAN", "the numbers are modelled"),
)

RESULTS = (
    *KEYS,
    _of_result("test", "VARCHAR", "the test's name"),
    _of_result("suite", "VARCHAR", "its suite"),
    _of_result("metric", "VARCHAR", "what was measured"),
    _of_result("status", "VARCHAR", "passed, waived or error"),
    _of_result("direction", "VARCHAR", "h2d or d2h; NULL for both, or none"),
    _of_result("source", "VARCHAR", "the memory that is read"),
    _of_result("target", "VARCHAR", "the memory that is written"),
    _of_result("bytes", "BIGINT", "the size of one copy"),
    _of_result("unit", "VARCHAR", "the unit of the numbers: B/s, s, B, or 1 for a ratio"),
    _of_result("median", "DOUBLE", "NULL unless passed, like the numbers below"),
    _of_result("min", "DOUBLE", "the smallest sample"),
    _of_result("max", "DOUBLE", "the largest sample"),
    _of_result("p99", "DOUBLE", "the 99th percentile"),
    _of_result("iqr", "DOUBLE", "the interquartile range"),
    _of_result("cov", "DOUBLE", "standard deviation over mean"),
    _of_result("n", "BIGINT", "the number of samples"),
    _of_result("num_outliers", "BIGINT", "samples far from the rest"),
    _of_result("drift", "DOUBLE", "how much processes differ, with --repeat"),
    _of_result("clock", "VARCHAR", "whose clock timed it: device or host"),
    _of_result("cpu_cache", "VARCHAR", "warm or cold"),
    _of_result("num_threads", "BIGINT", "the most threads that could share one copy"),
    Column(
        "circumstances",
        "VARCHAR",
        "unusual circumstances, in words; may be empty",
        attrgetter("variation"),
        "result",
    ),
    Column("reason", "VARCHAR", "why it was waived, or the error", _reason, "result"),
)

MACHINES = (
    *KEYS,
    _of_file("file", "the run's file", lambda one: str(one.path)),
    _at("started_at", "when the run began"),
    _at("finished_at", "when it ended"),
    Column("interrupted", "BOOLEAN", "it ended early", lambda run: run.run.interrupted),
    Column(
        "isthmus_version",
        "VARCHAR",
        "the version that measured",
        lambda run: run.run.isthmus_version,
    ),
    _of_machine("profile", "VARCHAR", "the emulated profile"),
    _of_machine("device.name", "VARCHAR", "the GPU's name", "gpu_name"),
    _of_machine("device.pci_address", "VARCHAR", "the GPU's PCI address"),
    _of_machine("device.total_memory_bytes", "BIGINT", "the GPU's memory", "gpu_memory_bytes"),
    _of_machine("device.numa_node", "BIGINT", "the node to which the GPU is attached", "gpu_node"),
    _of_machine("driver.driver_version", "VARCHAR", "the driver's release"),
    _of_machine("driver.cuda_version", "VARCHAR", "the CUDA version of the driver"),
    _of_machine("host.cpu_model", "VARCHAR", "the CPU"),
    _of_machine("host.num_cpus", "BIGINT", "logical CPUs that the run could use"),
    _of_machine("host.memory_bytes", "BIGINT", "the host's memory"),
    _of_machine("host.kernel", "VARCHAR", "the kernel of Linux"),
    _of_machine("host.transparent_huge_pages", "VARCHAR", "always, madvise or never"),
    Column(
        "num_numa_nodes",
        "BIGINT",
        "the host's NUMA nodes",
        lambda run: len(run.machine.host.numa_nodes),
    ),
    _of_machine("host.measured_on_node", "BIGINT", "the node of thread and memory"),
    Column(
        "notes",
        "VARCHAR",
        "what the run doesn't know, and why",
        lambda run: "; ".join(run.machine.notes),
    ),
)


def _throttled(run: Run) -> str | None:
    reasons = run.machine.gpu_state.throttle_reasons
    return None if reasons is None else ", ".join(reasons)


LINKS = (
    *KEYS,
    _of_machine("link.generation", "BIGINT", "the PCIe generation in use"),
    _of_machine("link.generation_max", "BIGINT", "what GPU and slot support together"),
    _of_machine("link.width", "BIGINT", "the lanes in use"),
    _of_machine("link.width_max", "BIGINT", "what GPU and slot support together"),
    _of_machine("link.read_under_load", "BOOLEAN", "copies were running; an idle link trains down"),
    _of_machine("link.bar1_bytes", "BIGINT", "how much GPU memory the CPU can map at once"),
    _of_machine("gpu_state.performance_state", "VARCHAR", "P0 is the fastest"),
    _of_machine("gpu_state.sm_clock_hz", "BIGINT", "the clock of the multiprocessors"),
    _of_machine("gpu_state.memory_clock_hz", "BIGINT", "the clock of the GPU's memory"),
    Column("throttled_by", "VARCHAR", "what reduced the clocks; empty if nothing did", _throttled),
    _of_machine("link_errors.replays", "BIGINT", "packets sent again during the run"),
    _of_machine("link_errors.correctable", "BIGINT", "AER errors that were corrected"),
    _of_machine("link_errors.nonfatal", "BIGINT", "AER errors that cost a transaction"),
    _of_machine("link_errors.fatal", "BIGINT", "AER errors that made the link unreliable"),
)

VIEWS = {"results": RESULTS, "machines": MACHINES, "links": LINKS}
"""By name: `results` has a row for each result, the others have one for each run."""
