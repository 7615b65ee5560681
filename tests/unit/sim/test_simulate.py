"""The simulator through Python: settings reach it, and its results come back unchanged."""

import json
import threading

import numpy as np
import pytest

import isthmus
from isthmus import _native
from isthmus.errors import UsageError
from isthmus.show.format import Format
from isthmus.sim.as_text import runs_text
from isthmus.sim.library import Library
from isthmus.sim.machine import link_costs, native_machine
from isthmus.sim.machine_files import load_machine, machine_names
from isthmus.sim.native import native_name, native_options, native_policy
from isthmus.sim.options import Options
from isthmus.sim.paper.studies import PROGRAMS, make_point
from isthmus.sim.policy import Kind, Policy, default_policy, policy_names
from isthmus.sim.result import SimulationResult, empty_result
from isthmus.sim.running import open_source, run, workload_names
from isthmus.sim.settings import Setup, settings, with_settings
from isthmus.sim.timeline import new_timeline, timeline_text

pytestmark = pytest.mark.native
WORKLOAD = "cp"  # the shortest; it uploads nothing
COPYING = "aes"


def setup(policy: str = "ranges", machine: str = "paper-gtx480") -> Setup:
    return Setup(machine=load_machine(machine), policy=default_policy(policy))


def public(native: object) -> set[str]:
    found = {name for name in dir(native) if not name.startswith("_")}
    return {name for name in found if not callable(getattr(native, name))}


def test_every_row_of_the_simulator_s_parameters_is_a_setting_and_the_other_way_round() -> None:
    rows = {f"{row.group}.{row.name}" for row in _native.sim_parameters()}
    others = {"link.curve", "faults.handling"}
    ours = {name for name in settings() if not name.startswith(("policy.", "options."))}
    assert ours == rows | others


def test_the_papers_machine_is_the_simulators_default() -> None:
    ours, theirs = native_machine(load_machine("paper-gtx480")), _native.SimMachine()
    for row in _native.sim_parameters():
        if row.name != "back_bandwidth":  # by default it is as to the GPU
            assert ours.get(row) == theirs.get(row), f"{row.group}.{row.name}"
    assert ours.handling == theirs.handling


@pytest.mark.parametrize("row", _native.sim_parameters(), ids=lambda row: row.name)
def test_every_parameter_arrives_in_the_simulator(row: _native.SimParameter) -> None:
    name, paper = f"{row.group}.{row.name}", setup()
    changed = 2 * native_machine(paper.machine).get(row) or 2
    unit = {"bandwidth": "B/s", "bandwidth_or_0": "B/s", "frequency": "Hz", "duration": "ps"}.get(
        row.quantity, ""
    )
    text = "true" if row.quantity == "flag" else f"{changed}{unit}"
    # With the paper's handling a fault costs its latency alone.
    machine = with_settings(paper, {"faults.handling": "batch", name: text}).machine
    assert native_machine(machine).get(row) == (1 if row.quantity == "flag" else changed)


@pytest.mark.parametrize("name", machine_names())
def test_every_machine_is_one_that_can_be(name: str) -> None:
    native_machine(load_machine(name))


def test_every_option_is_the_simulators_and_has_its_default() -> None:
    native = native_options(Options(), Kind.RANGES)
    default = _native.SimOptions()
    ours = {native_name(Options, field) for field in Options.model_fields}
    assert public(native) == {"mode", "hints", *ours}
    assert {name: getattr(native, name) for name in public(native)} == {
        name: getattr(default, name) for name in public(default)
    }


OTHERS = {Kind.PREFETCH, Kind.ADVISE, Kind.OWN}
STATE_MACHINES = [kind.value for kind in Kind if kind.migrates and kind not in OTHERS]


@pytest.mark.parametrize("name", STATE_MACHINES)
def test_every_policy_has_the_simulators_defaults(name: str) -> None:
    native = native_policy(default_policy(name), load_machine("paper-gtx480"))
    default = _native.MigrationPolicy(name.replace("-", "_"))
    native.check()
    for option in public(default) - {"merge"}:
        assert getattr(native, option) == getattr(default, option), option
    fields = {native_name(Policy, field) for field in Policy.model_fields if field != "own"}
    assert fields | {"line_bytes"} == public(default)


def test_the_simulator_has_no_policy_that_we_have_not() -> None:
    with pytest.raises(UsageError) as caught:
        _native.MigrationPolicy("none")
    known = str(caught.value).partition(": use ")[2].replace("_", "-").split(", ")
    assert known == [*STATE_MACHINES, Kind.OWN]


