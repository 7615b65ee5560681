"""Policies of users: libraries and classes, what they answer, and what results call them."""

import gc
import importlib.resources
import json
import shutil
import subprocess
import weakref
from itertools import count, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.sweeps import Listener
from isthmus.errors import Deadlock, UsageError
from isthmus.sim.axes import points, read_axes
from isthmus.sim.driver.measured import Access, DriverPoint
from isthmus.sim.driver.predicting import on_demand, predicted
from isthmus.sim.library import Library
from isthmus.sim.machine_files import load_machine
from isthmus.sim.own import policy_of
from isthmus.sim.points import Base, SweepPoint, build_points
from isthmus.sim.policy import Kind, Policy
from isthmus.sim.result import SimulationResult
from isthmus.sim.running import open_source, run
from isthmus.sim.settings import Setup
from isthmus.sim.store import MemoryStore
from isthmus.sim.sweep import Threads, run_sweep
from isthmus.sim.wire import numbers_of, run_text, text_of

pytestmark = pytest.mark.native
ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "policies"
ADAPTIVE = f"{EXAMPLES / 'adaptive_migration.py'}:AdaptiveMigration"
COMPILER = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed")
# GPU memory for three pages, of more than a program has.
FULL = {"partitions.memory": "192KiB", "policy.page": "64KiB"}


def header_folder() -> Path:
    """The installed header; that of the sources while the package isn't installed anew."""
    installed = Path(str(importlib.resources.files("isthmus"))) / "include"
    found = (installed / "isthmus" / "policy.h").is_file()
    return installed if found else ROOT / "cpp" / "include"


def built(source: Path, library: Path) -> Path:
    assert COMPILER is not None
    flags = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    made = [COMPILER, *flags, f"-I{header_folder()}", str(source), "-o", str(library)]
    subprocess.run(made, check=True, timeout=300)
    return library


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(EXAMPLES / "tree.cpp", tmp_path_factory.mktemp("libraries") / "tree.so")


def all_of(result: SimulationResult) -> dict[str, Any]:
    ranges = result.ranges_per_page.tolist()
    return {**result.flat(), "digest": result.event_digest, "ranges": ranges}


class Units:
    """The built-in `bitmap`."""

    def __init__(self, setup: Setup) -> None:
        self.unit = setup.policy.unit

    def on_access(self, accesses: np.ndarray, _asked: np.ndarray) -> object:
        _, offset, length, _, _ = accesses[-1].item()
        return [(offset, length)]


class Hits(Units):
    """Keeps what it was told."""

    hits = True
    told: list[tuple[int, int, int, bool, bool]]

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.told, self.here = [], np.zeros(0)
        last.append(self)

    def on_access(self, accesses: np.ndarray, asked: np.ndarray) -> object:
        self.told += accesses.tolist()
        return super().on_access(accesses, asked)

    def on_arrival(self, arrivals: np.ndarray) -> None:
        self.here = np.append(self.here, arrivals["length"])


last: list[Hits] = []


@needs_compiler
@pytest.mark.parametrize("threshold", ["51", "75", "10"])
@pytest.mark.parametrize(
    ("program", "machine", "sizes"),
    [
        ("lps", "paper-gtx480", {}),
        ("lps", "h100-pcie5", {}),
        ("bfs", "paper-gtx480", {"workload.nodes": "8192"}),
    ],
)
def test_the_drivers_prefetcher_as_a_library_equals_the_built_in_one_event_for_event(
    tree: Path, program: str, machine: str, sizes: dict[str, str], threshold: str
) -> None:
    settings = {"policy.unit": "4KiB", "policy.tree_threshold_percent": threshold, **sizes}
    ours = isthmus.simulate(program, machine, "tree", settings=settings)
    own = isthmus.simulate(program, machine, str(tree), settings=settings)
    assert all_of(own) == all_of(ours)


@needs_compiler
def test_an_own_policy_evicts_and_goes_back_as_a_built_in_one(tree: Path) -> None:
    settings = {"policy.unit": "4KiB", "partitions.memory": "4MiB"}
    for more in ({}, {"options.eviction_kind": "tree"}, {"policy.write": "validate"}):
        ours = isthmus.simulate("lps", policy="tree", settings={**settings, **more})
        own = isthmus.simulate("lps", policy=str(tree), settings={**settings, **more})
        assert ours.counts["evictions"] > 0
        assert all_of(own) == all_of(ours), more


