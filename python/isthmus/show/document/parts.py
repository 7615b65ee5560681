"""The parts of a report, without its appearance."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from isthmus.show.page import Table


class Mark(StrEnum):
    """How a finding counts."""

    GOOD = "good"
    NOTE = "note"
    BAD = "bad"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """
    One thing that was checked.

    Attributes:
        advice: What to do, in sentences; none if there is nothing to do.
    """

    mark: Mark
    text: str
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Pair:
    """
    What a change brings in one case.

    Attributes:
        case: What was measured, such as "upload of 1 GiB".
        before: Its number as it usually is, with the unit.
    """

    case: str
    before: str
    after: str
    factor: float


@dataclass(frozen=True, kw_only=True)
class Gain:
    """
    A change that a program can make.

    Attributes:
        chapter: The id of the chapter with its numbers.
    """

    change: str
    how: str
    pairs: tuple[Pair, ...]
    chapter: str

    @property
    def factor(self) -> float:
        """The most that it brings."""
        return max(pair.factor for pair in self.pairs)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """
    What a run says about its machine, and about programs on it.

    Attributes:
        name: The run's, if there are several.
        findings: What was checked; the worst first.
        gains: What to change; the largest gain first.
        expected: Measured and expected values; None if there are no expected ones.
    """

    name: str
    mark: Mark
    headline: str
    findings: tuple[Finding, ...]
    limits: tuple[str, ...]
    gains: tuple[Gain, ...]
    expected: Table | None = None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Figure:
    """
    A picture.

    Attributes:
        words: The picture for readers who can't see it: each line with its last value.
        legend: The number of the colour and the name of each line, the highest at its end first.
        kind: "curves", "points", "history" or "cells": which data it has.
        specification: Vega-Lite without a configuration and without its data.
        data: The rows by the name of their data set, as columns: field -> values.
    """

    title: str
    words: str
    legend: tuple[tuple[int, str], ...]
    kind: str
    specification: Mapping[str, Any]
    data: Mapping[str, Mapping[str, list[Any]]]


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """
    A part of the report.

    Attributes:
        figures: The pictures that answer most questions.
        is_table: Whether the tables are what the chapter shows, and not what lies behind it.
    """

    id: str
    title: str
    sentences: tuple[str, ...]
    figures: tuple[Figure, ...] = ()
    more: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    is_table: bool = False


@dataclass(frozen=True, kw_only=True)
class Document:
    """
    A report.

    Attributes:
        warning: What must be known before any number is read; None if there is nothing.
    """

    title: str
    warning: str | None
    about: tuple[tuple[str, ...], ...]
    verdicts: tuple[Verdict, ...]
    chapters: tuple[Chapter, ...]
    problems: tuple[str, ...]
    version: str
