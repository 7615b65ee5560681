"""`isthmus fleet check`: what it prints, and its exit codes."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from fakes.fleets import Made, equal_nodes, write_fleet
from isthmus.show.fitting import PAGE_WIDTH
from program import Golden, Invoke

ROOT = Path(__file__).parents[2]
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
    monkeypatch.setattr("isthmus.cli.fleet.command.columns_of", lambda _: width)
    monkeypatch.chdir(folder.parent)
    outcome = invoke("fleet", "check", folder.name)
    assert (outcome.code, outcome.err) == (3, "")
    assert all(len(line) <= width for line in outcome.out.splitlines())
    golden(f"fleet_check_{width}.text", outcome.out)


def test_a_healthy_fleet_is_exit_code_0(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke("fleet", "check", str(write_fleet(tmp_path / "fleet", equal_nodes(6))))
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("6 GPUs, none bad; 6 ok (6 nodes, 12 runs)\n")


def test_json_has_everything_for_programs(invoke: Invoke, folder: Path) -> None:
    outcome = invoke("fleet", "check", str(folder), "--format", "json")
    found = json.loads(outcome.out)
    assert outcome.code == 3
    assert (found["bad"], found["nodes"], found["runs"]) == (2, 13, 24)
    verdicts = {"dead": 1, "wrong": 0, "slow": 1, "doubtful": 0, "not judged": 0, "ok": 11}
    assert found["verdicts"] == verdicts
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
    # Why a node is dead, what a GPU reached and when.
    assert any(
        line.startswith('isthmus_gpu_info{node="n12"') and "n12.json is not a run" in line
        for line in lines
    )
    rates = [line for line in lines if line.startswith("isthmus_gpu_bandwidth_bytes_per_second{")]
    assert any('node="n00"' in line and float(line.split(" ")[-1]) > 1e9 for line in rates)
    [measured] = [
        line
        for line in lines
        if line.startswith("isthmus_gpu_measured_timestamp_seconds{") and 'node="n00"' in line
    ]
    assert float(measured.split(" ")[-1]) > 1e9
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


def test_junit_has_a_case_for_each_gpu_of_which_the_bad_ones_fail(
    invoke: Invoke, folder: Path
) -> None:
    outcome = invoke("fleet", "check", str(folder), "--format", "junit")
    assert outcome.code == 3
    suite = ET.fromstring(outcome.out)  # noqa: S314 - our own
    assert (suite.get("tests"), suite.get("failures")) == ("13", "2")
    failures = {case.get("name"): case.find("failure") for case in suite}
    assert {name for name, failed in failures.items() if failed is not None} == {"n12", "n11 GPU 0"}
    text = failures["n11 GPU 0"].text  # type: ignore[union-attr]
    assert "link: the link runs at Gen5 x8" in (text or "")


def test_the_json_fits_its_schema(invoke: Invoke, folder: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "docs/schema/fleet-check-v1.json").read_text())
    found = json.loads(invoke("fleet", "check", str(folder), "--format", "json").out)
    jsonschema.validate(found, schema)
    # Everything that is written is described, and what is described is written.
    for written, described in (
        (found, schema),
        (found["gpus"][1], schema["$defs"]["gpu"]),
        (found["gpus"][1]["families"][0], schema["$defs"]["family"]),
    ):
        assert list(written) == list(described["properties"]) == described["required"]


def test_values_of_ones_own_are_written_by_one_command_and_are_a_gate(
    invoke: Invoke, tmp_path: Path
) -> None:
    folder = write_fleet(tmp_path / "fleet", equal_nodes(3))
    file = tmp_path / "site.toml"
    file.write_text(invoke("runs", "expect", str(folder / "n00" / "0.json")).out)
    check = ("fleet", "check", str(folder), "--expect")
    fine = invoke(*check, str(file))
    assert (fine.code, fine.err) == (0, "")
    assert "none bad; 3 ok" in fine.out
    text = file.read_text()
    number = re.search(r'test = "host_to_device_memcpy_ce".*?typical = (\S+)', text, re.DOTALL)
    assert number is not None
    file.write_text(text.replace(number[1], str(float(number[1]) * 1.2)))
    short = invoke(*check, str(file))
    assert short.code == 3
    assert "of the expected value: host_to_device_memcpy_ce 83 %" in short.out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nothing", "can't read nothing: No such file or directory"),
        ("H100", "the values are for H100, and no GPU is one: there is Test GPU"),
        ("hosts", "hosts isn't a file of expected values: not TOML"),
        ("empty", "empty isn't a file of expected values: gpu: Field required"),
        ("", "can't read '': No such file or directory"),
        ("deep", "deep isn't a file of expected values: not TOML: its brackets are nested"),
        ("typo", "typo: no test is named 'window_wriet'\nhint: did you mean window_write"),
        ("metric", "metric: window_write has no 'bandwidth' in B/s\nhint: it has fenced in s"),
    ],
)
def test_values_that_cannot_be_a_gate_are_refused(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_fleet(tmp_path / "fleet", equal_nodes(1))
    (tmp_path / "hosts").write_text("n00\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "deep").write_text(f"a = {'[' * 20_000}")
    for test, file in (("window_wriet", "typo"), ("window_write", "metric")):
        value = f'[[value]]\ntest = "{test}"\ntypical = 55e9\nsource = "me"\n'
        (tmp_path / file).write_text(f'gpu = "Ours"\nmatches = ["Test"]\n{value}')
    outcome = invoke("fleet", "check", "fleet", "--expect", given)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err


@pytest.mark.long
def test_the_page_names_the_bad_nodes_first(invoke: Invoke, folder: Path) -> None:
    pytest.importorskip("altair", reason="isthmus[report] is not installed")
    outcome = invoke("fleet", "check", str(folder), "--format", "html")
    assert outcome.code == 3
    assert outcome.out.startswith("<!DOCTYPE html>")
    assert "2 of 13 are bad (12 GPUs and 1 dead node): 1 dead and 1 slow." in outcome.out
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


@pytest.mark.native
def test_a_pair_that_lost_peer_access_is_wrong_on_a_real_run(
    invoke: Invoke, tmp_path: Path
) -> None:
    test = ("-t", "device_to_device_memcpy_read_ce", "--sizes", "64KiB", "--no-save")
    for profile, nodes in {"two-gpus": "abcde", "two-gpus-apart": "x"}.items():
        run = tmp_path / f"{profile}.json"
        assert invoke("bench", *test, "--device", f"emulated:{profile}", "-o", str(run)).code == 0
        (tmp_path / "runs").mkdir(exist_ok=True)
        for node in nodes:
            (tmp_path / "runs" / f"{node}.json").write_bytes(run.read_bytes())
    outcome = invoke("fleet", "check", str(tmp_path / "runs"), "--format", "json")
    assert outcome.code == 3
    bad = [one for one in json.loads(outcome.out)["gpus"] if one["bad"]]
    assert [(one["node"], one["place"], one["verdict"]) for one in bad] == [("x", [0, 1], "wrong")]
    assert "can't reach the memory of GPU" in bad[0]["findings"][0]