def test_prefetching_is_the_trees_policy_with_allocations_brought_ahead() -> None:
    machine = load_machine("paper-gtx480")
    ahead, tree = (native_policy(default_policy(name), machine) for name in ("prefetch", "tree"))
    assert all(getattr(ahead, option) == getattr(tree, option) for option in public(tree))
    assert native_options(Options(), Kind.PREFETCH).hints == "prefetch"
    assert native_options(Options(), Kind.TREE).hints == "none"
    brought = isthmus.simulate("lps", machine="h100-pcie5", policy="prefetch")
    asked_for = isthmus.simulate("lps", machine="h100-pcie5", policy="tree")
    assert brought.counts["fault_batches"] == 0 < asked_for.counts["fault_batches"]
    assert brought.total_ps < asked_for.total_ps


@pytest.mark.parametrize("workload", ["lps", "aes", "bfs"])
def test_advice_faults_never_and_beats_a_driver_that_knows_nothing(workload: str) -> None:
    advised, asked_for = (
        isthmus.simulate(workload, machine="h100-pcie5", policy=policy)
        for policy in ("advise", "tree")
    )
    assert advised.counts["fault_batches"] == 0 < asked_for.counts["fault_batches"]
    assert advised.total_ps < asked_for.total_ps
    assert advised.counts["line_requests"] == asked_for.counts["line_requests"]


def test_a_curve_is_slower_for_small_transfers_and_nears_the_bandwidth() -> None:
    curved = with_settings(setup(), {"link.curve": "atan"}).machine.link
    costs = link_costs(curved)
    rates = [size_bytes / busy_ps for size_bytes, busy_ps in costs]
    assert rates == sorted(rates)
    assert rates[-1] * 1e12 == pytest.approx(16e9, rel=0.01)
    assert link_costs(setup().machine.link) == []


def test_a_run_gives_numbers_and_arrays_that_say_they_are_modelled() -> None:
    result = isthmus.simulate(WORKLOAD)
    assert result.modelled
    assert result.total_ps > 0
    assert result.total_seconds == result.total_ps / 1e12
    assert result.launch_ps.shape == (1, 2)
    assert result.ranges_per_page.dtype == np.uint64
    assert result.bytes_to_gpu == result.traffic_bytes["migrated_to_gpu"] == 256 << 10
    assert result.accessed_share == 1.0
    assert 0 <= result.link.to_gpu.min() <= result.link.to_gpu.max() <= 1
    busy_s = float(result.link.to_gpu.sum()) * result.link.bin_seconds
    assert busy_s * 1e12 == pytest.approx(result.link_busy_ps[0], rel=1e-6)
    assert sum(result.stall_ps.values()) > 0
    assert all(isinstance(value, int | float) for value in result.flat().values())


def test_a_run_says_every_cost_of_a_fault_that_is_not_0() -> None:
    driver = Setup(machine=load_machine("h100-pcie5"), policy=default_policy("tree"))

    def faults(of: Setup) -> str:
        return runs_text("bfs", of, {"tree": empty_result()}, Format.TEXT, width=200)

    assert "faults    cost nothing\n" in faults(setup())
    said = faults(driver)
    for cost in ("more for a kernel's first batch", "a block", "a page of 4 KiB", "is evicted"):
        assert cost in said
    assert "20 us each" in faults(with_settings(setup(), {"faults.latency": "20us"}))


def test_settings_reach_the_simulator() -> None:
    fast = isthmus.simulate(WORKLOAD, policy="whole-page", settings={"link.bandwidth": "1TB/s"})
    assert fast.total_ps < isthmus.simulate(WORKLOAD, policy="whole-page").total_ps


def test_all_resident_is_ideal() -> None:
    resident = isthmus.simulate(WORKLOAD, settings={"options.initially": "on_gpu"})
    assert resident.total_ps == isthmus.simulate(WORKLOAD, policy="ideal").total_ps


def test_units_of_a_page_are_whole_pages() -> None:
    page = {"policy.unit": "2MiB"}
    merged = isthmus.simulate(WORKLOAD, policy="whole-page", settings={"policy.merge": "true"})
    assert isthmus.simulate(WORKLOAD, policy="bitmap", settings=page).total_ps == merged.total_ps


