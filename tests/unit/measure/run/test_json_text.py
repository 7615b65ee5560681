import json

import pytest

from fakes import runs
from fakes.profiles import profile
from isthmus.decide.profile.store import profile_text
from isthmus.ground.json_text import json_text
from isthmus.measure.run.model import Run
from isthmus.measure.run.store import run_text

LONG = {f"name {number}": number for number in range(20)}


def test_a_run_s_text_has_one_result_a_line_and_reads_back_equal() -> None:
    run = runs.run(keep_samples=True, emulated=True)
    text = run_text(run)
    lines = text.splitlines()
    begin = lines.index('  "results": [') + 1
    shown = lines[begin : begin + len(run.results)]
    expected = json.loads(run.model_dump_json())["results"]
    assert [json.loads(line.removesuffix(",")) for line in shown] == expected
    assert lines[begin + len(run.results) :] == ["  ]", "}"]
    assert Run.model_validate_json(text) == run


def test_a_profile_s_text_has_one_point_of_a_curve_a_line() -> None:
    lines = [line.strip().removesuffix(",") for line in profile_text(profile()).splitlines()]
    for cost in json.loads(profile_text(profile()))["costs"]:
        for point in cost["points"]:
            assert json.dumps(point) in lines


def test_each_record_is_a_line_however_long() -> None:
    assert json_text({"rows": [LONG, {}, [1, [2]], {"inner": LONG}]}).splitlines() == [
        "{",
        '  "rows": [',
        f"    {json.dumps(LONG)},",
        "    {},",
        "    [",
        "      1,",
        "      [2]",
        "    ],",
        f"    {json.dumps({'inner': LONG})}",
        "  ]",
        "}",
    ]


def test_a_record_that_holds_records_has_a_line_for_each_of_its_members() -> None:
    assert json_text([{"name": "curve", "points": [{"x": 1}, {"x": 2}]}]).splitlines() == [
        "[",
        "  {",
        '    "name": "curve",',
        '    "points": [',
        '      {"x": 1},',
        '      {"x": 2}',
        "    ]",
        "  }",
        "]",
    ]


def test_an_object_has_a_line_for_each_member_unless_it_is_short_and_in_another() -> None:
    lines = json_text({"short": {"a": 1, "b": [2, 3]}, "long": LONG}).splitlines()
    assert lines[:4] == [
        "{",
        '  "short": {"a": 1, "b": [2, 3]},',
        '  "long": {',
        '    "name 0": 0,',
    ]
    assert lines[-3:] == ['    "name 19": 19', "  }", "}"]


@pytest.mark.parametrize(
    "document",
    [
        *({}, [], [[]], [{}], {"": []}, None, True, "\n", "\u00e4\u20ac", 0.1 + 0.2, 1e-300, -0.0),
        {"b": {"b": 1, "a": [{"y": [[]], "x": {}}]}, "a": 2},
        {"command": ["isthmus"] * 99, "numbers": [16.0, 2**70, 0.000038972]},
    ],
)
def test_only_the_white_space_differs_from_what_json_writes(document: object) -> None:
    text = json_text(document)
    pairs = json.loads(text, object_pairs_hook=list)
    assert pairs == json.loads(json.dumps(document), object_pairs_hook=list)
    assert text.endswith("\n")
