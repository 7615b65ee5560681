import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fakes.fleets import Made, equal_nodes, fleet_of
from fakes.repeated_runs import Noise
from isthmus.fleet.check import check_fleet
from isthmus.fleet.health import Health, Patient, Verdict
from isthmus.fleet.measured import Fleet
from isthmus.fleet.task import Attempt, Outcome
from isthmus.measure.doctor.check import Check, Status
from isthmus.measure.expected.values import GpuValues, Value
from isthmus.measure.run.machine import LinkErrors
from isthmus.measure.run.result import Failure
from isthmus.measure.run.result import Status as ResultStatus
from isthmus.show.answers.fleet import fleet_text
from isthmus.show.answers.fleet_data import fleet_json, fleet_prometheus
from isthmus.show.document.fleet import fleet_document

HALF = Made(name="half", emulated=True, slower=2.0)
NARROW = (("link", (("width", 8),)),)


def judged(*odd: Made, number: int = 16) -> Health:
    nodes = [*equal_nodes(number)[len(odd) :], *odd]
    return check_fleet(fleet_of(nodes))


def one(health: Health, node: str) -> Patient:
    (found,) = [patient for patient in health.patients if patient.node == node]
    return found


def attempt(node: str, outcome: Outcome = Outcome.TIMED_OUT) -> Attempt:
    return Attempt(
        node=node,
        device=None,
        number=1,
        outcome=outcome,
        reason="no answer within 120 s",
        exit_code=None,
        ended_at=datetime(2026, 11, 23, tzinfo=UTC),
    )


@pytest.mark.parametrize("deviation", [0.002, 0.02, 0.1])
@pytest.mark.parametrize(
    "number",
    [pytest.param(4, marks=pytest.mark.long), 12, pytest.param(24, marks=pytest.mark.long)],
)
def test_a_healthy_fleet_is_healthy_however_large_its_noise(deviation: float, number: int) -> None:
    """Hundreds of fleets are judged by benchmarks/fleet/check.py."""
    for seed in range(2):
        fleet = fleet_of(equal_nodes(number), Noise(processes=deviation), seed)
        assert check_fleet(fleet).bad == []


def test_a_narrow_link_is_found_with_its_cause_and_the_advice() -> None:
    health = judged(Made(name="odd", slower=2.0, changed=NARROW))
    assert [patient.node for patient in health.bad] == ["odd"]
    patient = health.patients[0]
    assert patient.verdict == Verdict.SLOW
    assert patient.causes[0].part == "link"
    assert "Gen5 x8 (under load) and could do Gen5 x16: reseat" in patient.causes[0].text
    assert patient.findings[0].endswith("than its class, in 2 of 2 processes")


def test_a_pcie_link_that_nvlink_c2c_leaves_idle_is_no_fault() -> None:
    idle = (("device", (("name", "NVIDIA GH200 480GB"),)), ("link", (("generation", 1),)))
    assert judged(Made(name="odd", slower=1.0, changed=idle)).bad == []


@pytest.mark.parametrize(
    ("part", "facts", "cause"),
    [
        ("link", (("generation", 3),), "link"),
        ("link", (("width_max", 8), ("width", 8)), "link"),
        ("host", (("measured_on_node", 0),), "NUMA"),
        ("gpu_state", (("performance_state", "P8"),), "power"),
        ("gpu_state", (("throttle_reasons", ["sw_power_cap"]),), "clocks"),
        ("host", (("transparent_huge_pages", "never"),), "huge pages"),
        ("driver", (("driver_version", "535.1"),), "driver"),
        ("host", (("num_cpus", 4),), "CPUs"),
        ("host", (("kernel", "5.4.0"),), "Linux"),
    ],
)
def test_the_cause_is_what_the_node_has_and_its_class_has_not(
    part: str, facts: tuple[tuple[str, object], ...], cause: str
) -> None:
    health = judged(Made(name="odd", slower=3.0, changed=((part, facts),)))
    assert [patient.node for patient in health.bad] == ["odd"]
    assert health.patients[0].causes[0].part == cause


