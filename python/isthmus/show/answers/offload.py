"""Whether a computation should go to the GPU, as text."""

from isthmus.decide.advice.offload import Computation, OffloadAdvice, OnGpu, scaled_size
from isthmus.decide.advice.sentence import time_text
from isthmus.ground.sizes import approximate_size, format_size
from isthmus.show.answers.advice import EXTRAPOLATED, profile_head
from isthmus.show.fitting import PAGE_WIDTH, blocks_text, table_lines, wrapped, wrapped_lines
from isthmus.show.page import Table

_INDENT = " " * 10
_COLUMNS = (
    "each time: with its copies; from: how many times, or how many bytes up and down each time, it "
    "takes until the GPU is faster than the CPU. Bytes: if both times grow with them."
)


def offload_as_text(advice: OffloadAdvice, machine: str, *, width: int = PAGE_WIDTH) -> str:
    """Write the answer."""
    computation = advice.computation
    head = [*profile_head(advice.profile, machine), f"question  {_question(computation)}"]
    notes = [
        _COLUMNS,
        *([EXTRAPOLATED] if any(way.extrapolated for way in advice.ways) else []),
        *(f"not possible: {transport}: {why}" for transport, why in advice.refused),
    ]
    blocks = [
        wrapped_lines(head, width, indent=_INDENT),
        wrapped(advice.sentence, width),
        table_lines(_table(advice), width),
        wrapped_lines(notes, width, indent="  "),
    ]
    return blocks_text(blocks)


def _question(computation: Computation) -> str:
    parts = [
        f"{format_size(computation.up_bytes)} up, {format_size(computation.down_bytes)} down",
        f"CPU {time_text(computation.cpu_seconds)}, GPU {time_text(computation.gpu_seconds)}",
        "once" if computation.times == 1 else f"{computation.times} times",
    ]
    if computation.resident_bytes:
        parts.append(f"{format_size(computation.resident_bytes)} stay on the GPU")
    return "; ".join(parts)


def _table(advice: OffloadAdvice) -> Table:
    return Table(
        title=f"The GPU, the fastest way first (CPU: {time_text(advice.cpu_seconds)})",
        heads=("copies", "each time", "everything", "from times", "from bytes"),
        rows=tuple(_row(way, advice.computation) for way in advice.ways),
    )


def _row(way: OnGpu, computation: Computation) -> tuple[str, ...]:
    factor, times = way.pays_from_factor, way.pays_from_times
    return (
        way.transport.value,
        time_text(way.each.seconds),
        f"{time_text(way.cost.seconds)}{'*' if way.extrapolated else ''}",
        "never" if times is None else str(times),
        _bytes_text(computation, factor),
    )


def _bytes_text(computation: Computation, factor: float | None) -> str:
    if not computation.up_bytes + computation.down_bytes:
        return "-"
    return "never" if factor is None else approximate_size(scaled_size(computation, factor))
