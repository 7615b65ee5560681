"""`isthmus fleet check`: what it prints, and its exit codes."""

import json
from pathlib import Path

import pytest

from fakes.fleets import Made, equal_nodes, write_fleet
from isthmus.report.fitting import PAGE_WIDTH
from program import Golden, Invoke

NARROW = (("link", (("width", 8),)),)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve nodes of which one is slow, and three files that say nothing or something odd."""
    nodes = [*equal_nodes(11), Made(name="n11", slower=2.0, changed=NARROW)]
    folder = write_fleet(tmp_path / "fleet", nodes)
    (folder / "n12.json").write_text("{")
    (folder / "n03" / "doctor.json").write_text('{"checks": 7}')
    return folder


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_verdicts_are_as_reviewed(
    invoke: Invoke, golden: Golden, folder: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr("isthmus.cli.fleet.columns_of", lambda _: width)
    monkeypatch.chdir(folder.parent)
    outcome = invoke("fleet", "check", folder.name)
    assert (outcome.code, outcome.err) == (3, "")
    assert all(len(line) <= width for line in outcome.out.splitlines())
    golden(f"fleet_check_{width}.text", outcome.out)


def test_a_healthy_fleet_is_exit_code_0(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("fleet", "check", str(write_fleet(tmp_path / "fleet", equal_nodes(6))))
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("none of 6 GPUs is bad; 0 doubtful, 6 ok (6 nodes, 12 runs)\n")


def test_json_has_everything_for_programs(invoke: Invoke, folder: Path) -> None:
    outcome = invoke("fleet", "check", str(folder), "--format", "json")
    found = json.loads(outcome.out)
    assert outcome.code == 3
    assert (found["bad"], found["nodes"], found["runs"]) == (2, 13, 24)
    assert found["verdicts"] == {"dead": 1, "wrong": 0, "slow": 1, "doubtful": 0, "ok": 11}
    dead, slow = found["gpus"][:2]
    assert (dead["node"], dead["verdict"]) == ("n12", "dead")
    assert (slow["node"], slow["causes"][0]["part"]) == ("n11", "link")
    worst = slow["families"][0]
    assert worst["slow"]
    assert worst["relative_cost"] == pytest.approx(2, rel=0.05)
    assert len(found["left_out"]) == 2


def test_prometheus_reads_a_metric_a_line(invoke: Invoke, folder: Path) -> None:
    lines = invoke("fleet", "check", str(folder), "--format", "prometheus").out.splitlines()
    assert 'isthmus_gpu_bad{node="n11",gpu="GPU-n11"} 1' in lines
    assert 'isthmus_gpu_bad{node="n12",gpu=""} 1' in lines
    assert 'isthmus_gpu_bad{node="n00",gpu="GPU-n00"} 0' in lines
    assert 'isthmus_fleet_verdict{verdict="slow"} 1' in lines
    assert any(
        line.startswith('isthmus_gpu_info{node="n11"')
        and 'verdict="slow",cause="link",emulated="false"} 1' in line
        for line in lines
    )
    names = {line.split("{")[0].split(" ")[0] for line in lines if not line.startswith("#")}
    assert names == {line.split(" ")[2] for line in lines if line.startswith("# TYPE")}
    assert len(set(lines)) == len(lines)


@pytest.mark.long
def test_the_page_names_the_bad_nodes_first(invoke: Invoke, folder: Path) -> None:
    pytest.importorskip("altair", reason="isthmus[report] is not installed")
    outcome = invoke("fleet", "check", str(folder), "--format", "html")
    assert outcome.code == 3
    assert outcome.out.startswith("<!DOCTYPE html>")
    assert "2 of 13 GPUs are bad: 1 dead and 1 slow." in outcome.out
    assert outcome.out.index("n12 is dead") < outcome.out.index("n11 GPU 0 is slow")


def test_expected_nodes_that_left_nothing_are_dead(invoke: Invoke, tmp_path: Path) -> None:
    folder = write_fleet(tmp_path / "fleet", equal_nodes(4))
    hosts = tmp_path / "hosts"
    hosts.write_text("n00\nn01\nn02\nn03\nn04\n")
    outcome = invoke("fleet", "check", str(folder), "--hosts", str(hosts))
    assert outcome.code == 3
    assert "dead      n04: no run and no word came from it\n" in outcome.out
    empty = tmp_path / "empty"
    empty.mkdir()
    assert invoke("fleet", "check", str(empty), "--hosts", str(hosts)).code == 3


def test_many_bad_nodes_fit_one_screen_and_all_of_them_are_listed_on_request(
    invoke: Invoke, tmp_path: Path
) -> None:
    folder = write_fleet(tmp_path / "fleet", equal_nodes(4))
    hosts = tmp_path / "hosts"
    hosts.write_text("".join(f"gone{number}\n" for number in range(50)))
    arguments = ("fleet", "check", str(folder), "--hosts", str(hosts))
    short = invoke(*arguments).out
    assert "38 more aren't ok: --all lists them\n" in short
    assert len(short.splitlines()) < 24
    assert all(len(line) <= PAGE_WIDTH for line in short.splitlines())
    assert invoke(*arguments, "--all").out.count("dead      gone") == 50


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing",), "can't read the folder nothing: No such file or directory"),
        (("--tolerance", "x"), "'x' is not a tolerance"),
        (("--hosts", "nothing"), "can't read nothing"),
        ((), "there is no run in "),
    ],
)
def test_what_cannot_be_checked_is_refused(
    invoke: Invoke, arguments: tuple[str, ...], said: str
) -> None:
    outcome = invoke("fleet", "check", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert "\nhint: " in outcome.err or "hosts" in arguments[0]
