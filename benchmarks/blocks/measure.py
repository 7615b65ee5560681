"""
Blocks by index between pinned memory and a GPU: isthmus.copy_blocks beside what engines use.

    python benchmarks/blocks/measure.py OUT.json [--quick] [--sms N]
        [--only rates latency lists beside]

Needs PyTorch with Triton and a GPU. All ways take turns in one process, in another order in each
round; medians count. README.md beside this has the method, and what was measured.
"""

import argparse
import gc
import json
import random
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from beside import measure_beside, measure_urgent
from rivals import Call, Case, ways_of

import isthmus

if TYPE_CHECKING:
    from collections.abc import Callable

KIB = 1 << 10
POOL_BYTES = 2 << 30
MAX_BYTES = 512 << 20
MAX_CHECKED = 4096
SIZES = (512, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB)
NUMBERS = (16, 256, 4096, 16_384, 65_536, 100_000)
QUICK_SIZES, QUICK_NUMBERS = (512, KIB, 4 * KIB, 16 * KIB, 64 * KIB), (16, 4096, 100_000)
Record = dict[str, Any]


def seconds_of(call: Call) -> float:
    """Time a copy from its call until it is complete."""
    stream = torch.cuda.current_stream()
    stream.synchronize()
    start = time.perf_counter()
    call()
    stream.synchronize()
    return time.perf_counter() - start


def medians(ways: dict[str, Call], rounds: int) -> dict[str, float]:
    """Let the ways take turns."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for call in ways.values():
        seconds_of(call)
    for _ in range(rounds):
        for name in random.sample(list(ways), len(ways)):
            found[name].append(seconds_of(ways[name]))
    return {name: statistics.median(times) for name, times in found.items()}


def hot_medians(ways: dict[str, Call], rounds: int) -> dict[str, float]:
    """Repeat each way in a row, so that the caches hold what it needs."""
    return {
        name: statistics.median(seconds_of(call) for _ in range(rounds))
        for name, call in ways.items()
    }


class Pools:
    """Both pools, and blocks of them in random order."""

    def __init__(self) -> None:
        """Allocate, with bytes that aren't zeros."""
        self.host = torch.empty(POOL_BYTES, dtype=torch.uint8, pin_memory=True)
        self.device = torch.randint(0, 255, (POOL_BYTES,), dtype=torch.uint8, device="cuda")
        self.host.copy_(self.device)

    def case(self, block_bytes: int, number: int, *, up: bool) -> Case:
        """Choose blocks."""
        count = POOL_BYTES // block_bytes
        targets, sources = (torch.randperm(count)[:number] for _ in range(2))
        return Case(up, self.host, self.device, block_bytes, targets, sources)


def check(case: Case, ways: dict[str, Call]) -> None:
    """Compare what each way writes with what it should."""
    target, source = case.ends
    expected = source[case.sources.to(source.device)].cpu()
    for name, call in ways.items():
        target[case.targets.to(target.device)] = 7
        torch.cuda.synchronize()
        call()
        torch.cuda.synchronize()
        if not torch.equal(target[case.targets.to(target.device)].cpu(), expected):
            raise AssertionError(f"{name} copied other bytes: {case.block_bytes} B")


def measure_rates(pools: Pools, sms: int | None, *, quick: bool) -> list[Record]:
    """Measure all sizes and numbers in both directions."""
    records = []
    print("GB/s     block  number   isthmus     best rival          ratio  all")
    for up in (True, False):
        for size in QUICK_SIZES if quick else SIZES:
            for number in QUICK_NUMBERS if quick else NUMBERS:
                if size * number > MAX_BYTES:
                    continue
                case = pools.case(size, number, up=up)
                ways = ways_of(case, sms)
                if number <= MAX_CHECKED:
                    check(case, ways)
                times = medians(ways, 5 if quick else 9)
                records.append(record_of(case, times))
                print(line_of(records[-1]), flush=True)
                del ways
        gc.collect()
    return records


def record_of(case: Case, times: dict[str, float]) -> Record:
    """Keep what was measured of one case."""
    target, source = case.ends
    to, of = case.targets.int().cuda(), case.sources.int().cuda()
    way = isthmus.plan_blocks(target, source, to, of).explain()
    return {
        "direction": "up" if case.up else "down",
        "block_bytes": case.block_bytes,
        "number": len(case.targets),
        "way": way.way,
        "sms": way.sms,
        "predicted_seconds": way.seconds,
        "seconds": times,
    }