@needs_compiler
def test_a_driver_that_migrates_by_an_own_policy_is_predicted(tree: Path) -> None:
    machine = load_machine("h100-pcie5")
    for access in (Access.READ, Access.THRASHED, Access.PREFETCHED):
        point = DriverPoint(access=access, size_bytes=4 << 20, seconds=1.0)
        assert predicted(point, machine, on_demand(str(tree))) == predicted(point, machine)
    read = DriverPoint(access=Access.READ, size_bytes=4 << 20, seconds=1.0)
    assert predicted(read, machine, on_demand("block-64k")) != predicted(read, machine)


def test_units_as_a_class_equal_the_built_in_bitmap_event_for_event() -> None:
    for settings in ({}, {"policy.merge": "false"}, {"policy.write": "validate"}):
        ours = isthmus.simulate("lps", policy="bitmap", settings=settings)
        assert all_of(isthmus.simulate("lps", policy=Units, settings=settings)) == all_of(ours)


def test_a_class_is_told_every_access_in_order_and_every_arrival() -> None:
    last.clear()
    result = isthmus.simulate("lps", policy=Hits)
    (policy,) = last
    asking = [row[:2] for row in policy.told if not row[4]]
    hits = {row[:2] for row in policy.told if row[4]}
    assert len(asking) == result.counts["migrations"]
    assert len(policy.told) - len(asking) > 4096
    assert all(length == 128 for _, _, length, _, _ in policy.told)
    # Whoever asked comes again; what came after the last question isn't told any more.
    assert len(set(asking) - hits) < 128
    assert 0.99 < policy.here.sum() / result.traffic_bytes["migrated_to_gpu"] <= 1
    assert all_of(result) == all_of(isthmus.simulate("lps", policy="bitmap"))