@pytest.mark.parametrize("part", ["iommu", "virtualisation", "cores"])
def test_the_cause_may_stand_in_the_diagnosis_alone(part: str) -> None:
    fleet = fleet_of([*equal_nodes(15), Made(name="odd", slower=3.0)])
    name = "gpu 0 iommu" if part == "iommu" else part
    fine = Check(name=name, status=Status.OK, finding="fine")
    fleet.checks |= {node: [fine] for node in fleet.nodes}
    fleet.checks["odd"] = [Check(name=name, status=Status.NOTE, finding="bad", advice="mend it")]
    patient = check_fleet(fleet).patients[0]
    assert (patient.node, patient.causes[0].part) == ("odd", part)
    assert patient.causes[0].text == "bad; mend it"


def test_what_most_of_the_class_have_is_no_cause_but_a_note() -> None:
    never = (("host", (("transparent_huge_pages", "never"),)),)
    nodes = [replace(node, changed=never) for node in equal_nodes(8)]
    health = check_fleet(fleet_of(nodes))
    assert {patient.verdict for patient in health.patients} == {Verdict.OK}
    assert any(note.startswith("8 of 8 GPUs of Test GPU") for note in health.notes)
    assert any("huge pages are disabled" in note for note in health.notes)


def test_a_slow_node_without_an_unusual_fact_has_an_unknown_cause() -> None:
    patient = judged(Made(name="odd", slower=3.0)).patients[0]
    assert (patient.verdict, patient.causes[0].part) == (Verdict.SLOW, "unknown")


def test_an_emulated_device_is_slow_because_of_its_profile() -> None:
    fleet = fleet_of([*(Made(name=f"n{n}", emulated=True) for n in range(7)), HALF])
    [gpu] = [gpu for (node, _), gpu in fleet.gpus.items() if node == HALF.name]
    gpu.facts = {**gpu.facts, "emulated profile": "half-link"}
    [bad] = check_fleet(fleet).bad
    assert (bad.node, bad.verdict) == (HALF.name, Verdict.SLOW)
    usual = "most of its class: small"
    assert bad.causes[0].text == f"emulated profile half-link; {usual}"


def test_a_single_slow_run_is_doubtful_unless_its_cause_is_shown() -> None:
    single = [replace(node, runs=1) for node in equal_nodes(15)]
    odd = Made(name="odd", slower=2.0, runs=1)
    doubtful = check_fleet(fleet_of([*single, odd]))
    assert doubtful.bad == []
    assert one(doubtful, "odd").verdict == Verdict.DOUBTFUL
    assert "measure again, with --repeat 3" in one(doubtful, "odd").findings[0]
    shown = check_fleet(fleet_of([*single, replace(odd, changed=NARROW)]))
    assert [patient.node for patient in shown.bad] == ["odd"]


def test_one_slow_run_of_three_is_flicker() -> None:
    nodes = [replace(node, runs=3) for node in equal_nodes(15)]
    odd = Made(name="odd", slower=3.0, runs=3, slow_runs=1)
    assert check_fleet(fleet_of([*nodes, odd])).bad == []
    twice = replace(odd, slow_runs=2)
    assert [p.node for p in check_fleet(fleet_of([*nodes, twice])).bad] == ["odd"]


def everywhere(**facts: object) -> Health:
    nodes = [replace(n, changed=(("link", tuple(facts.items())),)) for n in equal_nodes(16)]
    return check_fleet(fleet_of(nodes))


@pytest.mark.parametrize("facts", [{"width": 8}, {"generation": 3}])
def test_a_link_below_its_maximum_is_bad_though_every_node_has_it(facts: dict[str, int]) -> None:
    health = everywhere(**facts)
    assert {patient.verdict for patient in health.patients} == {Verdict.SLOW}
    assert all(patient.causes[0].part == "link" for patient in health.patients)
    assert health.patients[0].findings == ("the link is below its maximum under load",)


