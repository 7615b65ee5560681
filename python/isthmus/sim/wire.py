"""
A point of a sweep as text, and its answer, so that another process can run it.

JSON in both directions: no objects cross, and nothing can be asked but a simulation.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from isthmus.errors import Error, UsageError
from isthmus.ground.spelling import one_line
from isthmus.ground.version import __version__
from isthmus.measure.run.record import Integer, Record, first_fault
from isthmus.sim.library import Library
from isthmus.sim.points import SweepPoint, key_of
from isthmus.sim.policy import Kind
from isthmus.sim.quantities import STORED
from isthmus.sim.running import is_workload
from isthmus.sim.settings import Setup
from isthmus.sim.store import Row

_Number = Annotated[Integer, Field(strict=True)] | Annotated[float, Field(strict=True)]
_TEXTS = TypeAdapter(list[str])
# A process keeps the traces of its workloads from one call to the next.
_LIBRARY = Library()


class PointTask(Record):
    """One run of a simulation."""

    schema_version: Literal[1] = 1
    isthmus_version: str
    workload: Annotated[str, Field(max_length=4096)]
    """A workload's name, or a trace's file by its whole path."""
    seed: Annotated[int, Field(ge=0)]
    setup: Setup
    """All quantities as integers: B, B/s, ps, Hz."""
    key: str
    """`key_of` all of it: of a trace's size and time of change, too."""


class PointAnswer(Record):
    """What became of a run."""

    schema_version: Literal[1] = 1
    refused: str = ""
    """Why this process can't run it; another one may."""
    error: str | None = None
    """The simulation's own: it would be the same anywhere."""
    numbers: dict[str, _Number] = Field(default_factory=dict)
    """Every number of the result, by name; none after an error."""


def text_of(point: SweepPoint) -> str:
    """Write a point as a `PointTask`."""
    check_sent(point.setup)
    workload, key = point.workload, point.key
    if not is_workload(workload):
        workload = str(Path(workload).absolute())
        key = key_of(workload, point.seed, point.setup)
    return PointTask(
        isthmus_version=__version__,
        workload=workload,
        seed=point.seed,
        setup=point.setup,
        key=key,
    ).model_dump_json()


def check_sent(setup: Setup) -> None:
    """Refuse to send code, or to take a name for it: an own policy runs where it was loaded."""
    if setup.policy.kind is Kind.OWN:
        what = f"the policy {setup.policy.name} is code, which isn't sent to other processes"
        raise UsageError(what, hint="leave out --workers, --hosts and --scheduler")


def run_text(text: str) -> str:
    """
    Run a point, a `PointTask` as JSON, and give a `PointAnswer` as JSON, which depends on nothing
    but the task, unless it is a refusal.
    """
    try:
        answer = _answer(text)
    except Exception as error:  # noqa: BLE001 - whatever it is, it crosses as text
        answer = PointAnswer(refused=f"{type(error).__name__}: {error}")
    return answer.model_dump_json()


def run_texts(text: str) -> str:
    """
    Run several points, a list of texts for `run_text` as JSON, one after the other, and give the
    list of their answers; if it was no such list, one refusal.
    """
    try:
        texts = _TEXTS.validate_json(text)
    except ValidationError as cause:
        refused = f"this is no list of simulations: {first_fault(cause)}"
        return json.dumps([PointAnswer(refused=refused).model_dump_json()])
    return json.dumps([run_text(one) for one in texts])


def numbers_of(text: str) -> Row:
    """
    Read an answer: the columns of the point's row that aren't its place; raises UsageError if the
    process has refused the point.
    """
    try:
        answer = PointAnswer.model_validate_json(text)
    except ValidationError as cause:
        raise UsageError(f"what came back is no answer: {one_line(first_fault(cause))}") from None
    if answer.refused:
        raise UsageError(answer.refused)
    if answer.error is not None:
        return {"modelled": True, "error": answer.error}
    from isthmus.sim.result import empty_result

    expected = empty_result().flat()
    kinds = {name: type(value) for name, value in answer.numbers.items()}
    if kinds != {name: type(value) for name, value in expected.items()}:
        raise UsageError("what came back has other numbers than a result")
    return {"modelled": True, "error": None, **{name: answer.numbers[name] for name in expected}}


Spreading = Callable[
    [Sequence[tuple[str, str, str]], Callable[[str], Row], Callable[[], bool]],
    Iterator[tuple[int, Row]],
]
"""
Has texts answered elsewhere: labels, texts and kins, what reads an answer, and whether to stop;
yields places in the list, with what was read. Texts of one kin need the same trace.
"""


class Elsewhere:
    """Runs the points of a sweep in other processes, by text."""

    def __init__(self, spread: Spreading) -> None:
        """Use processes that call `run_texts`."""
        self._spread = spread

    def finished(
        self, points: Sequence[SweepPoint], should_stop: Callable[[], bool]
    ) -> Iterator[tuple[SweepPoint, Row]]:
        """Yield points with their numbers as they finish, until all have or it should stop."""
        works = [(point.label, text_of(point), _kin_of(point)) for point in points]
        for index, numbers in self._spread(works, numbers_of, should_stop):
            yield points[index], numbers


def _kin_of(point: SweepPoint) -> str:
    """Name the trace that a point needs."""
    return json.dumps([point.workload, point.seed, point.setup.sizes], sort_keys=True)


def _answer(text: str) -> PointAnswer:
    try:
        task = PointTask.model_validate_json(text, context=STORED)
    except ValidationError as cause:
        return PointAnswer(refused=f"this is no simulation: {first_fault(cause)}")
    check_sent(task.setup)
    if task.isthmus_version != __version__:
        return PointAnswer(
            refused=f"isthmus {__version__} is there, and the sweep is of {task.isthmus_version}"
        )
    if key_of(task.workload, task.seed, task.setup) != task.key:
        return PointAnswer(refused=f"{task.workload} isn't there, or is another file")
    point = SweepPoint(
        place={}, workload=task.workload, seed=task.seed, setup=task.setup, key=task.key
    )
    try:
        return PointAnswer(numbers=_LIBRARY.run(point, lambda: True).flat())
    except Error as error:
        return PointAnswer(error=str(error))
