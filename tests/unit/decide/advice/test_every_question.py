"""Every question about the machines that are shipped: what is shown holds together."""

import itertools
import math
import re
from collections.abc import Sequence

import pytest

from isthmus.decide.advice.answer import Advice, advice_on, classic_answers
from isthmus.decide.advice.break_evens import Range
from isthmus.decide.advice.machine import MachineCosts, machine_names, machine_profile
from isthmus.decide.advice.question import Buffer, Direction, Question
from isthmus.decide.advice.ways import Name, Way, ways_of
from isthmus.decide.profile.model import MemoryKind, Profile
from isthmus.ground.life import Life
from isthmus.measure.run.reading import read_run
from isthmus.reproduce.publication import read_publication
from isthmus.reproduce.side_by_side import reproduced
from isthmus.show.answers.advice import advice_as_text

SIZES = sorted({1, 2, 3, *(1 << power for power in range(2, 29)), 3000, 100_000, 5_000_000})
CASES = [
    (machine, direction, buffer, life)
    for machine in machine_names()
    for direction in Direction
    for buffer in Buffer
    for life in Life
    if buffer == Buffer.NEW or life == Life.STEADY
]
# Machines of which a whole run is committed, too.
RUNS = {"h100-sxm-pcie5": "benchmarks/link/h100/run.json"}
# At a step malloc, or the driver, stops keeping blocks: from there on each page is new.
STEPS = {Name.PAGEABLE, Name.PINNED, Name.REGISTERED, Name.ISTHMUS}


def question(size: int, direction: Direction, buffer: Buffer, life: Life) -> Question:
    return Question(
        size_bytes=size,
        direction=direction,
        buffer=buffer,
        life=life,
        result_bytes=min(4, size),
    )


@pytest.fixture(scope="module")
def profiles() -> dict[str, Profile]:
    return {name: machine_profile(name) for name in machine_names()}


@pytest.mark.parametrize(("machine", "direction", "buffer", "life"), CASES)
def test_costs_ascend_and_no_way_jumps_without_a_reason(
    profiles: dict[str, Profile], machine: str, direction: Direction, buffer: Buffer, life: Life
) -> None:
    costs = MachineCosts(profiles[machine])
    before: dict[Name, Way] = {}
    for last, size in itertools.pairwise([SIZES[0], *SIZES]):
        ways, _ = ways_of(question(size, direction, buffer, life), costs)
        shown = [way.cost.seconds for way in ways]
        assert shown == sorted(shown)
        for way in ways:
            assert way.cost.low <= way.cost.seconds <= way.cost.high
            old = before.get(way.name)
            if old is None or (way.name in STEPS and buffer == Buffer.NEW and size > 1 << 20):
                continue
            # No size costs more than its bytes make of a smaller one, or less than half of it. A
            # path is chosen by steady times: the first time, another one may be much quicker.
            grown = 2.0 * max(2.0, size / max(last, 1))
            assert way.cost.seconds <= old.cost.seconds * grown, (size, way)
            chosen = life == Life.STEADY or old.paths == way.paths
            assert way.cost.seconds >= old.cost.seconds / 2 or not chosen, (size, way)
        before = {way.name: way for way in ways}


@pytest.mark.parametrize("machine", machine_names())
@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("buffer", Buffer)
def test_times_the_best_is_what_the_shown_costs_say(
    profiles: dict[str, Profile], machine: str, direction: Direction, buffer: Buffer
) -> None:
    for size in (3, 64 << 10, 4 << 20):
        advice = advice_on(question(size, direction, buffer, Life.STEADY), profiles[machine])
        text = advice_as_text(advice, machine, width=400)
        for way in advice.ways:
            # The ways' table is the first one.
            row = next(line for line in text.splitlines() if line.startswith(f"{way.name}  "))
            times = re.split("  +", row)[2]
            assert float(times) == pytest.approx(
                way.cost.seconds / advice.ways[0].cost.seconds, abs=0.006
            )
            assert float(times) >= 1


@pytest.mark.parametrize("machine", machine_names())
@pytest.mark.parametrize("buffer", [Buffer.PAGEABLE, Buffer.PINNED])
def test_one_to_three_bytes_take_the_path_of_four(
    profiles: dict[str, Profile], machine: str, buffer: Buffer
) -> None:
    asked = [
        advice_on(question(size, Direction.TO_DEVICE, buffer, Life.STEADY), profiles[machine])
        for size in (1, 2, 3, 4)
    ]
    ways = [next(w for w in one.ways if w.name == Name.KEPT_ISTHMUS) for one in asked]
    assert len({(way.paths["h2d"], way.cost) for way in ways}) == 1


def last_range(advice: Advice, life: Life) -> tuple[float, float]:
    """Between which sizes pinning begins to pay for good."""
    ranges: Sequence[Range] = next(p for p in advice.pays if p.name == Name.PINNED).of(life) or ()
    first = ranges[-1].first
    assert ranges[-1].last is None
    if first is None:
        return 0, advice.sizes[0]
    return first.low or 0, first.high or math.inf


@pytest.mark.parametrize("machine", RUNS)
@pytest.mark.parametrize("life", Life)
def test_reproduce_and_advise_give_the_same_answers_to_the_classic_questions(
    profiles: dict[str, Profile], pytestconfig: pytest.Config, machine: str, life: Life
) -> None:
    run = read_run(str(pytestconfig.rootpath / RUNS[machine]))
    pairs = reproduced(read_publication("caffe-break-even"), run).pairs
    both, reduced = classic_answers(profiles[machine])
    for words, advice in (("copied both ways", both), ("uploaded only", reduced)):
        found = [
            pair.ours
            for pair in pairs
            if pair.figure.quantity.startswith(words) and pair.figure.quantity.endswith(life)
        ]
        assert len(found) == 2
        low, high = last_range(advice, life)
        for ours in found:
            assert ours is not None
            assert ours.words is None
            least, most = (0 if ours.at_most else ours.low), ours.high
            assert least <= high
            assert low <= most


@pytest.mark.parametrize("machine", RUNS)
@pytest.mark.parametrize(
    ("kind", "measured"),
    [
        (MemoryKind.PAGEABLE, ("host_memory_life", "allocate", "pageable")),
        (MemoryKind.PINNED, ("alloc_cuda_malloc_host", "allocate_live", None)),
    ],
)
def test_new_pages_take_what_the_first_time_predicts(
    profiles: dict[str, Profile],
    pytestconfig: pytest.Config,
    machine: str,
    kind: MemoryKind,
    measured: tuple[str, str, str | None],
) -> None:
    costs = MachineCosts(profiles[machine])
    found = {
        r.bytes: r.median
        for r in read_run(str(pytestconfig.rootpath / RUNS[machine])).results
        if (r.test, r.metric, r.axes.get("memory")) == measured and r.median
    }
    sizes = [size for size in found if 64 << 10 <= size <= 1 << 20]
    assert len(sizes) == 3
    for size in sizes:
        first = costs.allocate(kind, size, Life.FIRST_TIME)
        assert first.low <= found[size] <= first.high
        assert found[size] > 10 * costs.allocate(kind, size, Life.STEADY).high