def test_equal_seeds_give_equal_runs_in_any_thread() -> None:
    library = Library()
    digests: list[int] = []

    def once() -> None:
        digests.append(run(library.recording(WORKLOAD, 0).replay(), setup()).event_digest)

    threads = [threading.Thread(target=once) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert digests == [isthmus.simulate(WORKLOAD).event_digest] * 3


@pytest.mark.parametrize("workload", [WORKLOAD, COPYING])
@pytest.mark.parametrize("policy", ["ideal", "programmer", "overlapped", "ranges"])
def test_points_that_differ_in_their_link_have_the_results_of_runs_of_their_own(
    workload: str, policy: str
) -> None:
    library = Library()
    for link in (
        {"link.bandwidth": "16GB/s"},
        {"link.bandwidth": "1GB/s", "link.back_bandwidth": "2GB/s"},
        {"link.latency": "3us", "link.packet": "256", "link.packet_overhead": "24"},
    ):
        shared = library.run(make_point(workload, policy, link), lambda: True)
        alone = isthmus.simulate(workload, policy=policy, settings=link)
        assert shared.flat() == alone.flat()
        assert shared.event_digest == alone.event_digest


def test_an_ideal_run_is_simulated_once_for_all_links() -> None:
    library = Library()
    points = [
        make_point(WORKLOAD, "ideal", {"link.bandwidth": one, **more})
        for more in ({}, {"l1.hit_cycles": "20"})
        for one in ("16GB/s", "32GB/s")
    ]
    first, again, other, _ = (library.run(point, lambda: True) for point in points)
    assert again is first
    assert other is not first


@pytest.mark.parametrize("policy", ["programmer", "overlapped"])
def test_a_program_that_copies_nothing_is_simulated_once_for_all_bandwidths(policy: str) -> None:
    library = Library()

    def run_with(workload: str, link: dict[str, str]) -> SimulationResult:
        return library.run(make_point(workload, policy, link), lambda: True)

    first = run_with(WORKLOAD, {"link.bandwidth": "16GB/s"})
    assert run_with(WORKLOAD, {"link.bandwidth": "32GB/s"}) is first
    assert run_with(WORKLOAD, {"link.latency": "9us"}) is not first
    copying = run_with(COPYING, {"link.bandwidth": "16GB/s"})
    assert run_with(COPYING, {"link.bandwidth": "32GB/s"}) is not copying


def test_inputs_that_a_program_asks_for_in_the_same_way_are_simulated_once() -> None:
    library = Library()

    def run_with(workload: str, seed: int) -> SimulationResult:
        return library.run(make_point(workload, "ranges", {}, seed), lambda: True)

    assert run_with(WORKLOAD, 1) is run_with(WORKLOAD, 0)
    alone = isthmus.simulate(WORKLOAD, policy="ranges", seed=1)
    assert run_with(WORKLOAD, 1).event_digest == alone.event_digest
    assert run_with("bfs", 1) is not run_with("bfs", 0)


def test_equal_traces_have_one_digest_and_others_another() -> None:
    library = Library()
    first = library.recording("bfs", 0)
    assert library.recording("bfs", 0, {"nodes": 65536}).digest == first.digest
    others = [
        library.recording("bfs", 1),
        library.recording("bfs", 0, {"nodes": 1024}),
        library.recording("bfs-rodinia", 0),
    ]
    assert len({first.digest, *(one.digest for one in others)}) == 1 + len(others)


def test_the_papers_programs_are_workloads() -> None:
    assert set(PROGRAMS) <= set(workload_names())


def test_an_unknown_workload_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        open_source("bsf")
    assert "did you mean bfs?" in caught.value.hint


def test_an_impossible_machine_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="partition_stripe"):
        isthmus.simulate(WORKLOAD, settings={"network.partition_stripe": "3"})


def test_a_run_is_stopped_by_whoever_is_asked() -> None:
    asked: list[int] = []

    def stop(now_ps: int) -> bool:
        asked.append(now_ps)
        return False

    source = open_source("mum-140k")
    with pytest.raises(KeyboardInterrupt):
        run(source, setup("whole-page"), poll=stop)
    assert len(asked) == 1
    assert run(open_source(WORKLOAD), setup()).total_ps > 0, "others go on"


def test_what_the_poll_raises_ends_the_run() -> None:
    def fail(_now_ps: int) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(open_source("mum-140k"), setup("whole-page"), poll=fail)