def test_an_idle_link_below_its_maximum_is_not_bad() -> None:
    assert everywhere(generation=1, read_under_load=False).bad == []


def test_packets_that_are_sent_again_run_after_run_are_bad_and_once_they_are_chance() -> None:
    errors = LinkErrors(replays=9, correctable=None, nonfatal=None, fatal=None)

    def with_replays(runs: int) -> Health:
        fleet = Fleet()
        for node in equal_nodes(4):
            for run in replace(node, runs=runs).left(random.Random(1)):  # noqa: S311 - no secret
                machine = run.machine.model_copy(update={"link_errors": errors})
                fleet.add(node.name, run.model_copy(update={"machine": machine}))
        return check_fleet(fleet)

    assert {patient.causes[0].part for patient in with_replays(3).bad} == {"link errors"}
    assert len(with_replays(3).bad) == 4
    assert with_replays(1).bad == []


def test_rates_far_below_the_expected_are_bad_though_every_node_has_them() -> None:
    # The runs that are made have five times the expected rate.
    fine = [replace(node, slower=5.4) for node in equal_nodes(8)]
    assert check_fleet(fleet_of(fine)).bad == []
    health = check_fleet(fleet_of([replace(node, slower=9.0) for node in fine]))
    assert len(health.bad) == 8
    (finding,) = health.patients[0].findings
    assert finding.startswith("of the expected value: host_to_device_memcpy_ce ")


def own(typical: float, name: str = "Test GPU") -> GpuValues:
    value = Value(
        test="host_to_device_memcpy_ce",
        metric="bandwidth",
        unit="B/s",
        typical=typical,
        tolerance=0.05,
        from_bytes=1 << 30,
        kind="measured by Isthmus",
        source="a run",
    )
    return GpuValues(gpu=name, matches=[name], value=[value])


def with_own(values: GpuValues, number: int = 2) -> Health:
    fleet = Fleet(own=values)
    for made in equal_nodes(number):
        for run in made.left(random.Random(1)):  # noqa: S311 - no secret
            fleet.add(made.name, run)
    return check_fleet(fleet)


def test_values_of_ones_own_are_a_gate_that_needs_no_class() -> None:
    reached = with_own(own(1e9)).patients[0].rates["host_to_device_memcpy_ce"]
    assert {one.verdict for one in with_own(own(reached)).patients} == {Verdict.OK}
    assert len(with_own(own(reached / 0.9)).bad) == 2
    elsewhere = own(reached).values[0].model_copy(update={"test": "device_to_host_memcpy_sm"})
    unmeasured = with_own(own(reached).model_copy(update={"values": [elsewhere]})).patients[0]
    assert unmeasured.verdict == Verdict.DOUBTFUL
    assert unmeasured.findings[0] == "nothing was measured that --expect has a value for"
    other = with_own(own(reached / 0.9, "Other GPU"))
    assert {one.verdict for one in other.patients} == {Verdict.UNJUDGED}


@pytest.mark.parametrize("size", [16, 64])
def test_a_small_loss_in_all_families_is_found_by_all_of_them_together(size: int) -> None:
    noise = Noise(processes=0.015)
    made = [replace(node, runs=3) for node in equal_nodes(size - 1)]
    for seed in range(3):
        fleet = fleet_of([*made, Made(name="odd", slower=1 / 0.92, runs=3)], noise, seed)
        health = check_fleet(fleet)
        assert [patient.node for patient in health.bad] == ["odd"]
        assert health.count(Verdict.DOUBTFUL) == 0


def test_a_clock_that_is_ahead_is_a_finding() -> None:
    fleet = fleet_of(equal_nodes(6))
    fleet.now = fleet.gpus["n02", "GPU-n02"].measured_at - timedelta(seconds=90)
    fleet.gpus["n03", "GPU-n03"].times[:] = [(fleet.now, fleet.now)] * 2
    health = check_fleet(fleet)
    assert one(health, "n02").findings == ("its clock is 90 s or more ahead of this machine's",)
    assert one(health, "n03").verdict == Verdict.OK


