import random

import pytest

from fakes.advice import COPIES, KIB, MIB, line, machine_profile
from isthmus.decide.advice.answer import advice_on
from isthmus.decide.advice.machine import machine_names
from isthmus.decide.advice.machine import machine_profile as shipped
from isthmus.decide.advice.offload import (
    Computation,
    OffloadAdvice,
    OnGpu,
    Transport,
    offload_advice,
    scaled_size,
)
from isthmus.decide.advice.question import Buffer, Question
from isthmus.decide.advice.ways import Name
from isthmus.decide.profile.model import Path
from isthmus.errors import UsageError


def asked(**computation: object) -> OffloadAdvice:
    facts: dict[str, object] = {
        "up_bytes": 64 * MIB,
        "down_bytes": 4,
        "cpu_seconds": 0.01,
        "gpu_seconds": 0.001,
    }
    return offload_advice(Computation(**(facts | computation)), machine_profile())  # type: ignore[arg-type]


def way_of(advice: OffloadAdvice, transport: Transport) -> OnGpu:
    return next(way for way in advice.ways if way.transport == transport)


def test_the_gpu_takes_its_work_and_both_copies() -> None:
    way = way_of(asked(), Transport.PINNED)
    copies = sum(line(*COPIES[Path.DRIVER, "pinned"], size) for size in (64 * MIB, 4))
    assert way.each.seconds == pytest.approx(0.001 + copies)
    assert way.cost.seconds == pytest.approx(way.each.seconds)


def test_copies_beside_kernels_leave_only_the_longest_step_of_each_time() -> None:
    advice = asked(times=101)
    apart, beside = (way_of(advice, t) for t in (Transport.PINNED, Transport.OVERLAPPED))
    longest = line(*COPIES[Path.DRIVER, "pinned"], 64 * MIB)
    assert beside.each.seconds == pytest.approx(longest)
    assert beside.cost.seconds == pytest.approx(apart.each.seconds + 100 * longest)


def test_what_stays_on_the_gpu_is_paid_once() -> None:
    advice = asked(resident_bytes=256 * MIB, times=7)
    way = way_of(advice, Transport.PINNED)
    resident = line(*COPIES[Path.DRIVER, "pinned"], 256 * MIB)
    assert way.before.seconds == pytest.approx(resident)
    assert way.cost.seconds == pytest.approx(resident + 7 * way.each.seconds)


def test_the_first_time_that_pays_is_exact() -> None:
    for transport in (Transport.PINNED, Transport.OVERLAPPED, Transport.STAGED):
        found = way_of(asked(resident_bytes=256 * MIB), transport)
        assert found.pays_from_times is not None
        for times, pays in ((found.pays_from_times, True), (found.pays_from_times - 1, False)):
            if times == 0:
                continue
            advice = asked(resident_bytes=256 * MIB, times=times)
            assert (way_of(advice, transport).cost.seconds < advice.cpu_seconds) is pays


def test_a_gpu_that_is_slower_each_time_never_pays() -> None:
    advice = asked(cpu_seconds=1e-4)
    assert not advice.gpu_pays
    assert {way.pays_from_times for way in advice.ways} == {None}
    assert advice.sentence.endswith("Repeating it changes nothing.")


def test_the_smallest_size_that_pays_is_on_the_right_side() -> None:
    advice = asked()
    way = way_of(advice, Transport.PINNED)
    factor = way.pays_from_factor
    assert factor is not None
    for scale, pays in ((factor * 1.05, True), (factor * 0.9, False)):
        one = advice.computation.scaled(scale)
        found = way_of(offload_advice(one, machine_profile()), Transport.PINNED)
        assert (found.cost.seconds < one.cpu_seconds) is pays
    assert scaled_size(advice.computation, 0.5) == 32 * MIB + 2


