"""What can be simulated: workloads, policies, machines, settings, open questions."""

import json
from collections.abc import Mapping
from enum import StrEnum

from isthmus.errors import UsageError
from isthmus.ground.spelling import did_you_mean, shortened
from isthmus.show.fitting import PAGE_WIDTH, blocks_text, table_lines, wrapped_lines
from isthmus.show.format import Format
from isthmus.show.page import Table
from isthmus.sim.as_text import csv_text
from isthmus.sim.machine_files import DEFAULT_MACHINE, load_machine, machine_names
from isthmus.sim.options import QUESTIONS
from isthmus.sim.policy import MEANINGS, default_policy
from isthmus.sim.settings import WORKLOAD, Setup, setting_of, settings

_Row = Mapping[str, str]


class Topic(StrEnum):
    """What can be listed alone."""

    WORKLOADS = "workloads"
    POLICIES = "policies"
    MACHINES = "machines"
    SETTINGS = "settings"


def topic_named(name: str) -> Topic:
    """Choose a topic, or refuse the name."""
    if name in {*Topic}:
        return Topic(name)
    raise UsageError(
        f"nothing to list is named '{shortened(name)}'", hint=did_you_mean(name, Topic)
    )


# The groups that are listed with a topic.
_BESIDE = {"sizes of workloads": Topic.WORKLOADS, "open questions of Zhang 2019": Topic.SETTINGS}
# What text says behind the meaning, and in which words.
_BEHIND = {"usual": "{} if not set", "allowed": "{}", "choices": "one of {}"}


def catalogue_text(wanted: Format, topic: Topic | None = None, *, width: int = PAGE_WIDTH) -> str:
    """List a topic, or all; text in lines of this width, and of all just names."""
    groups: dict[str, list[_Row]] = {
        "workloads": _workloads(),
        "sizes of workloads": _sizes(),
        "policies": [{"name": kind.value, "meaning": text} for kind, text in MEANINGS.items()],
        "machines": _machines(),
        "settings": _settings(),
        "open questions of Zhang 2019": _questions(),
    }
    if topic is not None:
        groups = {name: rows for name, rows in groups.items() if _BESIDE.get(name, name) == topic}
    if wanted is Format.JSON:
        return json.dumps({"schema_version": 1, **groups}, indent=1) + "\n"
    if wanted is Format.CSV:
        rows = [
            {"group": group, "name": row["name"], "meaning": _of_workload(row)}
            for group, rows in groups.items()
            for row in rows
        ]
        return csv_text(rows)
    if topic is None:
        names = {one.value: ", ".join(row["name"] for row in groups[one]) for one in Topic}
        lines = [f"{name}: {listed}" for name, listed in names.items()]
        lines.append(f"`isthmus sim list {'|'.join(Topic)}` says what each is")
        return "\n".join(wrapped_lines(lines, width)) + "\n"
    return blocks_text(_lines(group, rows, width) for group, rows in groups.items())


def _meaning(row: _Row) -> str:
    """Say in one cell what a row is, and which values it can have."""
    values = (text.format(row[key]) for key, text in _BEHIND.items() if row.get(key))
    return "; ".join([row["meaning"], *values])


def _of_workload(row: _Row) -> str:
    return ": ".join(filter(None, (row.get("workload"), _meaning(row))))


def _lines(group: str, rows: list[_Row], width: int) -> list[str]:
    heads = (*(head for head in rows[0] if head not in {*_BEHIND, "meaning"}), "meaning")
    cells = tuple((*(row[head] for head in heads[:-1]), _meaning(row)) for row in rows)
    table = Table(title=group, heads=heads, rows=cells, num_text_columns=len(heads))
    return table_lines(table, width)


def _workloads() -> list[_Row]:
    from isthmus import _native

    return [
        {
            "name": one.name,
            "paper": "yes" if one.in_paper else "",
            "meaning": one.description
            + (f" (synthetic input: {one.synthetic})" if one.synthetic else ""),
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
