"""Experiments as JSON and CSV: every published figure, also those without ours."""

from collections.abc import Sequence

from isthmus.ground.json_text import csv_of_records, json_text
from isthmus.reproduce.matching import Pair
from isthmus.reproduce.side_by_side import Reproduced


def as_json(every: Sequence[Reproduced]) -> str:
    """Write experiments as JSON, in bytes, seconds and B/s."""
    return json_text(
        {
            "schema_version": 1,
            "experiments": [
                {
                    "name": one.publication.name,
                    "source": one.publication.source.model_dump(mode="json"),
                    "run": one.run.run.id,
                    "device": one.run.machine.device.name,
                    "emulated": one.run.machine.emulated,
                    "figures": [_row(one, pair) for pair in one.pairs],
                }
                for one in every
            ],
        }
    )


def as_csv(every: Sequence[Reproduced]) -> str:
    """Write experiments as CSV, one row for each published figure."""
    records = []
    for one in every:
        for pair in one.pairs:
            row = _row(one, pair)
            between = pair.ours.between if pair.ours else None
            words = "" if between is None else f"{between[0]} and {between[1]}"
            records.append({**row, "measured_between": words, "emulated": _flag(one)})
    return csv_of_records(list(records[0]), records)


def _flag(one: Reproduced) -> str:
    return str(one.run.machine.emulated).lower()


def _row(one: Reproduced, pair: Pair) -> dict[str, object]:
    figure, ours = pair.figure, pair.ours
    single = ours is not None and ours.low == ours.high and ours.words is None
    counted = ours is not None and ours.words is None
    return {
        "experiment": one.publication.name,
        "table": figure.table,
        "quantity": figure.quantity,
        "bytes": figure.bytes,
        "unit": figure.unit,
        "theirs": figure.scaled(figure.value),
        "theirs_low": figure.scaled(figure.min or figure.low),
        "theirs_high": figure.scaled(figure.max or figure.high),
        "theirs_said": figure.said,
        "ours": ours.low if ours and single else None,
        "ours_low": (ours.spread or (ours.low,))[0] if ours and counted else None,
        "ours_high": (ours.spread or (ours.high,))[-1] if ours and counted else None,
        "ours_said": _said(pair),
        "ratio": pair.ratio,
        "measured_between": list(ours.between) if ours and ours.between else None,
        "emulated": one.run.machine.emulated,
        "why_not": pair.why_not or None,
    }


def _said(pair: Pair) -> str | None:
    if pair.ours is None:
        return None
    return "or less" if pair.ours.at_most else pair.ours.words
