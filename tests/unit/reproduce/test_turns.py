"""The comparison with a plain CUDA program: tests/gpu/test_experiments.py makes it on a GPU."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from isthmus.ground.json_text import json_text
from isthmus.reproduce.publication import read_publication
from turns import Comparison, Figure, compared, document_of, our_turn, plain_turn, table_of

_ROOT = Path(__file__).parents[3]
_PROGRAM = (_ROOT / "tests" / "gpu" / "experiments.cu").read_text("utf-8")
_FIGURE = Figure("Large copies, rates", "H2D pinned", 160 << 20)
_STEADY = (50.0, 51.0, 50.0, 49.0, 50.5)
_SCATTERED = (50.0, 60.0, 50.0, 40.0, 50.5)


def comparison(plain: Sequence[float], ours: Sequence[float]) -> Comparison:
    return Comparison(figure=_FIGURE, plain=plain, ours=ours)


def row(value: float | None, **others: object) -> dict[str, object]:
    named = {"table": _FIGURE.table, "quantity": _FIGURE.quantity, "bytes": _FIGURE.bytes}
    return {**named, "value": value, "ours": value, "measured_between": None, **others}


def reproduced(*rows: dict[str, object]) -> str:
    return json.dumps({"experiments": [{"figures": rows}]})


def test_the_runs_of_the_plain_program_are_averaged() -> None:
    text = "\n".join(json.dumps(row(value)) for value in (1.0, 2.0, 6.0))
    assert plain_turn(text) == {_FIGURE: 3.0}
    assert plain_turn(text, max) == {_FIGURE: 6.0}


def test_ours_are_read_without_what_was_not_measured_or_lies_between_two_sizes() -> None:
    text = reproduced(
        row(55.0),
        row(None, bytes=4, why_not="no time left"),
        row(50.0, bytes=8, measured_between=[4, 16]),
    )
    assert our_turn(text) == {_FIGURE: 55.0}


@pytest.mark.parametrize(
    ("ours", "agrees"), [(47.5, True), (47.4, False), (52.5, True), (53, False)]
)
def test_beside_steady_turns_ours_agrees_within_5_percent_of_their_median(
    ours: float, *, agrees: bool
) -> None:
    one = comparison(_STEADY, [ours] * 5)
    assert (one.by_range, one.agrees) == (False, agrees)


@pytest.mark.parametrize(("ours", "agrees"), [(38, True), (37.9, False), (63, True), (63.1, False)])
def test_beside_scattered_turns_ours_agrees_within_5_percent_of_their_range(
    ours: float, *, agrees: bool
) -> None:
    one = comparison(_SCATTERED, [ours] * 5)
    assert (one.by_range, one.agrees) == (True, agrees)


def test_one_disturbed_turn_of_ours_changes_nothing() -> None:
    assert comparison(_STEADY, (50.0, 50.0, 50.0, 50.0, 5.0)).agrees
    assert not comparison(_STEADY, (40.0, 40.0, 40.0, 50.0, 50.0)).agrees


def test_a_figure_that_a_turn_lacks_is_named_with_the_turn() -> None:
    with pytest.raises(AssertionError, match=r"our turn 2 has no .*H2D pinned"):
        compared([{_FIGURE: 1.0}] * 2, [{_FIGURE: 1.0}, {}])
    with pytest.raises(AssertionError, match="printed no figure"):
        compared([{}], [{}])


def test_the_table_and_the_document_have_every_number() -> None:
    found = compared([{_FIGURE: value} for value in _STEADY], [{_FIGURE: 40.0}] * 5)
    table = table_of(found)
    assert "H2D pinned, 167772160 B: DIFFERS" in table
    assert "plain 50 51 50 49 50.5" in table
    assert "ours  40 40 40 40 40" in table
    assert "medians 50, 40: ratio 0.800" in table
    assert "from 47.5 to 52.5 agrees, by the plain program's median" in table
    [record] = json.loads(json_text(document_of(found)))["figures"]
    assert (record["plain"], record["ours"]) == (list(_STEADY), [40.0] * 5)
    assert (record["ratio"], record["agrees"]) == (0.8, False)


def test_the_plain_program_names_its_figures_as_the_publications_do() -> None:
    tables = dict(re.findall(r'char\* (k\w+) = "([^"]+)";', _PROGRAM))
    assert len(tables) == 4
    published = [read_publication(name) for name in ("d2h-overhead", "pinned-vs-pageable")]
    known = {(one.table, one.quantity) for all_of in published for one in all_of.figure}
    known |= {(one.table, one.quantity) for all_of in published for one in all_of.series}
    assert set(tables.values()) < {table for table, _ in known}
    printed = re.findall(r'print\((\w+), "([^"]+)"', _PROGRAM)
    # `kernel_then_copy` is given either of its tables.
    given = {"table": [tables["kByCpuClock"], tables["kByEvents"]]}
    pairs = {(full, q) for name, q in printed for full in given.get(name, [tables.get(name)])}
    assert len(pairs) == 10
    assert pairs <= known
