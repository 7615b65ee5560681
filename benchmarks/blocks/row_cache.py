"""
isthmus.RowCache: what calls take by their misses, beside a perfect prefetch, and in training.

    python benchmarks/blocks/row_cache.py OUT.json [--quick] [--only calls zipf training]

Needs PyTorch and a GPU; the table has 4 GiB (--quick: 1 GiB). `call` is a call until it is
complete, `replay` the same of a graph; `chained` is a call of 32 in a graph, by events; `copied` is
the same of isthmus.copy_blocks for as many rows as miss, other ones. Medians. A perfect prefetch
copies the rows that are missing, and nothing else. What reads rows second finds their addresses
translated: both take turns at that.
"""

import argparse
import ctypes
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import isthmus
import isthmus.torch

WIDTH = 128  # floats: rows of 512 bytes
ROW_BYTES = 512
HOT = 4096
CHAIN = 32
# Keys, misses, and the goal in microseconds.
CASES = ((HOT, 0, 6), (HOT, 2, 8), (HOT, 410, 15), (41_000, 41_000, 600))
ZIPF_KEYS = 65_536
TRAINED_BYTES = 512 << 20  # of managed memory at most
BAGS, BAG = 4096, 20
Record = dict[str, Any]


def seconds_of(call: Callable[[], Any]) -> float:
    """Time a call until it is complete."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def captured(call: Callable[[], Any]) -> Any:  # noqa: ANN401 - a graph
    """Record a call."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


class Keys:
    """Keys of calls: those that are always held, and as many others as are to miss."""

    def __init__(self, num_rows: int, count: int, misses: int) -> None:
        """Choose them."""
        self._order = torch.randperm(num_rows - HOT, device="cuda") + HOT
        self._at = 0
        self._misses = misses
        self._held = torch.arange(count - misses, device="cuda")

    def next(self) -> Any:  # noqa: ANN401 - a tensor
        """Give the keys of a call, in random order."""
        if self._at + self._misses > len(self._order):
            self._at = 0
        new = self._order[self._at : self._at + self._misses]
        self._at += self._misses
        keys = torch.cat((self._held, new))
        return keys[torch.randperm(len(keys), device="cuda")]


def event_seconds(graph: Any) -> float:  # noqa: ANN401
    """Time a replay on the GPU."""
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    graph.replay()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) / 1e3


def captured_copies(table: Any, ring: list[Any], to: Any, target: Any) -> Any:  # noqa: ANN401
    """Record copies of rows, by other keys each. All arrays must be kept."""
    isthmus.copy_blocks(target, table, to, ring[0])  # compiles
    torch.cuda.synchronize()
    return captured(lambda: [isthmus.copy_blocks(target, table, to, keys) for keys in ring])


def measure_calls(table: Any, slots: int, rounds: int) -> list[Record]:  # noqa: ANN401
    """Measure each case in three ways."""
    records = []
    print("   keys  misses     call   replay  chained   copied  goal  (us)")
    for count, misses, goal in CASES:
        with isthmus.RowCache(table.numpy(), slots) as cache:
            choose = Keys(len(table), count, misses)
            for _ in range(3):
                cache.ensure(choose.next())
            static = choose.next()
            one = captured(lambda keys=static: cache.ensure(keys))
            ring = [choose.next() for _ in range(CHAIN)]
            chain = captured(lambda keys=ring: [cache.ensure(each) for each in keys])
            copied = [torch.randint(len(table), (misses,), device="cuda") for _ in ring]
            to = torch.arange(misses, device="cuda")
            target = torch.empty(max(1, misses), WIDTH, device="cuda")
            copies = captured_copies(table, copied, to, target)
            times: dict[str, list[float]] = {"call": [], "replay": [], "chained": [], "copied": []}
            for _ in range(rounds):
                keys = choose.next()
                times["call"].append(seconds_of(lambda keys=keys: cache.ensure(keys)))
                static.copy_(choose.next())
                times["replay"].append(seconds_of(one.replay))
                for each in ring:
                    each.copy_(choose.next())
                times["chained"].append(event_seconds(chain) / CHAIN)
                for each in copied:
                    each.random_(len(table))
                times["copied"].append(event_seconds(copies) / CHAIN)
            torch.cuda.synchronize()
            cache.check()
            stats = cache.stats()
        found = {name: statistics.median(each) for name, each in times.items()}
        records.append(
            {"keys": count, "misses": misses, "goal_us": goal}
            | {"fetched_a_call": stats.fetched / stats.calls}
            | {f"{name}_us": seconds * 1e6 for name, seconds in found.items()}
        )
        text = "".join(f"{seconds * 1e6:9.1f}" for seconds in found.values())
        print(f"{count:7}{misses:8}{text}{goal:6}", flush=True)
    return records


def zipf(num_rows: int, count: int) -> Any:  # noqa: ANN401 - a tensor
    """Draw keys whose probability falls with their rank, in random places of the table."""
    ranks = torch.arange(1, num_rows + 1, device="cuda", dtype=torch.float64)
    sums = (1 / ranks).cumsum(0)
    drawn = torch.rand(count, device="cuda", dtype=torch.float64) * sums[-1]
    rank = torch.searchsorted(sums, drawn).clamp_(max=num_rows - 1)
    return rank * 2_654_435_761 % num_rows