def test_a_timeline_is_a_trace_of_events_in_microseconds() -> None:
    timeline = new_timeline()
    result = run(open_source(WORKLOAD), setup(), timeline=timeline)
    document = json.loads(timeline_text(timeline))
    assert document["otherData"] == {"modelled": True, "events_left_out": 0}
    events = [event for event in document["traceEvents"] if event["ph"] == "X"]
    ends = [event["ts"] + event["dur"] for event in events]
    assert max(ends) <= result.total_ps / 1e6 + 1e-6
    migrations = [event for event in events if event["pid"] == 3]
    assert sum(one["args"]["bytes"] for one in migrations) == result.bytes_to_gpu
    assert sum(event["pid"] == 2 for event in events) == result.counts["num_ctas"]


def test_nothing_overlaps_in_a_row_of_a_timeline_and_rows_have_names() -> None:
    timeline = new_timeline()
    run(open_source(WORKLOAD), setup(), timeline=timeline)
    assert len({(kind, where) for kind, where, *_ in timeline.rows if kind == "cta"}) < sum(
        kind == "cta" for kind, *_ in timeline.rows
    ), "no core has two CTAs: this test would prove nothing"
    events = json.loads(timeline_text(timeline))["traceEvents"]
    names = {one["tid"]: one["args"]["name"] for one in events if one["name"] == "thread_name"}
    ends: dict[int, float] = {}
    for event in events:
        if event["ph"] == "X":
            assert ends.get(event["tid"], 0) <= event["ts"] + 1e-6
            ends[event["tid"]] = event["ts"] + event["dur"]
    assert set(ends) == set(names)
    assert {"stream 0", "core 0", "core 0, at once", "link"} <= set(names.values())


def test_a_timeline_takes_so_many_events_and_counts_the_others() -> None:
    timeline = _native.SimTimeline(10)
    run(open_source(WORKLOAD), setup(), timeline=timeline)
    assert len(timeline.rows) == 10
    assert timeline.num_dropped > 0


def test_overlapped_copies_are_the_programs_and_their_chunks_decide_what_runs_beside_them() -> None:
    copied = isthmus.simulate("aes", policy="programmer")
    chunked = isthmus.simulate("aes", policy="overlapped")
    whole = isthmus.simulate("aes", policy="overlapped", settings={"options.chunk": "1GiB"})
    assert chunked.traffic_bytes == whole.traffic_bytes == copied.traffic_bytes
    assert chunked.total_ps < whole.total_ps == copied.total_ps
    assert chunked.copy_ps < copied.copy_ps


def test_overlapped_refuses_other_data_than_the_programs_copies() -> None:
    with pytest.raises(UsageError, match="overlapped copies what the program copies"):
        isthmus.simulate(
            WORKLOAD, policy="overlapped", settings={"options.programmer_data": "touched_all"}
        )


def test_no_policy_is_below_the_bound_which_knows_the_program_and_the_link() -> None:
    results = [isthmus.simulate("nqu", policy=policy) for policy in policy_names()]
    computing = isthmus.simulate("nqu", policy="ideal").least_ps
    for result in results:
        assert result.total_ps >= result.least_ps >= computing > 0


def test_a_policys_counters_are_the_machines_unless_it_says_otherwise() -> None:
    policy = default_policy("access-counter")
    for machine, size_bytes in {"gh200-c2c": 64 << 10, "h100-pcie5": 2 << 20}.items():
        assert native_policy(policy, load_machine(machine)).counter_bytes == size_bytes
    own = policy.model_copy(update={"counter": 1 << 20})
    assert native_policy(own, load_machine("gh200-c2c")).counter_bytes == 1 << 20


def test_only_gh200_is_coherent() -> None:
    coherent = [name for name in machine_names() if load_machine(name).link.coherent]
    assert coherent == ["gh200-c2c"]


@pytest.mark.long
def test_gh200_keeps_the_cpus_lines_in_its_second_cache_and_takes_no_page_back() -> None:
    near = isthmus.simulate("bfs", machine="gh200-c2c", policy="zero-copy")
    far = isthmus.simulate(
        "bfs", machine="gh200-c2c", policy="zero-copy", settings={"link.coherent": "false"}
    )
    assert near.traffic_bytes["remote_to_gpu"] < far.traffic_bytes["remote_to_gpu"] / 2
    assert near.total_ps < far.total_ps
    counted = isthmus.simulate("bfs", machine="gh200-c2c", policy="access-counter")
    assert counted.counts["cpu_requests"] == 0