def line_of(record: Record) -> str:
    """Write a line of the table."""
    size_bytes = record["block_bytes"] * record["number"]
    rates = {name: size_bytes / seconds / 1e9 for name, seconds in record["seconds"].items()}
    rivals = {name: rate for name, rate in rates.items() if not name.startswith("isthmus")}
    best = max(rivals, key=lambda name: rivals[name])
    others = ", ".join(f"{name} {rate:.1f}" for name, rate in rates.items())
    return (
        f"{record['direction']:<5}{record['block_bytes']:>9}{record['number']:>8}"
        f"{rates['isthmus']:>10.2f} {best:>13} {rivals[best]:6.2f}"
        f"{rates['isthmus'] / rivals[best]:>9.2f}x  [{record['way']} {record['sms']}] {others}"
    )


def measure_latency(pools: Pools, rounds: int) -> list[Record]:
    """Measure few small blocks, from the call until they are complete."""
    records = []
    for up in (True, False):
        for size, number in ((4 * KIB, 16), (4 * KIB, 1), (64 * KIB, 16)):
            case = pools.case(size, number, up=up)
            times = medians(ways_of(case, None), rounds)
            records.append(record_of(case, times))
            spelled = ", ".join(f"{name} {value * 1e6:.1f}" for name, value in times.items())
            print(f"us  {'up' if up else 'down'} {number} x {size}: {spelled}", flush=True)
    return records


def measure_lists(rounds: int) -> Record:
    """Measure lists of arrays, and descriptors in arrays."""
    small = [torch.empty(1024, device="cuda") for _ in range(256)]
    lists = {
        "pinned": [torch.empty(1024, pin_memory=True) for _ in small],
        "rows of one pinned array": list(torch.empty((256, 1024), pin_memory=True)),
        "pageable": [torch.ones(1024) for _ in small],
    }
    found: dict[str, Call] = {}
    for name, sources in lists.items():
        plan = isthmus.plan_many(small, sources)
        found[f"copy(list), {name}"] = lambda sources=sources: isthmus.copy(small, sources)
        found[f"plan_many, {name}"] = lambda plan=plan: plan().result()
        found[f"torch loop, {name}"] = lambda sources=sources: [
            target.copy_(source, non_blocking=True)
            for target, source in zip(small, sources, strict=True)
        ]
    times: Record = {"seconds": medians(found, rounds), "hot_seconds": hot_medians(found, rounds)}
    number = 100_000
    device = torch.empty(number * 512, dtype=torch.uint8, device="cuda")
    host = torch.empty(number * 512, dtype=torch.uint8, pin_memory=True)
    at = np.random.default_rng(1).permutation(number).astype(np.uint64) * np.uint64(512)
    targets, sources = at + np.uint64(device.data_ptr()), at + np.uint64(host.data_ptr())
    sizes = np.full(number, 512, np.uint64)
    accepted, complete = [], []
    for _ in range(rounds // 10):
        start = time.perf_counter()
        future = isthmus.copy_many(targets, sources, sizes)
        accepted.append(time.perf_counter() - start)
        future.result()
        complete.append(time.perf_counter() - start)
    times["seconds"]["copy_many of 100,000: accepted"] = statistics.median(accepted)
    times["seconds"]["copy_many of 100,000: complete"] = statistics.median(complete)
    for name, value in times["seconds"].items():
        hot = times["hot_seconds"].get(name)
        in_a_row = "" if hot is None else f", in a row {hot * 1e6:.1f}"
        print(f"us  {name}: {value * 1e6:.1f}{in_a_row}", flush=True)
    return times


def main() -> None:
    """Measure, print tables, and write all numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sms", type=int)
    parts = ("rates", "latency", "lists", "beside")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    options = parser.parse_args()
    rounds = 200 if options.quick else 1000
    torch.cuda.set_stream(torch.cuda.Stream())  # the driver's batch refuses the default one
    pools = Pools()
    measures: dict[str, Callable[[], Any]] = {
        "rates": lambda: measure_rates(pools, options.sms, quick=options.quick),
        "latency": lambda: measure_latency(pools, rounds),
        "lists": lambda: measure_lists(rounds),
        "beside": lambda: [*measure_beside(pools.case), *measure_urgent(pools.case, rounds // 4)],
    }
    machine = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "isthmus": isthmus.__version__,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    record: Record = {"machine": machine}
    for part in options.only:
        record[part] = measures[part]()
        options.out.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
