"""
Asks `isthmus advise` random questions about this machine, and measures every way that it ranks.

    python benchmarks/advice/questions.py [--questions 200] [--max-mib 64] [--seconds 240]
        [--profile FILE] [--seed 1] [--out FILE]

A question is a size from 4 B to --max-mib (equally likely in each power of two), a direction, 1 to
100 uses and a buffer. Every way that advice knows for it is carried out as a program would:
allocate, write to each page if the data goes up, copy as often as is asked, free. The ways take
turns; a turn is one life that isn't timed, and then lives for 200 us, or one. The median of the
turns counts. The advised way is right if it takes at most 5 % longer than the fastest one as
measured. Each question has about the same time. The profile is measured first, unless a file is
given. Calls from Python add 1 to 5 us to each life.
"""

import argparse
import ctypes
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import isthmus
from isthmus import _native
from isthmus.advice.answer import advice_on
from isthmus.advice.asking import profile_here
from isthmus.advice.question import Buffer, Direction, Question
from isthmus.advice.ways import Name
from isthmus.json_text import json_text
from isthmus.profile.store import load_profile
from isthmus.windows.opening import default_windows

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from machine import machine_facts

MIB = 1 << 20
PAGE = 4096
RIGHT = 1.05
MIN_ROUNDS, MAX_ROUNDS = 3, 31
TURN_S = 200e-6
# What all uses of a question move at most.
MAX_MOVED = 2 << 30

Copy = Callable[[int], None]
"""Copies so many bytes."""


class Driver:
    """CUDA's own functions, of the same driver."""

    def __init__(self) -> None:
        """Load them."""
        self.library = ctypes.CDLL(default_windows().driver.path)

    def call(self, name: str, *arguments: Any) -> None:  # noqa: ANN401 - of CUDA
        """Call one; raises if it fails."""
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name}: {code}")

    def allocate(self, size: int) -> int:
        """Allocate pinned memory, as cudaMallocHost does."""
        pointer = ctypes.c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(pointer), ctypes.c_size_t(size), 0)
        return pointer.value or 0


def require(code: int) -> None:
    """Raise if a copy failed."""
    if code != 0:
        raise RuntimeError(f"a copy failed: {code}")


class Host:
    """Memory of one way: how it is allocated and freed."""

    def __init__(self, driver: Driver, name: Name, size: int, pool: _native.PinnedPool) -> None:
        """Allocate it, without touching pageable memory."""
        self.driver, self.name = driver, name
        self.block: object = None
        self.array = self._allocated(size, pool)

    def _allocated(self, size: int, pool: _native.PinnedPool) -> "np.ndarray[Any, Any]":
        if self.name == Name.PINNED:
            self.address = self.driver.allocate(size)
            memory = (ctypes.c_ubyte * size).from_address(self.address)
            return np.ctypeslib.as_array(memory)
        if self.name in {Name.POOL, Name.NEW_PINNED}:
            self.block = _native.PinnedBlock(pool, size)
            return np.frombuffer(self.block, "u1")
        array = np.empty(size, "u1")
        self.address = array.ctypes.data
        return array

    def write(self) -> None:
        """Write to each page, as a program that fills the buffer does."""
        if self.block is not None or self.name == Name.PINNED:
            return
        if self.array.nbytes <= PAGE:
            self.array[0] = 1
        else:
            self.array[::PAGE] = 1

    def register(self) -> None:
        """Pin it in place."""
        address, size = ctypes.c_void_p(self.address), ctypes.c_size_t(self.array.nbytes)
        self.driver.call("cuMemHostRegister_v2", address, size, 0)

    def free(self) -> None:
        """Give it back."""
        del self.array
        self.block = None
        if self.name == Name.PINNED:
            self.driver.call("cuMemFreeHost", ctypes.c_void_p(self.address))