def at_once(lost: float, number: int = 6) -> Fleet:
    """Two GPUs a node, measured alone and then at the same time; those of n05 lose more."""
    fleet = Fleet()
    for node in range(number):
        for gpu in range(2):
            for run in range(4):
                slower = 1.0 if run < 2 else lost if node == number - 1 else 1.2
                name = f"{node}-{gpu}"
                made = Made(name=name, slower=slower, runs=1)
                (drawn,) = made.left(random.Random(100 * node + 10 * gpu + run))  # noqa: S311
                begun = drawn.run.started_at + timedelta(hours=run, minutes=(run < 2) * 9 * gpu)
                times = {"started_at": begun, "finished_at": begun + timedelta(minutes=5)}
                parts = {"run": drawn.run.model_copy(update=times)}
                fleet.add(f"n{node:02}", drawn.model_copy(update=parts))
    return fleet


def test_what_all_gpus_at_once_lose_is_judged_by_the_class_and_noted() -> None:
    assert check_fleet(at_once(1.2)).bad == []
    health = check_fleet(at_once(2.0))
    assert {patient.node for patient in health.bad} == {"n05"}
    assert "all GPUs at once" in health.bad[0].findings[0]
    named = "pinned copies below 1 MiB, H2D, all GPUs at once against one alone"
    assert any(f"{named}: 17 % less bandwidth" in note for note in health.notes)


def test_a_faster_node_is_not_bad() -> None:
    assert judged(Made(name="odd", slower=0.5)).bad == []


def test_a_loss_within_the_tolerance_is_the_same() -> None:
    nodes = [*equal_nodes(15), Made(name="odd", slower=1.3)]
    assert check_fleet(fleet_of(nodes), tolerance=0.05).bad != []
    assert check_fleet(fleet_of(nodes), tolerance=0.5).bad == []


def test_a_node_that_left_a_diagnosis_alone_is_dead() -> None:
    fleet = fleet_of(equal_nodes(4))
    fleet.checks["odd"] = [Check(name="driver", status=Status.NOTE, finding="no NVIDIA driver")]
    [patient] = check_fleet(fleet).bad
    assert (patient.node, patient.verdict) == ("odd", Verdict.DEAD)
    assert patient.findings == ("no run came from it",)


def test_a_node_that_left_nothing_is_dead_with_what_is_known_of_it() -> None:
    fleet = fleet_of(equal_nodes(4))
    fleet.attempts["gone"] = [attempt("gone"), attempt("gone")]
    fleet.lost["garbled"] = ["garbled.json is not a run"]
    health = check_fleet(fleet, expected=["n00", "silent"])
    dead = {patient.node: patient.findings for patient in health.bad}
    assert dead == {
        "garbled": ("garbled.json is not a run",),
        "gone": ("timed out: no answer within 120 s",),
        "silent": ("no run and no word came from it",),
    }
    assert health.num_nodes == 7


def test_an_attempt_that_failed_beside_good_runs_is_a_doubt() -> None:
    fleet = fleet_of(equal_nodes(4))
    fleet.attempts["n01"] = [attempt("n01", Outcome.WORKER_LOST)]
    health = check_fleet(fleet)
    assert health.bad == []
    assert "1 attempt left no run: worker lost" in one(health, "n01").findings[0]


def failing(
    fleet: Fleet, node: str, message: str = "no such kernel", failure: Failure | None = None
) -> None:
    for run in Made(name=node, runs=1).left(random.Random(1)):  # noqa: S311 - no secret
        first = run.results[0]
        failed = first.model_copy(
            update={
                "status": ResultStatus.ERROR,
                "median": None,
                "error": failure
                or Failure(symbol=None, code=None, code_name=None, message=message),
            }
        )
        fleet.add(node, run.model_copy(update={"results": [failed, *run.results[1:]]}))


