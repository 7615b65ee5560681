"""Predicted times beside measured ones, as text, JSON and CSV."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from isthmus.ground.json_text import json_text
from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Run
from isthmus.show.fitting import PAGE_WIDTH, blocks_text, table_lines, wrapped_lines
from isthmus.show.format import Format
from isthmus.show.page import Table
from isthmus.sim.as_text import csv_text
from isthmus.sim.driver.fitting import Compared
from isthmus.sim.driver.measured import Access
from isthmus.sim.driver.predicting import MIGRATES
from isthmus.sim.driver.programs import ComparedProgram, median_error
from isthmus.sim.machine import ModelledMachine
from isthmus.sim.settings import setting_of

NOTE = "predicted times are modelled; measured ones are the medians of the run"
# What costs are said to be of; their names are those of machine.faults.
_COSTS = {
    "faults": (
        "{latency} a batch, {first} more for the first, {block} a block, {page} a page of 4 KiB",
    ),
    "eviction": ("{evict} a block of 2 MiB that is evicted",),
    "paged": ("{fetch} a unit that a kernel fetches itself",),
    "prefetch": ("{prefetch} an allocation, {prefetch_block} a block of 2 MiB",),
    "back": (
        "{back_fault} a fault, {back_page} a page of 4 KiB",
        "prefetched back {back_prefetch} an allocation, {back_prefetch_block} a block",
    ),
}
_COST = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """
    Predictions beside what a run measured.

    Attributes:
        fitted: The names of the costs that were fitted to it; None if none was to be.
    """

    points: Sequence[Compared] = ()
    programs: Sequence[ComparedProgram] = ()
    left_out: Sequence[str] = ()
    migrates: str = MIGRATES
    fitted: frozenset[str] | None = None


def comparison_text(
    run: Run,
    machine: ModelledMachine,
    found: Comparison,
    wanted: Format,
    *,
    width: int = PAGE_WIDTH,
) -> str:
    """Write what a machine predicts for a run."""
    rows = [*map(_record, found.points), *map(_program_record, found.programs)]
    if wanted is Format.CSV:
        return csv_text(rows)
    if wanted is Format.JSON:
        document = {
            "schema_version": 1,
            "modelled": "predicted_s",
            "run": run.run.id,
            "device": run.machine.device.name,
            "driver": run.machine.driver.driver_version,
            "machine": machine.model_dump(mode="json"),
            "points": rows,
            "not_predicted": list(found.left_out),
            "on_demand": found.migrates,
        }
        return json_text(document)
    blocks = [
        wrapped_lines(_heading(run, machine, found.fitted), width, indent=" " * 10),
        *([table_lines(_table(found.points), width)] if found.points else []),
        *([table_lines(_program_table(found.programs), width)] if found.programs else []),
        wrapped_lines(_foot(found), width),
    ]
    return blocks_text(blocks)


def said_costs(machine: ModelledMachine, of: str, fitted: frozenset[str] | None = None) -> str:
    """
    Say what the modelled driver takes: of faults, eviction, paged, prefetch or back. What isn't
    among `fitted`, the costs that a fit has found, is marked; nothing is without a fit.
    """
    parts = []
    for form in _COSTS[of]:
        names = _COST.findall(form)
        values = {name: getattr(machine.faults, name) for name in names}
        said = form.format(
            **{name: setting_of(f"faults.{name}").text(value) for name, value in values.items()}
        )
        is_kept = fitted is not None and not fitted & set(names)
        parts.append(f"{said} (kept)" if is_kept else said)
    return "; ".join(parts)


def geometric_error(points: Sequence[Compared]) -> float:
    """Give the geometric mean of the factors between predicted and measured, less 1."""
    return exp(sum(abs(log(1 + one.error)) for one in points) / len(points)) - 1


def _heading(run: Run, machine: ModelledMachine, fitted: frozenset[str] | None) -> list[str]:
    measured = f"{run.machine.device.name}, driver {run.machine.driver.driver_version}"
    return [
        f"measured  run {run.run.id[:8]}: {measured}",
        f"machine   {machine.name}: {machine.description}",
        *(f"{of:<9} {said_costs(machine, of, fitted)}" for of in _COSTS),
    ]


def _table(points: Sequence[Compared]) -> Table:
    is_fit = any(one.held_back is not None for one in points)
    rows = tuple(
        (
            one.point.access.value,
            *(("held back" if one.held_back else "fitted",) if is_fit else ()),
            format_size(one.point.size_bytes),
            f"{one.point.seconds * 1e6:.1f}",
            f"{one.seconds * 1e6:.1f}",
            f"{one.error:+.1%}",
        )
        for one in points
    )
    words = ("access", "in the fit") if is_fit else ("access",)
    heads = (*words, "size", "measured, us", "predicted, us", "error")
    return Table(title="", heads=heads, rows=rows, num_text_columns=len(words))


def _program_table(programs: Sequence[ComparedProgram]) -> Table:
    rows = tuple(
        (
            one.point.program.name,
            one.point.way,
            "" if one.point.unit_bytes is None else format_size(one.point.unit_bytes),
            f"{one.point.seconds * 1e6:.1f}",
            f"{one.seconds * 1e6:.1f}",
            "fitted" if one.is_fitted else f"{one.error:+.1%}",
        )
        for one in programs
    )
    heads = ("program", "way", "unit", "measured, us", "predicted, us", "error")
    return Table(title="", heads=heads, rows=rows, num_text_columns=3)


def _foot(found: Comparison) -> list[str]:
    lines = [NOTE]
    if found.migrates != MIGRATES:
        lines.append(f"on demand {found.migrates} migrates, in place of the driver's {MIGRATES}")
    for access in Access:
        some = [
            one for one in found.points if one.point.access is access and one.held_back is not False
        ]
        if some:
            which = ", held back" if some[0].held_back else ""
            lines.append(
                f"{access.value}{which}: {geometric_error(some):.1%} off in the geometric mean"
            )
    if found.programs:
        lines.append(f"programs: {median_error(found.programs):.1%} off in the median")
        lines.append("fitted: how fast the cores compute a program, to its time with resident data")
    predicted = [one for one in found.programs if not one.is_fitted]
    for way in dict.fromkeys(one.point.way for one in predicted):
        some_programs = [one for one in predicted if one.point.way == way]
        lines.append(f"programs, {way}: {median_error(some_programs):.1%} off in the median")
    if found.left_out:
        lines.append(f"not predicted: {', '.join(found.left_out)}")
    return lines


def _record(one: Compared) -> dict[str, object]:
    return {
        "access": one.point.access.value,
        "bytes": one.point.size_bytes,
        "held_back": one.held_back,
        "measured_s": one.point.seconds,
        "predicted_s": one.seconds,
        "error": round(one.error, 4),
    }


def _program_record(one: ComparedProgram) -> dict[str, object]:
    unit = one.point.unit_bytes
    way = one.point.way if unit is None else f"{one.point.way}, units of {format_size(unit)}"
    return {
        "access": f"program {one.point.program.name}: {way}",
        "bytes": one.point.program.large.memory_bytes,
        "held_back": not one.is_fitted,
        "measured_s": one.point.seconds,
        "predicted_s": one.seconds,
        "error": round(one.error, 4),
    }
