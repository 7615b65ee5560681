"""Texts and numbers of a run file: refused in a line where they name things, else escaped."""

import csv
import io
import json
from typing import Any

import pytest

from fakes import runs
from isthmus.errors import UsageError
from isthmus.ground.json_text import csv_text
from isthmus.ground.spelling import seen
from isthmus.measure.run.reading import parse_run
from isthmus.measure.run.store import run_text


def changed(**fields: Any) -> bytes:  # noqa: ANN401 - JSON
    document = json.loads(run_text(runs.run()))
    document["results"] = document["results"][:1]
    document["results"][0] |= fields
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"test": "a\x1b"}, r"results\.0\.test: a name can't have control characters"),
        ({"metric": "a\nb"}, r"results\.0\.metric: a name can't have control characters"),
        ({"suite": "\u202ea"}, r"results\.0\.suite: a name can't have control characters"),
        ({"axes": {"x\x9b": 1}}, "a name can't have control characters"),
        ({"axes": {"pieces": 0}}, "the axis pieces needs a positive number"),
        ({"axes": {"peer": "x"}}, "the axis peer needs the number of a GPU"),
        ({"median": 1e308}, r"results\.0\.median: Input should be less than or equal to 1"),
        ({"median": 1e-300}, "a median or mean is below 1e-30"),
    ],
)
def test_what_no_version_writes_is_refused_in_a_line(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        parse_run(changed(**fields), "a run")
    assert str(caught.value).isprintable()


def test_names_that_only_a_newer_version_has_are_read() -> None:
    run = parse_run(changed(test="a_new", metric="newer", axes={"newest": "x"}), "a run")
    assert run.results[0].test == "a_new"


def test_what_a_terminal_obeys_is_escaped_and_the_same_json() -> None:
    text = "a\tb\nc\x1b[2J\x07\x7f\x9b1m\r\u202e\u2028é漢"
    escaped = seen(text)
    assert escaped == "a\tb\nc\\u001b[2J\\u0007\\u007f\\u009b1m\\u000d\\u202e\\u2028é漢"
    document = json.dumps({text: [text]}, ensure_ascii=False)
    assert json.loads(seen(document)) == {text: [text]}


def test_a_text_of_a_csv_is_no_formula_and_numbers_stay() -> None:
    row = ["=1+1", "+A1", "-x", "@SUM", "-1.5", -2, "", None, "a=b"]
    text = csv_text(["=head", *"bcdefghi"], [row])
    heads, cells = csv.reader(io.StringIO(text))
    assert heads[0] == "'=head"
    assert cells == ["'=1+1", "'+A1", "'-x", "'@SUM", "-1.5", "-2", "", "", "a=b"]
