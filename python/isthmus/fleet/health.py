"""How a fleet is: a verdict for each GPU, and for each node that has none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from isthmus.fleet.causes import Cause
from isthmus.fleet.places import Place, words_of
from isthmus.fleet.standing import Standing


class Verdict(StrEnum):
    """How a GPU or a node is; the worst first."""

    DEAD = "dead"
    """No run came from it."""
    WRONG = "wrong"
    """Results ended in errors that most of its class don't have, or wrong bytes arrived."""
    SLOW = "slow"
    """Slower than its class, repeatedly or for a reason it shows; or its link is broken."""
    DOUBTFUL = "doubtful"
    """Worth a look: not shown to be bad."""
    UNJUDGED = "not judged"
    """Nothing was found, and its class is too small to say that it is as fast as it should be."""
    OK = "ok"

    @property
    def is_bad(self) -> bool:
        """Whether the node shouldn't be used."""
        return self in {Verdict.DEAD, Verdict.WRONG, Verdict.SLOW}


@dataclass(frozen=True, kw_only=True)
class Patient:
    """
    One GPU, a pair or share of a node's GPUs, or a node without one that was measured.

    Attributes:
        uuid: The GPU's UUID; None for a dead node, a pair or a share.
        ordinal: Its number on the node; None for a dead node, a pair or a share.
        class_name: Its class, in words; None for a dead node.
        findings: What was found, in words, the worst first; none if it is ok.
        causes: What is unusual about it; what explains the worst finding comes first.
        standings: Every family of it that was judged, the slowest first.
        emulated: Whether its numbers are modelled; None for a dead node.
        measured_at: When its latest run ended, by its own clock; None for a dead node.
        rates: The best rate of each test in that run, in B/s.
    """

    node: str
    uuid: str | None = None
    ordinal: int | None = None
    place: Place = ()
    class_name: str | None = None
    verdict: Verdict
    findings: tuple[str, ...]
    causes: tuple[Cause, ...]
    standings: tuple[Standing, ...] = ()
    num_runs: int = 0
    emulated: bool | None = None
    measured_at: datetime | None = None
    rates: Mapping[str, float] = field(default_factory=dict)

    @property
    def part(self) -> str:
        """What of the node it is, such as "GPU 3"; "" for a dead node."""
        if self.place:
            return words_of(self.place)
        return "" if self.ordinal is None else f"GPU {self.ordinal}"

    @property
    def words(self) -> str:
        """The node, and what of it."""
        return f"{self.node} {self.part}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Health:
    """
    A fleet.

    Attributes:
        patients: Every GPU, pair, share and dead node, the worst first.
        classes: Each class with the number of its GPUs, the largest first.
        notes: What is so with most GPUs of a class, and therefore no GPU's own fault.
        tolerance: What counts as the same, as a fraction.
    """

    patients: Sequence[Patient]
    classes: Sequence[tuple[str, int]]
    num_nodes: int
    notes: Sequence[str]
    num_runs: int
    unread: Sequence[str]
    tolerance: float

    @cached_property
    def bad(self) -> list[Patient]:
        """List those that shouldn't be used."""
        return [patient for patient in self.patients if patient.verdict.is_bad]

    def count(self, verdict: Verdict) -> int:
        """Count the GPUs and dead nodes of a verdict."""
        return sum(patient.verdict == verdict for patient in self.patients)
