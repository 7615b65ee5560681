from pathlib import Path

import pytest

from fakes import runs
from isthmus.errors import UsageError
from isthmus.measure.bench.tests.catalogue import BY_NAME
from isthmus.measure.expected.judging import Finding, Judgement, judge
from isthmus.measure.expected.shortfall import explanations
from isthmus.measure.expected.values import (
    all_gpus,
    expected_values,
    gpu_values,
    link_values,
    named_values,
)
from isthmus.measure.expected.writing import doubts_of
from isthmus.measure.run.machine import LinkErrors, Machine
from isthmus.measure.run.model import Run
from isthmus.measure.run.result import Failure
from isthmus.show.answers.expectation import expectation_text
from isthmus.show.formats.nvbandwidth_tests import NVBANDWIDTH_TESTS

_H2D, _D2H = "host_to_device_memcpy_ce", "device_to_host_memcpy_ce"


def on(name: str, **facts: object) -> Machine:
    """The machine of the fakes with another GPU."""
    machine = runs.machine()
    device = machine.device.model_copy(update={"name": name})
    link = machine.link.model_copy(update={"generation": 5, "generation_max": 5})
    return machine.model_copy(update={"device": device, "link": link, **facts})


def measured(bandwidth: float, machine: Machine, **fields: object) -> Run:
    """A run of one result: pinned H2D of 1 GiB."""
    run = runs.run()
    result = next(r for r in run.results if (r.test, r.bytes) == (_H2D, 1 << 30))
    result = result.model_copy(update={"median": bandwidth, **fields})
    return run.model_copy(update={"machine": machine, "results": [result]})


def test_a_value_that_a_site_writes_by_hand_is_not_called_published(tmp_path: Path) -> None:
    values = '[[value]]\ntest = "host_to_device_memcpy_ce"\ntypical = 1e9\nsource = "me"\n'
    (tmp_path / "site.toml").write_text(f'gpu = "Ours"\nmatches = ["Ours"]\n{values}')
    [own] = named_values(str(tmp_path / "site.toml")).values
    assert own.kind == "a site's own"
    assert {value.kind for value in named_values("RTX 4090").values} == {"published"}


@pytest.mark.parametrize(
    ("width", "generation_max", "is_downtrained"),
    [(8, 5, True), (8, None, True), (16, None, None), (16, 5, False), (16, 6, True)],
)
def test_a_link_is_downtrained_if_a_known_number_is_below_its_maximum(
    width: int, generation_max: int | None, is_downtrained: bool | None
) -> None:
    facts = {"generation": 5, "generation_max": generation_max, "width": width, "width_max": 16}
    link = runs.machine().link.model_copy(update=facts)
    assert link.is_downtrained is is_downtrained


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 PCIe", "H100"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA A10", "A10"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 5090", "RTX 5090"),
        ("NVIDIA A1000", None),
    ],
)
def test_a_gpu_is_known_by_whole_words_of_its_name(name: str, gpu: str | None) -> None:
    found = gpu_values(on(name))
    assert (found.gpu if found else None) == gpu


def test_every_value_has_a_source_a_place_in_the_sweep_and_a_test_that_exists() -> None:
    for gpu in all_gpus():
        for value in gpu.values:
            assert len(value.source) > 20, gpu.gpu
            assert value.test in {*BY_NAME, *NVBANDWIDTH_TESTS}, value.test
            assert value.to_bytes is None or value.from_bytes <= value.to_bytes
            # Of GB/s for bytes a second, or of us for seconds.
            sane = (1e9, 1e12) if value.unit == "B/s" else (1e-8, 1e-3)
            assert sane[0] < value.typical < sane[1], f"{gpu.gpu} {value.test}"


def test_no_copy_is_expected_to_be_faster_than_its_link() -> None:
    links = link_values()
    for gpu in all_gpus():
        if gpu.link is not None:
            lane = links.lane_bytes_per_s[gpu.link.generation]
            rates = [value.typical for value in gpu.values if value.unit == "B/s"]
            assert max(rates, default=0) < lane * gpu.link.width


def test_a_gpu_that_no_file_knows_is_expected_to_fill_its_link() -> None:
    values = {value.test: value for value in expected_values(on("Unheard of"))}
    assert values[_H2D].typical == pytest.approx(55.45e9, rel=0.01)
    assert values[_H2D].kind == "inferred from the link"
    unknown = on("Unheard of", link=runs.machine(emulated=True).link)
    assert expected_values(unknown) == []