def test_errors_that_others_do_not_have_are_wrong_and_those_of_all_are_a_note() -> None:
    fleet = fleet_of(equal_nodes(6))
    failing(fleet, "n02")
    health = check_fleet(fleet)
    assert [(patient.node, patient.verdict) for patient in health.bad] == [("n02", Verdict.WRONG)]
    assert "no such kernel" in health.patients[0].findings[0]
    everywhere = fleet_of(equal_nodes(6))
    for node in range(6):
        failing(everywhere, f"n{node:02}")
    health = check_fleet(everywhere)
    assert health.bad == []
    assert any("failed: no such kernel" in note for note in health.notes)


def test_wrong_bytes_are_wrong_even_if_all_nodes_have_them() -> None:
    fleet = fleet_of(equal_nodes(6))
    for node in range(6):
        failing(fleet, f"n{node:02}", "verification failed: 4 words of a 64-byte copy")
    assert {patient.verdict for patient in check_fleet(fleet).patients} == {Verdict.WRONG}


def waiving(fleet: Fleet, node: str, *, everything: bool) -> str:
    """Add a run of which a test has waived one of its points, or all; give its name."""
    (run,) = Made(name=node, runs=1).left(random.Random(1))  # noqa: S311 - no secret
    test = max({r.test for r in run.results}, key=[r.test for r in run.results].count)
    own = [place for place, result in enumerate(run.results) if result.test == test]
    results = list(run.results)
    for place in own if everything else own[-1:]:
        results[place] = results[place].model_copy(
            update={"status": ResultStatus.WAIVED, "median": None, "reason": "no room"}
        )
    fleet.add(node, run.model_copy(update={"results": results}))
    return test


def test_a_test_that_gave_nothing_on_one_node_alone_is_a_doubt() -> None:
    fleet = Fleet()
    for node in equal_nodes(6):
        waiving(fleet, node.name, everything=False)
    test = waiving(fleet, "odd", everything=True)
    (finding,) = one(check_fleet(fleet), "odd").findings
    assert finding == f"waived here and not in most of its class: {test}: no room"


def test_a_point_that_was_waived_by_chance_is_no_doubt() -> None:
    fleet = fleet_of(equal_nodes(6))
    waiving(fleet, "n03", everything=False)
    assert one(check_fleet(fleet), "n03").verdict == Verdict.OK


def test_two_nodes_that_claim_one_gpu_at_the_same_time_are_doubtful() -> None:
    fleet = fleet_of(equal_nodes(6))
    for run in Made(name="n01", runs=1).left(random.Random(1)):  # noqa: S311 - no secret
        fleet.add("other", run)
    health = check_fleet(fleet)
    for node in ("n01", "other"):
        findings = one(health, node).findings
        assert "one GPU was measured as n01 and other at the same time" in findings


def test_too_few_equal_machines_are_not_judged() -> None:
    health = check_fleet(fleet_of([*equal_nodes(2), Made(name="odd", slower=5.0)]))
    assert health.bad == []
    assert {patient.verdict for patient in health.patients} == {Verdict.UNJUDGED}
    assert all("3 GPUs of its class, and 4 are" in p.findings[-1] for p in health.patients)
    said = "3 GPUs, no errors. Speed not judged: needs 4 equal GPUs"
    assert fleet_text(health, width=200).startswith(f"{said}; 3 not judged (")
    page = fleet_document(health)
    assert page.verdicts[0].headline == f"{said}."
    assert "No GPU was judged by its speed: needs 4 equal GPUs." in page.chapters[-1].sentences


def test_machines_of_another_kind_are_classes_of_their_own() -> None:
    other = (("device", (("name", "Other GPU"),)),)
    slower = [Made(name=f"m{i}", slower=2.0, changed=other) for i in range(5)]
    health = check_fleet(fleet_of([*equal_nodes(6), *slower]))
    assert health.bad == []
    assert [number for _, number in health.classes] == [6, 5]


