"""Verdicts as JUnit's XML, which continuous integration shows: a case for each thing judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from isthmus.ground.spelling import seen


@dataclass(frozen=True)
class Case:
    """
    One thing that was judged.

    Attributes:
        outcome: "failure", or "skipped" if nobody can tell; empty if all is well.
    """

    name: str
    outcome: Literal["", "failure", "skipped"]
    message: str


def junit_text(name: str, suites: Mapping[str, Sequence[Case]]) -> str:
    """Write cases by the name of their suite."""
    root = Element("testsuites", name=seen(name))
    for title, cases in suites.items():
        kinds = [case.outcome for case in cases]
        counts = {"failures": kinds.count("failure"), "skipped": kinds.count("skipped")}
        own = {word: str(number) for word, number in ({"tests": len(cases)} | counts).items()}
        suite = SubElement(root, "testsuite", own | {"name": seen(title), "errors": "0"})
        for case in cases:
            made = SubElement(suite, "testcase", classname=seen(title), name=seen(case.name))
            if case.outcome:
                SubElement(made, case.outcome, message=seen(case.message))
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=False) + "\n"