@pytest.mark.parametrize(
    "seed", [*range(15), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(15, 60))]
)
def test_times_and_bytes_agree(seed: int) -> None:
    """What pays now pays from at most this many times, and from at most these bytes on."""
    draw = random.Random(seed)  # noqa: S311 - not a secret
    cpu_seconds = 10 ** draw.uniform(-6, -1)
    advice = asked(
        up_bytes=round(2 ** draw.uniform(0, 27)),
        down_bytes=round(2 ** draw.uniform(0, 27)),
        cpu_seconds=cpu_seconds,
        gpu_seconds=cpu_seconds * 10 ** draw.uniform(-2, 0),
    )
    for way in advice.ways:
        pays = way.cost.seconds < advice.cpu_seconds
        assert (way.pays_from_times == 1) == pays
        if way.pays_from_factor is None or way.pays_from_factor > 1:
            continue
        computation = advice.computation.scaled(way.pays_from_factor)
        found = way_of(offload_advice(computation, machine_profile()), way.transport)
        assert found.cost.seconds < computation.cpu_seconds


def test_bytes_that_do_not_cross_are_no_size() -> None:
    way = way_of(asked(up_bytes=0, down_bytes=0), Transport.PINNED)
    assert way.pays_from_factor is None


def test_copies_too_short_to_be_staged_need_no_cores() -> None:
    advice = offload_advice(
        Computation(up_bytes=4, down_bytes=4, cpu_seconds=1, gpu_seconds=0.1, cores=3),
        machine_profile(staging_times=[]),
    )
    assert Transport.STAGED in {way.transport for way in advice.ways}


def test_windows_serve_only_the_sizes_that_they_were_measured_for() -> None:
    assert "up to 16 MiB" in dict(asked().refused)[Transport.WINDOW]
    small = asked(up_bytes=KIB, cpu_seconds=2e-5, gpu_seconds=5e-6, times=1000)
    assert small.ways[0].transport == Transport.OVERLAPPED
    assert Transport.WINDOW in {way.transport for way in small.ways}


def test_nothing_up_or_down_costs_nothing() -> None:
    way = way_of(asked(up_bytes=0, down_bytes=0), Transport.PINNED)
    assert way.each.seconds == pytest.approx(0.001)


def test_the_answer_is_said_in_words() -> None:
    yes = asked()
    assert yes.gpu_pays
    assert yes.sentence.startswith("Use the GPU: 2.35 ms with cudaMemcpy, pinned memory, once")
    assert str(yes) == yes.sentence
    later = asked(resident_bytes=4096 * MIB)
    assert not later.gpu_pays
    assert "It pays from 11 times on (pinned memory, copies beside kernels)." in later.sentence


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"up_bytes": -1}, "-1 bytes up"),
        ({"cpu_seconds": 0}, "0 seconds on the CPU"),
        ({"gpu_seconds": float("inf")}, "inf seconds on the GPU"),
        ({"cpu_seconds": 1e300}, "1e.300 seconds on the CPU"),
        ({"cpu_seconds": float("nan")}, "nan seconds on the CPU"),
        ({"times": 0}, "0 times"),
        ({"cores": -2.0}, "-2 cores"),
    ],
)
def test_a_computation_without_an_answer_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        asked(**changes)


def test_both_directions_at_once_slow_each_other() -> None:
    beside = way_of(asked(up_bytes=64 * MIB, down_bytes=64 * MIB, times=2), Transport.OVERLAPPED)
    alone = line(*COPIES[Path.DRIVER, "pinned"], 64 * MIB)
    bytes_alone = alone - line(*COPIES[Path.DRIVER, "pinned"], 4)
    assert beside.each.seconds == pytest.approx(alone + 0.18 * bytes_alone)


@pytest.mark.parametrize("machine", machine_names())
@pytest.mark.parametrize("size", [4 * KIB, MIB, 10 << 30])
def test_what_stays_on_the_gpu_goes_up_as_its_row_says(machine: str, size: int) -> None:
    profile = shipped(machine)
    offload = offload_advice(
        Computation(
            up_bytes=4, down_bytes=4, cpu_seconds=1.0, gpu_seconds=0.1, resident_bytes=size
        ),
        profile,
    )
    ways = advice_on(Question(size_bytes=size, buffer=Buffer.PAGEABLE), profile).ways
    by = {way.name: way.copies.seconds for way in ways}
    # In programs several threads take longer: advice on one buffer shows it.
    copied = pytest.approx(by[Name.KEPT_ISTHMUS], rel=0.11)
    assert way_of(offload, Transport.STAGED).before.seconds == copied
    assert way_of(offload, Transport.WINDOW).before.seconds == copied
    plain = way_of(offload, Transport.PAGEABLE).before.seconds
    assert plain == pytest.approx(by[Name.KEPT_PAGEABLE])
