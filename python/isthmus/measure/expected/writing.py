"""Writes a site's own expected values: what a run of a machine that is known to be well reached."""

import json

from isthmus.errors import UsageError
from isthmus.ground.spelling import counted
from isthmus.measure.expected.judging import best_of_worst, is_plain
from isthmus.measure.expected.shortfall import broken_here, seen_here
from isthmus.measure.expected.values import GpuValues, Value, is_plausible, link_values
from isthmus.measure.run.model import Run
from isthmus.measure.run.result import Result

_FIRST = "# Expected values for `isthmus fleet check --expect` and `isthmus bench --expect`."
# What healthy machines differ by, by the clock that timed it: docs/adr/0013-judging-families.md.
_TOLERANCE = {"device": 0.05, "host": 0.35}


def expectations_of(run: Run) -> GpuValues:
    """Make expected values of a run: rates of large copies, and times of the smallest ones."""
    found: dict[tuple[str, str, str], list[Result]] = {}
    for result in run.results:
        if not (is_plain(result) and result.stopped_by and result.unit in {"B/s", "s"}):
            continue
        if is_plausible(result.median or 0.0, result.unit):
            found.setdefault((result.test, result.metric, result.unit), []).append(result)
    name = run.machine.device.name
    source = f"run {run.run.id} of {run.run.started_at:%Y-%m-%d}"
    values = [_value(results, source, run.machine.emulated) for results in found.values()]
    if not values:
        raise UsageError(
            f"run {run.run.id} has no rate or time that could be expected again",
            hint="make one of copies, such as `isthmus bench bandwidth`",
        )
    return GpuValues(gpu=name, matches=[name], emulated=run.machine.emulated, value=values)


def doubts_of(run: Run) -> list[str]:
    """Say what a run shows of a machine whose values shouldn't be expected of others."""
    machine, failed = run.machine, [r for r in run.results if r.error is not None]
    seen = {} if machine.emulated else seen_here(machine)
    doubts = [seen[part] for part in sorted(broken_here(machine) & seen.keys())]
    if failed and failed[0].error:
        doubts.append(
            f"{counted(len(failed), 'result')} failed, the first is {failed[0].test}: "
            f"{failed[0].error.message}"
        )
    return doubts


def _value(results: list[Result], source: str, emulated: bool) -> Value:
    first, sizes = results[0], [result.bytes for result in results]
    rate = first.unit == "B/s"
    least = min(link_values().from_bytes, max(sizes)) if rate else min(sizes)
    most = None if rate else least
    in_range = [r for r in results if least <= r.bytes <= (most or r.bytes)]
    best = best_of_worst(in_range, first.unit)
    return Value(
        test=first.test,
        metric=first.metric,
        unit="B/s" if rate else "s",
        typical=best.median or 0.0,
        tolerance=_TOLERANCE.get(best.clock, max(_TOLERANCE.values())),
        from_bytes=least,
        to_bytes=most,
        kind="modelled" if emulated else "measured by Isthmus",
        source=source,
    )


def values_text(gpu: GpuValues) -> str:
    """Write values as TOML, as `named_values` reads them."""
    parts = [(_FIRST, gpu.model_dump(exclude={"values"}, exclude_none=True))]
    parts += [("\n[[value]]", value.model_dump(exclude_none=True)) for value in gpu.values]
    lines = []
    for head, fields in parts:
        lines += [
            head,
            *(f"{name} = {json.dumps(fields[name], ensure_ascii=False)}" for name in fields),
        ]
    return "\n".join(lines) + "\n"