def measure_zipf(table: Any, rounds: int) -> Record:  # noqa: ANN401
    """Compare calls with copies of exactly the rows that they miss."""
    num_rows = len(table)
    times: dict[str, list[float]] = {"ensure": [], "prefetch": []}
    target = torch.empty(ZIPF_KEYS, WIDTH, device="cuda")
    with isthmus.RowCache(table.numpy(), num_rows // 4) as cache:
        held_keys = torch.from_dlpack(cache.keys)
        for turn in range(3 * rounds):
            keys = zipf(num_rows, ZIPF_KEYS)
            held = torch.zeros(num_rows, dtype=torch.bool, device="cuda")
            held[held_keys[held_keys >= 0].long()] = True
            wanted = keys.unique()
            missing = wanted[~held[wanted]]
            missing = missing[torch.randperm(len(missing), device="cuda")]
            to = torch.arange(len(missing), device="cuda")
            ways: dict[str, Callable[[], Any]] = {
                "ensure": lambda keys=keys: cache.ensure(keys),
                "prefetch": lambda to=to, missing=missing: isthmus.copy_blocks(
                    target, table, to, missing
                ),
            }
            for name in sorted(ways, reverse=turn % 2 == 1):
                took = seconds_of(ways[name])
                if turn >= 2 * rounds:
                    times[name].append(took)
        stats = cache.stats()
    took, other = (sum(times[name]) for name in ("ensure", "prefetch"))
    record = {
        "keys": ZIPF_KEYS,
        "hit_rate": stats.hits / stats.keys,
        "misses": len(missing),
        "ensure_us": took / rounds * 1e6,
        "perfect_prefetch_us": other / rounds * 1e6,
        "ratio": took / other,
    }
    print(
        f"Zipf 1.0, {ZIPF_KEYS} keys, a quarter held: {record['ensure_us']:.0f} us; a perfect "
        f"prefetch {record['perfect_prefetch_us']:.0f}: {record['ratio']:.2f} (goal 1.15); "
        f"hits {record['hit_rate']:.3f}"
    )
    return record


class Managed:
    """A table in managed memory that stays on the host, as libraries of embeddings use it."""

    def __init__(self, table: Any) -> None:  # noqa: ANN401
        """Copy a table. Source: cuda.h of CUDA 13.0, CUmem_advise and CUmemLocationType."""
        driver = ctypes.CDLL("libcuda.so.1")
        size, pointer = ctypes.c_size_t(table.nbytes), ctypes.c_uint64()
        if driver.cuMemAllocManaged(ctypes.byref(pointer), size, 1):
            raise SystemExit("cuMemAllocManaged failed")
        for advice, device in ((3, -1), (5, 0)):  # preferred on the CPU; accessed by the GPU
            driver.cuMemAdvise(pointer, size, advice, device)
        ctypes.memmove(pointer.value or 0, table.data_ptr(), table.nbytes)
        self.__cuda_array_interface__ = {
            "shape": tuple(table.shape),
            "typestr": "<f4",
            "data": (pointer.value, False),
            "strides": None,
            "version": 3,
        }


def measure_training(rounds: int) -> Record:
    """Let steps of three tables take turns; the cache holds a quarter."""
    num_rows = TRAINED_BYTES // ROW_BYTES
    table = torch.randn(num_rows, WIDTH, pin_memory=True)
    bag = isthmus.torch.CachedEmbedding(table, num_rows // 4)
    managed = Managed(table)
    weights = {"resident": table.cuda(), "uvm": torch.as_tensor(managed, device="cuda")}

    def plain(weight: Any, keys: Any) -> None:  # noqa: ANN401
        weight.requires_grad_()
        torch.nn.functional.embedding_bag(keys, weight, mode="sum", sparse=True).sum().backward()
        with torch.no_grad():
            weight.add_(weight.grad.coalesce(), alpha=-0.01)
        weight.grad = None

    def cached(keys: Any) -> None:  # noqa: ANN401
        bag(keys).sum().backward()
        bag.step(0.01)

    times: dict[str, list[float]] = {"cached": [], "resident": [], "uvm": []}
    for _ in range(rounds):
        keys = zipf(num_rows, BAGS * BAG).view(BAGS, BAG)
        times["cached"].append(seconds_of(lambda keys=keys: cached(keys)))
        for name, weight in weights.items():
            times[name].append(seconds_of(lambda weight=weight, keys=keys: plain(weight, keys)))
    stats = bag.cache.stats()
    bag.close()
    equal = torch.equal(table, weights["resident"].detach().cpu())
    record: Record = {f"{name}_us": statistics.median(each) * 1e6 for name, each in times.items()}
    record |= {"hit_rate": stats.hits / stats.keys, "equal_to_resident": equal}
    print("training step, us:", ", ".join(f"{name} {value}" for name, value in record.items()))
    return record


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", default=["calls", "zipf", "training"])
    given = parser.parse_args()
    torch.manual_seed(0)
    num_rows = ((1 if given.quick else 4) << 30) // ROW_BYTES
    rounds = 20 if given.quick else 100
    record: Record = {
        "device": torch.cuda.get_device_name(),
        "isthmus": isthmus.__version__,
        "table_rows": num_rows,
    }
    if {"calls", "zipf"} & set(given.only):
        table = torch.randn(num_rows, WIDTH, pin_memory=True)
        if "calls" in given.only:
            record["calls"] = measure_calls(table, num_rows // 4, rounds)
        if "zipf" in given.only:
            record["zipf"] = measure_zipf(table, rounds)
        del table
    if "training" in given.only:
        record["training"] = measure_training(rounds)
    given.out.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
