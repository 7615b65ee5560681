"""How a fleet is, for programs: JSON, JUnit's XML, and the text format of Prometheus."""

from collections.abc import Mapping
from math import isfinite
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from isthmus.fleet.health import Health, Patient, Verdict
from isthmus.fleet.standing import Standing
from isthmus.ground.json_text import json_text
from isthmus.ground.spelling import one_line

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
    Write what a monitor watches, for a file that node_exporter's textfile collector reads
    (https://prometheus.io/docs/instrumenting/exposition_formats/).
    """
    gpus = [(_labels(patient), patient) for patient in health.patients]
    metrics: dict[tuple[str, str], dict[str, float]] = {
        ("fleet_nodes", "Nodes that were measured or expected"): {"": health.num_nodes},
        ("fleet_verdict", "GPUs, pairs, shares and dead nodes of each verdict"): {
            _label_text({"verdict": verdict.value}): health.count(verdict) for verdict in Verdict
        },
        ("gpu_bad", "1 if a GPU or node is dead, wrong or slow"): {
            labels: patient.verdict.is_bad for labels, patient in gpus
        },
        ("gpu_info", "The verdict on a GPU or node and its first cause; always 1"): {
            _info_labels(patient): 1 for _, patient in gpus
        },
        ("gpu_measured_timestamp_seconds", "When the latest run ended, by its node's clock"): {
            labels: one.measured_at.timestamp() for labels, one in gpus if one.measured_at
        },
        ("gpu_bandwidth_bytes_per_second", "The best rate of a test in the latest run"): {
            f"{labels},{_label_text({'test': test})}": rate
            for labels, patient in gpus
            for test, rate in patient.rates.items()
        },
        ("gpu_relative_cost", "Cost of a family of results over the median of equal GPUs"): {
            f"{labels},{_label_text({'family': one.family.name})}": one.relative_cost
            for labels, patient in gpus
            for one in patient.standings
        },
    }
    lines = []
    for (name, about), values in metrics.items():
        lines += [f"# HELP isthmus_{name} {about}.", f"# TYPE isthmus_{name} gauge"]
        for labels, value in values.items():
            braces = f"{{{labels}}}" if labels else ""
            lines.append(f"isthmus_{name}{braces} {float(value):.10g}")
    return "\n".join(lines) + "\n"


def fleet_junit(health: Health) -> str:
    """
    Write a test case for each GPU and dead node, for CI: a bad one fails, an unjudged is skipped
    (https://github.com/testmoapp/junitxml).
    """
    suite = Element("testsuite", name="isthmus fleet check")
    suite.attrib |= {"tests": str(len(health.patients)), "failures": str(len(health.bad))}
    suite.attrib |= {"skipped": str(health.count(Verdict.UNJUDGED)), "errors": "0"}
    for patient in health.patients:
        name = one_line(patient.words)
        case = SubElement(suite, "testcase", classname="isthmus.fleet", name=name)
        lines = [*patient.findings, *(f"{cause.part}: {cause.text}" for cause in patient.causes)]
        text = "\n".join(map(one_line, lines))
        if patient.verdict.is_bad:
            message = f"{patient.verdict}: {one_line(lines[0])}"
            SubElement(case, "failure", type=patient.verdict.value, message=message).text = text
        elif patient.verdict == Verdict.UNJUDGED:
            SubElement(case, "skipped", message=text)
        elif text:
            SubElement(case, "system-out").text = text
    indent(suite)
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _labels(patient: Patient) -> str:
    return _label_text({"node": patient.node, "gpu": patient.uuid or patient.part})


def _info_labels(patient: Patient) -> str:
    known = [*(cause.part for cause in patient.causes), *patient.findings]
    cause = one_line(known[0]) if patient.verdict.is_bad else ""
    more = {"class": patient.class_name or "", "verdict": patient.verdict.value, "cause": cause}
    emulated = "" if patient.emulated is None else str(patient.emulated).lower()
    return f"{_labels(patient)},{_label_text(more | {'emulated': emulated})}"


def _label_text(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    value = "".join(one if one.isprintable() or one == "\n" else "\ufffd" for one in value)
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _patient(patient: Patient) -> dict[str, object]:
    return {
        "node": patient.node,
        "gpu": patient.uuid,
        "ordinal": patient.ordinal,
        "place": list(patient.place),
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
        "measured_at": patient.measured_at and patient.measured_at.isoformat(),
        "rates": dict(patient.rates),
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
