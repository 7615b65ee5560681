"""How a fleet is, for programs: JSON, and the text format of Prometheus."""

from collections.abc import Mapping
from math import isfinite

from isthmus.fleet.health import Health, Patient, Verdict
from isthmus.fleet.standing import Standing
from isthmus.json_text import json_text

_VERSION = 1


def fleet_json(health: Health) -> str:
    """Write everything as JSON, one GPU or dead node after the other, the worst first."""
    return json_text(
        {
            "schema_version": _VERSION,
            "bad": len(health.bad),
            "verdicts": {verdict.value: health.count(verdict) for verdict in Verdict},
            "nodes": health.num_nodes,
            "runs": health.num_runs,
            "tolerance": health.tolerance,
            "classes": [{"name": name, "gpus": number} for name, number in health.classes],
            "notes": list(health.notes),
            "left_out": list(health.unread),
            "gpus": [_patient(patient) for patient in health.patients],
        }
    )


def fleet_prometheus(health: Health) -> str:
    """
    Write what a monitor watches, for a file that node_exporter's textfile collector reads.

    Source: https://prometheus.io/docs/instrumenting/exposition_formats/
    """
    lines = [
        *_metric("isthmus_fleet_nodes", "Nodes that were measured or expected"),
        f"isthmus_fleet_nodes {health.num_nodes}",
        *_metric("isthmus_fleet_verdict", "GPUs and dead nodes of each verdict"),
    ]
    lines += [
        f'isthmus_fleet_verdict{{verdict="{verdict}"}} {health.count(verdict)}'
        for verdict in Verdict
    ]
    lines += _metric("isthmus_gpu_bad", "1 if a GPU or node is dead, wrong or slow")
    lines += [
        f"isthmus_gpu_bad{{{_labels(patient)}}} {int(patient.verdict.is_bad)}"
        for patient in health.patients
    ]
    about = "The verdict on a GPU or node and its first cause; always 1"
    lines += _metric("isthmus_gpu_info", about)
    lines += [f"isthmus_gpu_info{{{_info_labels(patient)}}} 1" for patient in health.patients]
    about = "Cost of a family of results over the median of equal GPUs"
    lines += _metric("isthmus_gpu_relative_cost", about)
    lines += [
        f'isthmus_gpu_relative_cost{{{_labels(patient)},family="{_escaped(one.family.name)}"}} '
        f"{one.relative_cost:.6g}"
        for patient in health.patients
        for one in patient.standings
    ]
    return "\n".join(lines) + "\n"


def _metric(name: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}.", f"# TYPE {name} gauge"]


def _labels(patient: Patient) -> str:
    return _label_text({"node": patient.node, "gpu": patient.uuid or ""})


def _info_labels(patient: Patient) -> str:
    cause = patient.causes[0].part if patient.causes and patient.verdict.is_bad else ""
    more = {"class": patient.class_name or "", "verdict": patient.verdict.value, "cause": cause}
    emulated = "" if patient.emulated is None else str(patient.emulated).lower()
    return f"{_labels(patient)},{_label_text(more | {'emulated': emulated})}"


def _label_text(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _patient(patient: Patient) -> dict[str, object]:
    return {
        "node": patient.node,
        "gpu": patient.uuid,
        "ordinal": patient.ordinal,
        "class": patient.class_name,
        "verdict": patient.verdict.value,
        "bad": patient.verdict.is_bad,
        "findings": list(patient.findings),
        "causes": [
            {"part": cause.part, "text": cause.text, "shown": cause.shown}
            for cause in patient.causes
        ],
        "families": [_standing(standing) for standing in patient.standings],
        "runs": patient.num_runs,
        "emulated": patient.emulated,
    }


def _standing(standing: Standing) -> dict[str, object]:
    return {
        "family": standing.family.name,
        "unit": standing.family.unit,
        "clock": standing.family.clock,
        "relative_cost": standing.relative_cost,
        "change": standing.change if isfinite(standing.change) else None,
        "error": standing.error,
        "probability": standing.tail,
        "repeats": standing.num_repeats,
        "slow_repeats": standing.num_slow,
        "slow": standing.slow,
    }
