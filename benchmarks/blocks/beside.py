"""What copies of blocks cost other kernels, and what urgent copies wait for beside bulk ones."""

import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
from rivals import Call, Case, ways_of

import isthmus

KIB = 1 << 10
BULK_BYTES = 64 << 20
AHEAD = 2
WORK_SECONDS = 0.1
MakeCase = Callable[..., Case]
Record = dict[str, Any]


def _graph_of(work: Call) -> torch.cuda.CUDAGraph:
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


def _works() -> dict[str, torch.cuda.CUDAGraph]:
    """
    Make loops of kernels: bound by computing, by memory, and small ones as of a decode step.

    Matrices of zeros take little power: with others the clock falls, and hides what copies cost.
    """
    a, b = (torch.zeros(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(a)
    long = torch.randn(128 << 20, device="cuda")
    weights = [torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16) for _ in range(32)]
    state = torch.randn(8, 2048, device="cuda", dtype=torch.bfloat16)

    def decode() -> None:
        now = state
        for weight in weights:
            now = torch.nn.functional.silu(now @ weight) * 0.1

    return {
        "GEMM": _graph_of(lambda: [torch.matmul(a, b, out=out) for _ in range(4)]),
        "memory": _graph_of(lambda: [long.add_(1e-6) for _ in range(4)]),
        "decode": _graph_of(decode),
    }


def _timed(graph: torch.cuda.CUDAGraph, times: int) -> tuple[torch.cuda.Event, torch.cuda.Event]:
    """Let the work run between two events."""
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    graph.replay()  # the clock has risen
    first.record()
    for _ in range(times):
        graph.replay()
    last.record()
    last.synchronize()
    return first, last


def _seconds(graph: torch.cuda.CUDAGraph, times: int) -> float:
    first, last = _timed(graph, times)
    return first.elapsed_time(last) / 1e3


class _Copying(threading.Thread):
    """Copies again and again in a stream of its own, some ahead."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self._call = call
        self.runs, self.stop = threading.Event(), threading.Event()
        self.ends: list[torch.cuda.Event] = []

    def run(self) -> None:
        torch.cuda.synchronize()  # the thread has a context
        with torch.cuda.stream(torch.cuda.Stream()):
            while not self.stop.is_set():
                self._call()
                self.ends.append(torch.cuda.Event(enable_timing=True))
                self.ends[-1].record()
                if len(self.ends) > AHEAD:
                    self.ends[-1 - AHEAD].synchronize()
                    self.runs.set()
        torch.cuda.synchronize()


def _beside(graph: torch.cuda.CUDAGraph, times: int, call: Call) -> tuple[float, float]:
    """Give the work's seconds, and how many copies ended a second meanwhile."""
    copying = _Copying(call)
    copying.start()
    copying.runs.wait()
    first, last = _timed(graph, times)
    copying.stop.set()
    copying.join()
    seconds = first.elapsed_time(last) / 1e3
    meanwhile = [first.elapsed_time(end) / 1e3 for end in copying.ends]
    return seconds, sum(0 < end <= seconds for end in meanwhile) / seconds


def _ways(case: Case) -> dict[str, Call]:
    target, source = case.ends
    to, of = case.targets.int().cuda(), case.sources.int().cuda()
    native = isthmus.Transfers()._native  # noqa: SLF001 - the ways have no names in public
    ways: dict[str, Call] = {}
    for sms in (1, 2, 3, 4, 8):
        plan = native.plan_blocks(target, source, to, of, None, None, sms, "bulk", "kernel")
        ways[f"kernel, {sms} SMs"] = lambda plan=plan: plan.run(None)
    others = ways_of(case, None)
    return {"isthmus": others["isthmus plan"], **ways} | {
        name: others[name] for name in ("batch ANY", "triton")
    }


def measure_beside(make_case: MakeCase) -> list[Record]:
    """Measure each way beside each kind of work, in both directions."""
    records = []
    for name, graph in _works().items():
        _seconds(graph, 3)
        times = max(1, round(WORK_SECONDS / (_seconds(graph, 10) / 10)))
        for up in (True, False):
            for size in (4 * KIB, 64 * KIB):
                case = make_case(size, BULK_BYTES // size, up=up)
                for way, call in _ways(case).items():
                    alone, found = [], []
                    for _ in range(3):
                        alone.append(_seconds(graph, times))
                        found.append(_beside(graph, times, call))
                    slower = statistics.median(one for one, _ in found) / statistics.median(alone)
                    rate = statistics.median(rate for _, rate in found) * BULK_BYTES / 1e9
                    direction = "up" if up else "down"
                    line = f"beside {name:<7}{direction:<5}{size:>7}  {way:<15}"
                    print(f"{line} x{slower:.3f} at {rate:5.1f} GB/s", flush=True)
                    records.append(
                        {"beside": name, "direction": direction, "block_bytes": size, "way": way}
                        | {"slowdown": slower, "bytes_per_second": rate * 1e9}
                    )
    return records


def measure_urgent(make_case: MakeCase, rounds: int) -> list[Record]:
    """Time 16 blocks of 4 KiB alone, beside bulk copies, and beside these and a full GPU."""
    works = _works()
    bulk = ways_of(make_case(4 * KIB, BULK_BYTES // (4 * KIB), up=True), None)["isthmus plan"]
    small = make_case(4 * KIB, 16, up=True)
    target, source = small.ends
    to, of = small.targets.int().cuda(), small.sources.int().cuda()
    copying, urgent = torch.cuda.Stream(), torch.cuda.Stream()
    loads: dict[str, list[Call]] = {
        "alone": [],
        "beside bulk": [bulk],
        "beside GEMM": [works["GEMM"].replay],
        "beside bulk and GEMM": [bulk, works["GEMM"].replay],
    }
    records = []
    for load, calls in loads.items():
        for priority in ("bulk", "urgent"):
            plan = isthmus.plan_blocks(target, source, to, of, priority=priority)
            found = []
            for _ in range(rounds):
                torch.cuda.synchronize()
                with torch.cuda.stream(copying):
                    for call in calls[:1] * 2:
                        call()
                for call in calls[1:]:
                    call()
                time.sleep(2e-4)  # all of them run by now
                start = time.perf_counter()
                plan(stream=urgent)
                urgent.synchronize()
                found.append(time.perf_counter() - start)
            median, last = statistics.median(found), sorted(found)[int(0.99 * len(found))]
            print(f"urgent: {load:<22}{priority:<8} {median * 1e6:8.1f} us, p99 {last * 1e6:.1f}")
            records.append({"load": load, "priority": priority, "seconds": median, "p99": last})
    return records