def test_a_driver_is_a_class_of_its_own_only_if_enough_machines_have_it() -> None:
    old = (("driver", (("driver_version", "535.1"),)),)
    nodes = equal_nodes(10)
    few = [Made(name=f"m{i}", slower=2.0, changed=old) for i in range(2)]
    assert len(check_fleet(fleet_of([*nodes, *few])).bad) == 2
    many = [Made(name=f"m{i}", slower=2.0, changed=old) for i in range(8)]
    health = check_fleet(fleet_of([*nodes, *many]))
    assert health.bad == []
    assert len(health.classes) == 2


def test_modelled_and_measured_gpus_are_never_judged_together() -> None:
    emulated = [Made(name=f"e{i}", slower=9.0, emulated=True) for i in range(5)]
    health = check_fleet(fleet_of([*equal_nodes(6), *emulated]))
    assert health.bad == []
    assert len(health.classes) == 2


def test_emulated_heads_a_fleet_only_if_all_of_it_is_and_names_those_of_another() -> None:
    emulated = [Made(name=f"e{i}", emulated=True) for i in range(5)]
    assert "EMULATED" not in fleet_text(check_fleet(fleet_of(equal_nodes(6))))
    of_all = fleet_text(check_fleet(fleet_of(emulated)))
    assert of_all.startswith("EMULATED devices: their numbers are modelled")
    mixed = fleet_text(check_fleet(fleet_of([*equal_nodes(6), *emulated])))
    assert mixed.startswith("EMULATED, so modelled: 5 of 11 GPUs, on e0, e1, e2, e3, ...\n")


def test_an_empty_fleet_is_judged() -> None:
    assert check_fleet(Fleet()).patients == []


@pytest.mark.parametrize("cost", [760.0, -760.0])
def test_a_cost_beyond_all_numbers_can_be_written(cost: float) -> None:
    fleet = fleet_of(equal_nodes(6))
    gpu = fleet.gpus["n00", "GPU-n00"]
    gpu.costs = [dict.fromkeys(run, (cost,)) for run in gpu.costs]
    found = json.loads(fleet_json(check_fleet(fleet)), parse_constant=pytest.fail)
    [odd] = [one for one in found["gpus"] if one["node"] == "n00"]
    assert all(family["relative_cost"] >= 0 for family in odd["families"])
    assert "NaN" not in fleet_prometheus(check_fleet(fleet))


@pytest.mark.parametrize("number", [8, 16])
def test_what_is_beyond_any_drift_in_every_run_is_slow_however_noisy_its_family(
    number: int,
) -> None:
    fleet = fleet_of([replace(node, runs=3) for node in equal_nodes(number)])
    staged = next(family for family in fleet.families.values() if family.clock == "host")
    gpu = fleet.gpus["n03", "GPU-n03"]
    gpu.costs = [
        {
            subject: tuple(
                cost and cost + (1.1 if fleet.families[subject] == staged else 0.0)
                for cost in costs
            )
            for subject, costs in run.items()
        }
        for run in gpu.costs
    ]
    (bad,) = check_fleet(fleet).bad
    assert (bad.node, bad.verdict) == ("n03", Verdict.SLOW)
    assert "in 3 of 3 processes" in bad.findings[0]


def test_a_fatal_error_of_the_driver_is_wrong_even_if_all_nodes_have_it() -> None:
    fleet = fleet_of(equal_nodes(6))
    failed = Failure(
        symbol="cuMemcpyHtoDAsync",
        code=214,
        code_name="CUDA_ERROR_ECC_UNCORRECTABLE",
        message="cuMemcpyHtoDAsync: CUDA_ERROR_ECC_UNCORRECTABLE",
    )
    for node in range(6):
        failing(fleet, f"n{node:02}", failed.message, failed)
    health = check_fleet(fleet)
    assert {patient.verdict for patient in health.patients} == {Verdict.WRONG}
    (finding,) = health.patients[0].findings
    assert ", in 1 of 3 runs: cuMemcpyHtoDAsync" in finding
    assert finding.endswith(
        "take the GPU out of use: see Xid and ECC lines of dmesg, and isthmus doctor"
    )