def test_a_link_s_value_stands_in_only_for_tests_that_the_gpu_s_file_leaves_out() -> None:
    kinds = [v.kind for v in expected_values(on("NVIDIA B200")) if v.test == _H2D]
    assert kinds == ["inferred from the link"]
    assert [v.kind for v in expected_values(on("NVIDIA H100")) if v.test == _H2D] == ["published"]


@pytest.mark.parametrize(
    ("bandwidth", "judgement"),
    [
        (55.2e9, Judgement.AS_EXPECTED),
        (52.7e9, Judgement.AS_EXPECTED),
        (52.5e9, Judgement.SHORT),
        (26.0e9, Judgement.SHORT),
        (55.2e6, Judgement.SHORT),
        (62.0e9, Judgement.BETTER),
    ],
)
def test_measured_over_expected_is_judged_with_the_value_s_tolerance(
    bandwidth: float, judgement: Judgement
) -> None:
    (finding,) = judge(measured(bandwidth, on("NVIDIA H100 80GB HBM3")))
    assert finding.judgement == judgement
    assert finding.ratio == pytest.approx(bandwidth / 55.35e9)


def test_more_seconds_than_expected_are_short_and_fewer_are_better() -> None:
    def judged(seconds: float) -> Judgement:
        write = {"test": "window_write", "metric": "fenced", "unit": "s", "bytes": 4}
        (finding,) = judge(measured(seconds, on("NVIDIA H200"), **write))
        return finding.judgement

    assert judged(0.15e-6) == Judgement.AS_EXPECTED
    assert judged(0.3e-6) == Judgement.SHORT
    assert judged(0.05e-6) == Judgement.BETTER


@pytest.mark.parametrize(
    "fields",
    [{"bytes": 4096}, {"cpu_node": "far"}, {"axes": {"streams": 4}}, {"metric": "total"}],
)
def test_other_circumstances_than_the_value_s_are_not_held_against_it(
    fields: dict[str, object],
) -> None:
    assert judge(measured(1e9, on("NVIDIA H100"), **fields)) == []


def test_expected_values_are_never_held_against_modelled_numbers() -> None:
    with pytest.raises(UsageError, match="modelled"):
        judge(runs.run(emulated=True))


def short(machine: Machine) -> list[Finding]:
    return judge(measured(20e9, machine))


def test_nothing_is_explained_where_nothing_is_short() -> None:
    machine = on("NVIDIA H100")
    assert explanations(machine, judge(measured(55e9, machine))) == []


def test_a_shortfall_is_explained_by_what_the_run_shows_first() -> None:
    base = on("NVIDIA H100")
    state = base.gpu_state.model_copy(
        update={"performance_state": "P8", "throttle_reasons": ["hw_slowdown"]}
    )
    host = base.host.model_copy(update={"measured_on_node": 0, "transparent_huge_pages": "never"})
    link = base.link.model_copy(update={"generation": 4, "width": 8})
    machine = base.model_copy(update={"gpu_state": state, "host": host, "link": link})
    lines = explanations(machine, short(machine))
    seen = [line for line in lines if line.startswith("seen here: ")]
    for part in ("Gen4 x8", "on node 1", "P8", "hw_slowdown", "huge pages"):
        assert any(part in line for line in seen), part
    assert any("iommu=pt" in line for line in lines[len(seen) :])


def test_a_link_that_sent_packets_again_is_named_and_a_clean_one_is_not() -> None:
    def lines(replays: int | None) -> list[str]:
        errors = LinkErrors(replays=replays, correctable=0, nonfatal=0, fatal=0)
        machine = on("NVIDIA H100", link_errors=errors)
        return [line for line in explanations(machine, short(machine)) if "the link had" in line]

    assert lines(12)[0].startswith("seen here: the link had 12 replays during the run")
    assert lines(0) == lines(None) == []


def test_a_slot_that_is_too_old_for_the_gpu_is_named() -> None:
    machine = on("NVIDIA H100", link=runs.machine().link.model_copy(update={"generation_max": 4}))
    lines = explanations(machine, short(machine))
    assert any("Gen4 x16, and the values are for Gen5 x16" in line for line in lines)


def test_the_table_shows_ratio_and_source_and_a_healthy_machine_no_reasons() -> None:
    machine = on("NVIDIA H100")
    run = measured(55.2e9, machine)
    text = expectation_text(run, judge(run))
    assert "55.20 GB/s" in text
    assert "1.00" in text
    assert "[1] published: nvbandwidth v0.10.0" in text
    assert "usually" not in text
    assert "nothing that has an expected value" in expectation_text(run, [])