class Measuring:
    """Carries out ways on one device."""

    def __init__(self, max_bytes: int) -> None:
        """Allocate the device's buffer, and fill a pool."""
        windows = default_windows()
        self.context = windows.pending_work.context(0)
        self.driver = Driver()
        self.device = isthmus.device_empty(max_bytes, "u1")
        self.pool = _native.PinnedPool(windows.driver, 0)
        _native.PinnedBlock(self.pool, max_bytes)
        self.kept: dict[tuple[Buffer, int], np.ndarray[Any, Any]] = {}

    def turn(self, question: Question, name: Name) -> float:
        """Carry out a way once untimed, and then for a while; give the mean seconds."""
        self.life(question, name)
        seconds, lives = self.life(question, name), 1
        while seconds < TURN_S:
            seconds += self.life(question, name)
            lives += 1
        return seconds / lives

    def life(self, question: Question, name: Name) -> float:
        """Carry out a way once, and give its seconds."""
        if question.buffer == Buffer.NEW:
            return self._new(question, name)
        array = self._existing(question)
        started = time.perf_counter()
        if name == Name.KEPT_REGISTERED:
            address, size = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)
            self.driver.call("cuMemHostRegister_v2", address, size, 0)
        self._copies(question, array, by_isthmus=name == Name.KEPT_ISTHMUS)
        if name == Name.KEPT_REGISTERED:
            self.driver.call("cuMemHostUnregister", ctypes.c_void_p(array.ctypes.data))
        return time.perf_counter() - started

    def _new(self, question: Question, name: Name) -> float:
        pool = self.pool
        if name == Name.NEW_PINNED:
            pool = _native.PinnedPool(default_windows().driver, 0)
        started = time.perf_counter()
        host = Host(self.driver, name, question.size_bytes, pool)
        if question.direction != Direction.FROM_DEVICE or name == Name.REGISTERED:
            host.write()
        if name == Name.REGISTERED:
            host.register()
        by_isthmus = name in {Name.ISTHMUS, Name.NEW_PINNED, Name.POOL}
        self._copies(question, host.array, by_isthmus=by_isthmus)
        if name == Name.REGISTERED:
            self.driver.call("cuMemHostUnregister", ctypes.c_void_p(host.address))
        host.free()
        if name == Name.NEW_PINNED:
            pool.trim()
        return time.perf_counter() - started

    def _existing(self, question: Question) -> "np.ndarray[Any, Any]":
        key = (question.buffer, question.size_bytes)
        if key not in self.kept:
            self.kept.clear()
            size = question.size_bytes
            pinned = question.buffer == Buffer.PINNED
            self.kept[key] = isthmus.pinned.empty(size, "u1") if pinned else np.ones(size, "u1")
        return self.kept[key]

    def _copies(
        self, question: Question, array: "np.ndarray[Any, Any]", *, by_isthmus: bool
    ) -> None:
        make = self._isthmus if by_isthmus else self._memcpy
        copies = [make(array, way, size) for way, size in question.crossings.items()]
        for _ in range(question.uses):
            for copy in copies:
                copy()

    def _isthmus(self, array: "np.ndarray[Any, Any]", way: str, size: int) -> Callable[[], None]:
        host, device = array[:size], self._device_part(size)
        pair = (device, host) if way == "h2d" else (host, device)
        return lambda: isthmus.copy(*pair)

    def _device_part(self, size: int) -> isthmus.DevicePointer:
        pointer = self.device.__cuda_array_interface__["data"][0]
        return isthmus.DevicePointer(pointer, size)

    def _memcpy(self, array: "np.ndarray[Any, Any]", way: str, size: int) -> Callable[[], None]:
        there = ctypes.c_uint64(self.device.__cuda_array_interface__["data"][0])
        here, count = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(size)
        library, wait = self.driver.library, self.driver.library.cuStreamSynchronize
        if way == "h2d":
            # It may return before the bytes of a short pageable copy are there.
            return lambda: require(library.cuMemcpyHtoD_v2(there, here, count) or wait(None))
        return lambda: require(library.cuMemcpyDtoH_v2(here, there, count))


def questions(number: int, max_bytes: int, seed: int) -> list[Question]:
    """Draw questions; the same for the same seed."""
    draw = random.Random(seed)  # noqa: S311 - not a secret
    found = []
    for _ in range(number):
        size = min(max_bytes, round(2 ** draw.uniform(2, max_bytes.bit_length() - 1)))
        uses = draw.choice([1, 1, 1, 2, 5, 10, 100])
        found.append(
            Question(
                size_bytes=size,
                direction=draw.choice(list(Direction)),
                uses=max(1, min(uses, MAX_MOVED // size)),
                buffer=draw.choice([Buffer.NEW, Buffer.NEW, Buffer.PAGEABLE, Buffer.PINNED]),
            )
        )
    return found


def answered(measuring: Measuring, profile: Any, question: Question, seconds: float) -> Any:  # noqa: ANN401
    """Measure every way of a question in turns; compare with the advice."""
    advice = advice_on(question, profile)
    names = [way.name for way in advice.ways]
    times: dict[Name, list[float]] = {name: [] for name in names}
    with measuring.context:
        end = time.perf_counter() + seconds
        while len(times[names[0]]) < MIN_ROUNDS or (
            time.perf_counter() < end and len(times[names[0]]) < MAX_ROUNDS
        ):
            for name in names:
                times[name].append(measuring.turn(question, name))
    medians = {name: statistics.median(found) for name, found in times.items()}
    best = min(medians, key=lambda name: medians[name])
    return {
        **{key: str(value) for key, value in asdict(question).items() if value is not None},
        "advised": advice.best.name,
        "fastest": best,
        "times_the_fastest": medians[advice.best.name] / medians[best],
        "ways": [
            {"way": way.name, "predicted_s": way.cost.seconds, "measured_s": medians[way.name]}
            for way in advice.ways
        ],
        "rounds": len(times[names[0]]),
    }


def main() -> None:
    """Ask, measure, and print the share of right answers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--max-mib", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    driver = default_windows().driver
    profile = load_profile(options.profile) if options.profile else profile_here(driver, 0)
    measuring = Measuring(options.max_mib * MIB)
    asked = questions(options.questions, options.max_mib * MIB, options.seed)
    share_s = options.seconds / len(asked)
    results = [answered(measuring, profile, question, share_s) for question in asked]
    right = sum(result["times_the_fastest"] <= RIGHT for result in results)
    summary = {
        "questions": len(results),
        "within_5_percent": right,
        "share": right / len(results),
        "worst": max(result["times_the_fastest"] for result in results),
    }
    print(f"emulated: {driver.emulated}; {summary}")
    for result in sorted(results, key=lambda one: -float(one["times_the_fastest"]))[:10]:
        print(
            f"{result['times_the_fastest']:6.2f}  {result['size_bytes']:>10} B "
            f"{result['direction']:<12} x{result['uses']:<4} {result['buffer']:<9} "
            f"advised: {result['advised']}; fastest: {result['fastest']}"
        )
    if options.out is not None:
        document = {
            "schema_version": 1,
            "machine": machine_facts(),
            "seed": options.seed,
            "summary": summary,
            "results": results,
        }
        options.out.write_text(json_text(document), "utf-8")


if __name__ == "__main__":
    main()