def test_the_page_s_bits_say_what_was_asked_for() -> None:
    class Once(Units):
        def on_access(self, accesses: np.ndarray, asked: np.ndarray) -> object:
            _, offset, _, _, _ = accesses[-1].item()
            bits = np.unpackbits(asked, bitorder="little")
            assert not bits[offset // self.unit]
            return [(0, 1), (offset, 1)]  # the first unit, again and again

    isthmus.simulate("lps", policy=Once)


def test_a_published_policy_in_python_beside_the_built_in_counters() -> None:
    # With a threshold of 1 and room for all, every first access moves its block of 64 KiB.
    settings = {"policy.unit": "64KiB", "policy.counter_threshold": "1"}
    blocks = isthmus.simulate("bfs", policy="block-64k", settings=settings)
    first = isthmus.simulate("bfs", policy=ADAPTIVE, settings=settings)
    assert first.flat()["bytes_migrated_to_gpu"] == blocks.flat()["bytes_migrated_to_gpu"]
    assert first.counts["migrations"] == blocks.counts["migrations"]
    # In memory for half of it, pages that come back wait longer: fewer bytes cross the link.
    half = {**settings, "policy.counter_threshold": "256", "partitions.memory": "2MiB"}
    half["policy.page"] = "64KiB"
    adaptive = isthmus.simulate("bfs", policy=ADAPTIVE, settings=half)
    counters = isthmus.simulate("bfs", policy="access-counter", settings={**half})
    assert 0 < adaptive.counts["evictions"] < counters.counts["evictions"]


def returning(answer: object) -> type:
    return type("Returning", (Units,), {"on_access": lambda *_: answer})


class Unspeakable(Exception):
    """Neither its text nor its form can be had."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def raising(error: BaseException) -> type:
    def fail(*_: object) -> None:
        raise error

    return type("Raising", (Units,), {"on_access": fail})


def choosing(answer: object) -> type:
    return type("Choosing", (Units,), {"victims": lambda *_: answer})


def failing(function: str) -> type:
    def fail(*_: object) -> None:
        raise KeyError("no such idea")

    return type("Failing", (Units,), {"victims": lambda *_: [], function: fail})


BAD = [
    (failing("__init__"), "__init__ raised KeyError: 'no such idea'"),
    (failing("on_access"), "on_access raised KeyError: 'no such idea'"),
    (failing("on_arrival"), "on_arrival raised KeyError: 'no such idea'"),
    (failing("victims"), "victims raised KeyError: 'no such idea'"),
    (returning([(0, 65537)]), r"returned 65537 bytes from 0: the page has 65536"),
    (returning([(65536, 1)]), r"returned 1 bytes from 65536: the page has 65536"),
    (
        returning([(-1024, 1024)]),
        r"gave \(-1024, 1024\): an offset and bytes of the page are needed",
    ),
    (returning(repeat((0, 1024))), r"returned 65 spans: a page has 64 units"),
    (returning(7), r"on_access gave 7: pairs \(offset, bytes\) are needed"),
    (returning([(1, 2, 3)]), r"on_access gave \[\(1, 2, 3\)\]: pairs"),
    (returning([("a", "b")]), r"gave \[\('a', 'b'\)\]: pairs \(offset, bytes\) are needed"),
    (returning([]), r"128 bytes from \d+ of page \d+ left them out: the access would wait"),
    (returning(None), r"left them out: the access would wait for ever"),
    (returning([(0.0, 1024)]), r"on_access gave \[\(0\.0, 1024\)\]: pairs"),
    (returning([("0", "1024")]), r"on_access gave \[\('0', '1024'\)\]: pairs"),
    (returning(Unspeakable()), r"on_access gave a Unspeakable: pairs \(offset, bytes\) are needed"),
    (raising(Unspeakable()), r"on_access raised Unspeakable$"),
    (raising(SystemExit(7)), r"on_access raised SystemExit: 7$"),
    (raising(GeneratorExit()), r"on_access raised GeneratorExit$"),
    (type("One", (Units,), {"remote": 1}), r"remote is 1: True or False is needed"),
    (type("No", (Units,), {"hits": "no"}), r"hits is 'no': True or False is needed"),
    (choosing([0.0]), r"victims gave \[0\.0\]: page numbers are needed"),
    (choosing([3]), r"victims named page 3 twice, or it isn't one of the \d+ that may leave"),
    (choosing(count()), r"victims named \d+ pages: \d+ may leave"),
    (choosing(["x"]), r"victims gave \['x'\]: page numbers are needed"),
    (choosing(9), r"victims gave 9: page numbers are needed"),
    (choosing([-1]), r"victims gave \[-1\]: page numbers are needed"),
]


@pytest.mark.parametrize(("policy", "message"), BAD)
def test_an_answer_that_can_not_be_ends_the_run_with_what_it_was(
    policy: type, message: str
) -> None:
    source = open_source("lps")
    with pytest.raises(UsageError, match=rf"policy \w+@[0-9a-f]{{12}}: .*{message}"):
        isthmus.simulate(source, policy=policy, settings=FULL)
    assert isthmus.simulate(source, policy="bitmap", settings=FULL).total_ps > 0


def test_what_a_policy_raises_is_the_cause_of_the_error() -> None:
    with pytest.raises(UsageError) as caught:
        isthmus.simulate("lps", policy=failing("on_access"))
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_policy_that_names_no_victim_ends_with_what_waits() -> None:
    with pytest.raises(Deadlock) as caught:
        isthmus.simulate("lps", policy=choosing([]), settings=FULL)
    assert "waits for room in GPU memory" in str(caught.value)
    assert ", since Choosing@" in str(caught.value)
    assert "names no victim" in str(caught.value)


def test_victims_in_the_order_in_which_pages_came_equal_lru() -> None:
    class Oldest(Units):
        def victims(self, pages: np.ndarray, needed: int) -> np.ndarray:
            return pages[:needed]

    ours = isthmus.simulate("lps", policy="bitmap", settings=FULL)
    assert ours.counts["evictions"] > 0
    assert all_of(isthmus.simulate("lps", policy=Oldest, settings=FULL)) == all_of(ours)


def test_a_policy_that_chooses_victims_takes_no_eviction_beside_itself() -> None:
    with pytest.raises(UsageError, match="chooses its victims itself: leave out the eviction"):
        isthmus.simulate("lps", policy=choosing([]), settings={"options.eviction_kind": "clock"})


def test_a_policy_that_migrates_nothing_is_zero_copy() -> None:
    nothing = type("Nothing", (Units,), {"remote": True, "on_access": lambda *_: None})
    ours = isthmus.simulate("lps", policy="zero-copy").flat()
    own = isthmus.simulate("lps", policy=nothing).flat()
    assert {**own, "events": 0} == {**ours, "events": 0}


def test_nothing_of_a_policy_is_left_after_its_runs() -> None:
    seen: list[weakref.ref[object]] = []

    class Seen(Units):
        def __init__(self, setup: Setup) -> None:
            super().__init__(setup)
            seen.append(weakref.ref(self))

        def on_access(self, accesses: np.ndarray, asked: np.ndarray) -> object:
            if len(seen) == 2:
                raise RuntimeError("the second run")
            return super().on_access(accesses, asked)

    isthmus.simulate("cp", policy=Seen)
    with pytest.raises(UsageError, match="the second run"):
        isthmus.simulate("cp", policy=Seen)
    gc.collect()
    assert [one() for one in seen] == [None, None]


def test_a_run_with_an_own_policy_can_be_stopped() -> None:
    setup = Setup(machine=load_machine("paper-gtx480"), policy=policy_of(Units))
    with pytest.raises(KeyboardInterrupt):
        run(open_source("lps"), setup, poll=lambda _now: False)


# --- libraries that can't be

TABLE = """
#include <isthmus/policy.h>
#include <stdexcept>
[[maybe_unused]] static uint32_t ask(
    void*, const isthmus_access*, isthmus_span* spans, uint32_t room) {
  (void)spans; (void)room;
  %s
}
ISTHMUS_POLICY const isthmus_policy_table* isthmus_policy() {
  static isthmus_policy_table table{};
  table.version = %s;
  table.on_access = %s;
  return &table;
}
"""
NO_TABLE = """
#include <isthmus/policy.h>
ISTHMUS_POLICY const isthmus_policy_table* isthmus_policy() { return nullptr; }
"""
LIBRARIES = {
    "other version": (TABLE % ("return 0;", "7U", "ask"), "built for version 7 of isthmus/policy"),
    "no symbol": ("int nothing() { return 0; }", "it has no function isthmus_policy"),
    "no answer": (TABLE % ("return 0;", "1U", "nullptr"), "its on_access is null"),
    "no table": (NO_TABLE, "isthmus_policy returns null"),
    "table raises": (
        NO_TABLE.replace("return nullptr;", "throw 42;"),
        "isthmus_policy threw something that is no std::exception",
    ),
    "raises": (
        TABLE % ('throw std::runtime_error("out of ideas");', "1U", "ask"),
        "on_access threw: out of ideas",
    ),
    "raises anything": (TABLE % ("throw 42;", "1U", "ask"), "something that is no std::exception"),
    "too many": (TABLE % ("return room + 1;", "1U", "ask"), "2049 spans: a page has 2048 units"),
    "all of memory": (
        TABLE % ("spans[0] = {4096, 4294967295U}; return 1;", "1U", "ask"),
        "returned 4294967295 bytes from 4096: the page has 2097152",
    ),
}


def test_a_library_that_is_cut_off_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    # Its table of sections would begin at byte 16,384: to load such a file ends the process.
    header = b"\x7fELF\2\1\1" + bytes(33) + (16384).to_bytes(8, "little") + bytes(10) + b"@\0\7\0"
    (cut := tmp_path / "cut.so").write_bytes(header.ljust(4096, b"\0"))
    with pytest.raises(UsageError, match=r"cut\.so is truncated") as caught:
        isthmus.simulate("cp", policy=str(cut))
    assert caught.value.hint == "build it again"


@needs_compiler
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_that_can_not_be_is_refused_with_its_file_and_the_reason(
    name: str, tmp_path: Path
) -> None:
    code, message = LIBRARIES[name]
    (source := tmp_path / "mine.cpp").write_text(code)
    library = built(source, tmp_path / f"{name.replace(' ', '_')}.so")
    with pytest.raises(UsageError) as caught:
        isthmus.simulate("cp", policy=str(library))
    assert str(library) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["./gone.so", "./folder.so", "mine.so", "mine.py:Mine"])
def test_a_file_that_is_not_there_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.so").mkdir()
    with pytest.raises(UsageError, match="can't read the policy"):
        isthmus.simulate("cp", policy=name)


def test_a_file_that_is_no_library_is_named(tmp_path: Path) -> None:
    (text := tmp_path / "mine.so").write_text("int x;")
    with pytest.raises(UsageError, match=r"mine\.so is no policy: .*"):
        isthmus.simulate("cp", policy=str(text))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("own", "-p ./mine.so"),
        ("./mine.py", "./mine.py:CLASS"),
        ("mine.py", "mine.py:CLASS"),
    ],
)
def test_what_lacks_half_of_the_name_is_told_the_other_half(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        isthmus.simulate("cp", policy=name)
    assert hint in caught.value.hint


def test_a_path_names_a_policy_as_its_text_does() -> None:
    assert policy_of(Path(ADAPTIVE)) == policy_of(ADAPTIVE)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"policy": None}, "None is no policy: a name, a file or a class is"),
        ({"policy": lambda _setup: None}, "<function <lambda> .* is no policy: a name"),
        ({"policy": object.__new__(Units)}, "is no policy: a name, a file or a class is"),
        ({"machine": 5}, "5 is no machine: a name or a TOML file is"),
        ({"settings": [1]}, r"\[1\] are no settings"),
        ({"settings": {1: "4KiB"}}, "{1: '4KiB'} are no settings"),
        ({"trace": b"cp"}, "b'cp' is no program: a workload's name or a trace's file is"),
    ],
)
def test_what_is_neither_a_name_nor_a_file_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        isthmus.simulate(**{"trace": "cp", "policy": "bitmap", **given})
    assert caught.value.hint.startswith("give the class") == isinstance(given.get("policy"), Units)


def test_a_file_in_python_needs_the_class_and_the_class_the_function(tmp_path: Path) -> None:
    (file := tmp_path / "mine.py").write_text("class Mine: pass\n")
    with pytest.raises(UsageError, match="has no class 'Min'") as caught:
        isthmus.simulate("cp", policy=f"{file}:Min")
    assert "did you mean Mine" in caught.value.hint
    with pytest.raises(UsageError, match="Mine is no policy: it has no on_access"):
        isthmus.simulate("cp", policy=f"{file}:Mine")
    (broken := tmp_path / "broken.py").write_text("import nowhere_at_all\n")
    with pytest.raises(UsageError, match=r"broken\.py can't be loaded: ModuleNotFoundError"):
        isthmus.simulate("cp", policy=f"{broken}:Mine")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise SystemExit(0)", "can't be loaded: SystemExit: 0"),
        (
            "import isthmus\nisthmus.simulate('cp', policy=__file__ + ':Mine')",
            "uses its own policy while it is loaded: put what does so under `if __name__",
        ),
        ("class Odd(Exception):\n    __str__ = None\nraise Odd", "can't be loaded: Odd"),
    ],
)
def test_a_file_that_ends_the_process_or_needs_itself_is_named(
    code: str, message: str, tmp_path: Path
) -> None:
    (file := tmp_path / "mine.py").write_text(f"{code}\nclass Mine: pass\n")
    for _ in range(2):
        with pytest.raises(UsageError) as caught:
            isthmus.simulate("cp", policy=f"{file}:Mine")
        assert message in str(caught.value)


def test_a_file_may_load_another_policy_while_it_is_loaded(tmp_path: Path) -> None:
    (file := tmp_path / "mine.py").write_text(
        "import isthmus\n"
        f"isthmus.simulate('cp', policy={ADAPTIVE!r})\n"
        "class Mine:\n"
        "    on_access = None\n"
    )
    assert policy_of(f"{file}:Mine").kind is Kind.OWN


def test_a_file_that_changed_is_not_taken_for_the_loaded_one(tmp_path: Path) -> None:
    (file := tmp_path / "mine.py").write_text(Path(ADAPTIVE.partition(":")[0]).read_text())
    first = policy_of(f"{file}:AdaptiveMigration")
    assert policy_of(f"{file}:AdaptiveMigration") == first
    file.write_text(file.read_text() + "\n")
    with pytest.raises(UsageError, match=r"mine\.py has changed since this process has loaded it"):
        policy_of(f"{file}:AdaptiveMigration")


# --- names and sweeps


def test_an_own_policy_is_called_by_its_file_and_a_digest_of_its_contents(tmp_path: Path) -> None:
    policy = policy_of(ADAPTIVE)
    assert policy.kind is Kind.OWN
    assert policy.name.startswith("adaptive_migration.py:AdaptiveMigration@")
    text = Path(ADAPTIVE.partition(":")[0]).read_text()
    other = tmp_path / "adaptive_migration.py"
    other.write_text(text.replace("PENALTY = 2", "PENALTY = 3"))
    changed = policy_of(f"{other}:AdaptiveMigration")
    assert changed.name.partition("@")[0] == policy.name.partition("@")[0]
    assert changed.name != policy.name
    assert policy_of("tree").name == "tree"


def test_classes_without_a_source_are_never_taken_for_equal() -> None:
    code = "class Mine:\n    def on_access(self, accesses, asked): return None\n"
    made = []
    for _ in range(2):
        exec(code, names := {"__name__": "nowhere"})  # noqa: S102 - as an interpreter does
        made.append(policy_of(names["Mine"]))
    assert made[0].name != made[1].name


def test_classes_that_a_function_makes_are_never_taken_for_each_other() -> None:
    def growing(units: int) -> type:
        class Growing(Units):
            def on_access(self, accesses: np.ndarray, _asked: np.ndarray) -> object:
                first = int(accesses[-1]["offset"]) // (units * self.unit)
                return [(first * units * self.unit, units * self.unit)]

        return Growing

    policies = [policy_of(growing(units)) for units in (1, 8)]
    assert policies[0].name != policies[1].name
    few, many = (isthmus.simulate("lps", policy=one).counts["migrations"] for one in policies)
    assert few > 2 * many


def sweep_of(*axes: str) -> list[SweepPoint]:
    base = Base(workload="cp", machine="paper-gtx480", policy="ranges", seed=0, settings={})
    return build_points(base, points(read_axes(axes)))


def test_a_sweep_goes_on_beside_a_policy_that_raises(tmp_path: Path) -> None:
    (file := tmp_path / "mine.py").write_text(
        "class Mine:\n"
        "    def __init__(self, setup): self.unit = setup.policy.unit\n"
        "    def on_access(self, accesses, asked):\n"
        "        if self.unit == 1024: raise RuntimeError('not this unit')\n"
        "        return [accesses[-1].item()[1:3]]\n"
    )
    built_points = sweep_of(f"policy={file}:Mine,bitmap", "policy.unit=1KiB,2KiB,4KiB")
    store = MemoryStore()
    outcome = run_sweep(
        built_points,
        store,
        runner=Threads(Library().run, 2),
        observer=Listener(),
        should_stop=lambda: False,
    )
    assert (outcome.num_finished, outcome.num_failed) == (6, 1)
    rows = [store.row(point.key) for point in built_points]
    assert "not this unit" in str(rows[0]["error"])
    assert [row["policy"] for row in rows[1:3]] == [policy_of(f"{file}:Mine").name] * 2
    for own, ours in zip(rows[1:3], rows[4:], strict=True):
        assert {**own, "policy": ""} == {**ours, "policy": ""}


def test_a_sweep_takes_paths_from_folders_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(EXAMPLES / "adaptive_migration.py", tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (one,) = sweep_of("policy=../adaptive_migration.py:AdaptiveMigration")
    assert one.setup.policy.kind is Kind.OWN


def test_code_is_not_sent_to_other_processes() -> None:
    (one,) = sweep_of(f"policy={ADAPTIVE}")
    with pytest.raises(UsageError, match="is code, which isn't sent to other processes"):
        text_of(one)


def test_what_another_process_sends_loads_no_code(tmp_path: Path) -> None:
    (file := tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    (one,) = sweep_of("policy=bitmap")
    task = json.loads(text_of(one))
    for name in (f"{file}:Mine", str(tmp_path / "mine.so"), policy_of(ADAPTIVE).name):
        task["setup"]["policy"] |= {"kind": "own", "own": name}
        with pytest.raises(UsageError, match="is code, which isn't sent"):
            numbers_of(run_text(json.dumps(task)))
    assert not (tmp_path / "ran").exists()


def test_a_stored_setup_with_an_own_policy_is_refused_until_it_is_loaded() -> None:
    stored = Policy(kind=Kind.OWN, own="mine.so@0123456789ab")
    with pytest.raises(UsageError, match=r"mine\.so@0123456789ab isn't loaded in this process"):
        isthmus.simulate("cp", policy=stored)
    for kind, own in ((Kind.OWN, ""), (Kind.TREE, "mine.so@0123456789ab")):
        with pytest.raises(ValueError, match="named by its file"):
            Policy(kind=kind, own=own)
