from isthmus.measure.doctor.check import Check, Diagnosis, Status, summary, text_lines

OK = Check(name="driver", status=Status.OK, finding="CUDA 13.0")
PROBLEM = Check(
    name="gpu 0 link", status=Status.PROBLEM, finding="Gen5 x8", advice="reseat " * 20 + "it"
)
NOTE = Check(name="cpu", status=Status.NOTE, finding="none")


def test_lines_are_aligned_and_advice_stands_indented_below() -> None:
    lines = text_lines(Diagnosis(emulated=False, checks=[OK, PROBLEM]), width=100)
    assert lines[0] == "ok       driver      CUDA 13.0"
    assert lines[1] == "problem  gpu 0 link  Gen5 x8"
    assert lines[2].startswith(" " * 21 + "-> reseat")
    assert lines[3].startswith(" " * 24 + "reseat")
    assert all(len(line) <= 100 for line in lines)
    assert lines[-2:] == ["", "2 checks: 1 ok, 0 notes, 1 problem"]


def test_a_summary_counts_each_status() -> None:
    assert summary([OK, NOTE, NOTE]) == "3 checks: 1 ok, 2 notes, 0 problems"
    assert summary([NOTE, PROBLEM, PROBLEM]) == "3 checks: 0 ok, 1 note, 2 problems"


def test_a_diagnosis_is_as_bad_as_its_worst_check() -> None:
    assert Diagnosis(emulated=False, checks=[OK, PROBLEM]).has_problem
    assert not Diagnosis(emulated=False, checks=[OK, NOTE]).has_problem


def test_the_schema_version_comes_first_in_json() -> None:
    text = Diagnosis(emulated=True, checks=[OK]).model_dump_json()
    assert text.startswith('{"schema_version":1,"emulated":true,"checks":[{"name":"driver"')


def test_a_command_stays_on_one_line_however_long_it_is() -> None:
    command = f'export LD_LIBRARY_PATH="/{"folder/" * 20}"'
    check = Check(name="gdrapi", status=Status.OK, finding="there", advice=command)
    lines = text_lines(Diagnosis(emulated=False, checks=[check]))
    assert lines[1].endswith(f"-> {command}")