def site(value: str, matches: str = '["Ours"]') -> str:
    """A site's file of one value, with these lines in place of the usual ones."""
    lines = {"test": '"host_to_device_memcpy_ce"', "typical": "55e9", "source": '"me"'}
    lines |= dict(line.split(" = ", 1) for line in value.split("; ") if value)
    written = "\n".join(f"{name} = {text}" for name, text in lines.items())
    return f'gpu = "Ours"\nmatches = {matches}\n[[value]]\n{written}\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (site("typical = 55"), "typical = 55 can't be in bytes a second"),
        (site("typical = 55e20"), r"typical = 5.5e\+21 can't be in bytes a second"),
        (site('unit = "s"; typical = 6.38'), "typical = 6.38 can't be in seconds"),
        (site("typical = inf"), "value.0.typical: Input should be a finite number"),
        (site("typical = 0"), "value.0.typical: Input should be greater than 0"),
        (site("tolerance = 1"), "value.0.tolerance: Input should be less than 1"),
        (site("tolerance = 0"), "value.0.tolerance: Input should be greater than 0"),
        (site("from_bytes = 1000; to_bytes = 10"), "from_bytes = 1000 is above to_bytes = 10"),
        (site("", matches="[]"), "matches: List should have at least 1 item"),
        (site("", matches='[" "]'), "matches.0: String should have at least 1 character"),
        ('gpu = "Ours"\nmatches = ["Ours"]\nvalue = []', "value: List should have at least 1"),
        (site("") + site("").partition("\n[")[2].join(("[", "")), "two values for its bandwidth"),
        (f"a = {'[' * 20_000}", "not TOML: its brackets are nested too deeply"),
        (f"a{'.a' * 20_000} = 1", "not TOML: line 1 has more than 250 dots"),
        ("#" * 70_000, "it has more than 65536 bytes"),
    ],
)
def test_a_file_of_values_that_mean_nothing_is_refused_in_one_line(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "site.toml").write_text(text)
    with pytest.raises(UsageError, match=said) as caught:
        named_values(str(tmp_path / "site.toml"))
    assert "\n" not in str(caught.value)


def test_the_file_that_each_refusal_is_of_is_taken_without_its_fault(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(site(""))
    assert named_values(str(tmp_path / "site.toml")).matches == ["Ours"]


def usual(machine: Machine, *names: str) -> list[str]:
    """What is usual where these tests, pinned or pageable copies, are a quarter of their value."""
    run = measured(1e9, machine)
    ways = {name: {"test": name, "direction": "d2h" if name == _D2H else "h2d"} for name in names}
    results = [run.results[0].model_copy(update=way) for way in ways.values()]
    run = run.model_copy(update={"results": results})
    lines = explanations(machine, judge(run))
    return [line for line in lines if line.startswith("usually")]


def test_what_the_run_rules_out_is_not_called_usual() -> None:
    widths = {"generation": 5, "generation_max": 5, "width": 16, "width_max": 16}
    known = on("NVIDIA H100", link=runs.machine().link.model_copy(update=widths))
    unknown = known.model_copy(update={"link": known.link.model_copy(update={"width_max": None})})
    assert not [line for line in usual(known, _H2D) if "generation or width" in line]
    assert [line for line in usual(unknown, _H2D) if "generation or width" in line]


def test_d2h_alone_is_said_of_nothing_else() -> None:
    machine = on("NVIDIA H100")
    assert [line for line in usual(machine, _D2H) if "D2H alone" in line]
    assert not [line for line in usual(machine, _H2D, _D2H) if "D2H alone" in line]


def test_a_run_of_a_machine_that_is_not_well_is_doubted_before_it_is_expected_of_others() -> None:
    machine = on("NVIDIA H100")
    narrow = machine.link.model_copy(update={"width": 8, "width_max": 16, "read_under_load": True})
    doubts = doubts_of(measured(20e9, machine.model_copy(update={"link": narrow})))
    assert len(doubts) == 1
    assert doubts[0].startswith("the link runs at Gen5 x8")
    wide = machine.link.model_copy(update={"width": 16, "width_max": 16, "read_under_load": True})
    sound = measured(55e9, machine.model_copy(update={"link": wide}))
    assert doubts_of(sound) == []
    failure = Failure(symbol=None, code=None, code_name=None, message="byte 17 is 3, not 4")
    [result] = sound.results
    failed = result.model_copy(update={"error": failure})
    [doubt] = doubts_of(sound.model_copy(update={"results": [failed]}))
    assert doubt == f"1 result failed, the first is {_H2D}: byte 17 is 3, not 4"