def test_errors_of_any_kind_in_most_of_a_class_are_a_doubt_about_each() -> None:
    fleet = fleet_of(equal_nodes(6))
    for node in range(4):
        failing(fleet, f"n{node:02}")
    health = check_fleet(fleet)
    assert (health.count(Verdict.DOUBTFUL), health.count(Verdict.OK)) == (4, 2)
    assert one(health, "n00").findings[0].startswith("as in most of its class, 1 test failed")


def test_a_gpu_that_lacks_a_test_or_all_results_of_its_class_is_doubtful() -> None:
    fleet = fleet_of(equal_nodes(6))
    (run,) = Made(name="less", runs=1).left(random.Random(1))  # noqa: S311 - no secret
    missing = run.results[0].test
    less = [result for result in run.results if result.test != missing]
    fleet.add("less", run.model_copy(update={"results": less}))
    (run,) = Made(name="empty", runs=1).left(random.Random(1))  # noqa: S311 - no secret
    fleet.add("empty", run.model_copy(update={"results": []}))
    health = check_fleet(fleet)
    assert one(health, "less").findings == (
        f"lost: 1 test that most of its class have ({missing})",
    )
    assert one(health, "empty").findings[0] == "its runs are empty: nothing was measured"


def test_control_characters_of_a_node_name_are_no_escape_in_prometheus() -> None:
    text = fleet_prometheus(check_fleet(fleet_of([Made(name="host\x1b[31m")])))
    assert text.isprintable() or all(line.isprintable() for line in text.splitlines())
    assert 'node="host\ufffd[31m"' in text
    assert "\\u" not in text


@pytest.mark.parametrize("slow", [8, 9])
def test_the_slower_part_of_a_class_that_is_divided_in_two_is_doubtful(slow: int) -> None:
    made = equal_nodes(16)
    halves = [replace(node, slower=1.35) for node in made[:slow]] + made[slow:]
    health = check_fleet(fleet_of(halves))
    odd = {patient.node for patient in health.patients if patient.verdict != Verdict.OK}
    assert odd == {node.name for node in made[:slow]}
    assert any("the faster group of its class" in f for f in one(health, "n00").findings)


def test_an_absolute_fact_keeps_its_cause_though_the_whole_class_has_it() -> None:
    never = (("host", (("transparent_huge_pages", "never"),)),)
    slow = [replace(node, slower=9.0, changed=never) for node in equal_nodes(8)]
    health = check_fleet(fleet_of(slow))
    assert len(health.bad) == 8
    assert {patient.causes[0].part for patient in health.bad} == {"huge pages"}


def test_results_that_no_family_has_are_counted_as_not_judged() -> None:
    health = check_fleet(fleet_of(equal_nodes(4)))
    assert any(note.startswith("not judged: ") and " suites (" in note for note in health.notes)


def test_a_dead_node_is_no_gpu_in_the_counts() -> None:
    text = fleet_text(check_fleet(fleet_of(equal_nodes(4)), expected=["gone"]))
    assert text.startswith("1 of 5 is bad (4 GPUs and 1 dead node): 1 dead")


@pytest.mark.parametrize(("count", "many"), [(8, False), (9, True)])
def test_more_than_eight_errors_of_the_link_are_many(count: int, many: bool) -> None:
    errors = LinkErrors(replays=count, correctable=None, nonfatal=None, fatal=None)
    assert errors.are_many == many


@pytest.mark.parametrize(("count", "verdict"), [(1, Verdict.OK), (9, Verdict.DOUBTFUL)])
def test_a_few_packets_that_are_sent_again_are_no_doubt(count: int, verdict: Verdict) -> None:
    errors = LinkErrors(replays=count, correctable=None, nonfatal=None, fatal=None)
    fleet = fleet_of(equal_nodes(6))
    (run,) = Made(name="odd", runs=1).left(random.Random(1))  # noqa: S311 - no secret
    machine = run.machine.model_copy(update={"link_errors": errors})
    fleet.add("odd", run.model_copy(update={"machine": machine}))
    assert one(check_fleet(fleet), "odd").verdict == verdict
