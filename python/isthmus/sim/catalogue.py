"""What can be simulated: workloads, policies, machines, settings, open questions."""

import json
from collections.abc import Mapping

from isthmus.show.fitting import PAGE_WIDTH, table_lines
from isthmus.show.format import Format
from isthmus.show.page import Table
from isthmus.sim.as_text import csv_text
from isthmus.sim.machine_files import DEFAULT_MACHINE, load_machine, machine_names
from isthmus.sim.options import QUESTIONS
from isthmus.sim.policy import MEANINGS, default_policy
from isthmus.sim.settings import WORKLOAD, Setup, setting_of, settings

_Row = Mapping[str, str]


def catalogue_text(wanted: Format, *, width: int = PAGE_WIDTH) -> str:
    """List everything, in a format; text in lines of this width."""
    groups: dict[str, list[_Row]] = {
        "workloads": _workloads(),
        "sizes of workloads": _sizes(),
        "policies": [{"name": kind.value, "meaning": text} for kind, text in MEANINGS.items()],
        "machines": _machines(),
        "settings": _settings(),
        "open questions of Zhang 2019": _questions(),
    }
    if wanted is Format.JSON:
        return json.dumps({"schema_version": 1, **groups}, indent=1) + "\n"
    if wanted is Format.CSV:
        rows = [
            {"group": group, "name": row["name"], "meaning": _meaning(row)}
            for group, rows in groups.items()
            for row in rows
        ]
        return csv_text(rows)
    return "\n".join("\n".join([*_lines(group, rows, width), ""]) for group, rows in groups.items())


def _meaning(row: _Row) -> str:
    """Say in one cell what a row is; a size's workload and values, too."""
    meaning = row.get("meaning", "")
    if "workload" not in row:
        return meaning
    return f"{row['workload']}: {meaning}; {row['usual']} if not set; {row['allowed']}"


def _lines(group: str, rows: list[_Row], width: int) -> list[str]:
    heads = tuple(rows[0])
    cells = tuple(tuple(row[head] for head in heads) for row in rows)
    table = Table(title=group, heads=heads, rows=cells, num_text_columns=len(heads))
    return table_lines(table, width)


def _workloads() -> list[_Row]:
    from isthmus import _native

    return [
        {
            "name": one.name,
            "paper": "yes" if one.in_paper else "",
            "meaning": one.description + (f" (made up: {one.synthetic})" if one.synthetic else ""),
        }
        for one in _native.workloads()
    ]


def _sizes() -> list[_Row]:
    from isthmus import _native

    return [
        {
            "workload": one.name,
            "name": f"{WORKLOAD}.{size.name}",
            "usual": setting_of(f"{WORKLOAD}.{size.name}").text(size.usual),
            "allowed": size.allowed,
            "meaning": size.meaning,
        }
        for one in _native.workloads()
        for size in one.sizes
    ]


def _machines() -> list[_Row]:
    return [{"name": name, "meaning": load_machine(name).description} for name in machine_names()]


def _settings() -> list[_Row]:
    """List settings, with the values of the machine and the proposal of Zhang 2019."""
    setup = Setup(machine=load_machine(DEFAULT_MACHINE), policy=default_policy("ranges"))
    return [
        {
            "name": setting.name,
            "value": setting.text(setup.value(setting.name)),
            "choices": ", ".join(setting.choices),
            "meaning": " ".join(setting.meaning.split()),
        }
        for setting in settings().values()
    ]


def _questions() -> list[_Row]:
    return [
        {
            "name": str(one.number),
            "setting": one.setting or "-",
            "choices": ", ".join(one.choices),
            "meaning": f"{one.question} {one.reason}",
        }
        for one in QUESTIONS
    ]
