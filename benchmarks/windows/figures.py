"""
Compares the results of `measure.sh` with the goals of windows: `python3 figures.py FOLDER`.

Prints a Markdown table: figure, goal, measured. A dash means not measured.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]
KIB, MIB = 1 << 10, 1 << 20
GB = 1e9
US = 1e-6


class Run:
    """The results of a run, and of window_details."""

    def __init__(self, folder: Path) -> None:
        """Read what is in the folder."""
        record = json.loads((folder / "run.json").read_text("utf-8"))
        self.emulated: bool = record["machine"]["emulated"]
        self._results: Rows = record["results"]
        details = folder / "details.json"
        text = details.read_text("utf-8") if details.exists() else ""
        self._details: dict[str, Any] = json.loads(text) if text.strip() else {}

    def medians(self, test: str, metric: str, **wanted: object) -> list[float]:
        """List the matching medians; warm caches unless told otherwise."""
        wanted = {"cpu_cache": "warm", "test": f"window_{test}", "metric": metric, **wanted}
        return [
            result["median"]
            for result in self._results
            if result["median"] is not None
            and all(result.get(key) == value for key, value in wanted.items())
        ]

    def gdrapi_extra_ns(self) -> list[float]:
        """List how much longer gdr_copy_to_mapping takes than write(), up to 4 KiB."""
        return [
            (row["gdr_copy_to_mapping_s"] - row["window_write_s"]) * 1e9
            for row in self._details.get("gdrapi", [])
            if row["bytes"] <= 4 * KIB
        ]

    def by_cpu(self, member: str) -> list[float]:
        """List one figure of window_details for each CPU."""
        return [row[member] for row in self._details.get("by_cpu", [])]

    def by_pair(self, size_bytes: int) -> list[float]:
        """List the times of two bound threads together, for each pair of CPUs."""
        rows = self._details.get("by_pair", [])
        return [row["write_s"] for row in rows if row["bytes"] == size_bytes]


def figures(run: Run) -> list[tuple[str, str, str]]:
    """Give each figure, its goal, and what was measured."""
    at = run.medians
    up_to_64 = [t for size in (1, 2, 4, 8, 16, 32, 64) for t in one(at, "write", "fenced", size)]
    posted = [t for size in (1, 2, 4, 8) for t in one(at, "write", "posted", size)]
    up_to_1k = [t for e in range(11) for t in one(at, "read", "complete", 1 << e)]
    flag_only = at("ping_pong", "round_trip", data=None)
    return [
        ("write <= 64 B, fenced", "<= 0.12 us", us(max, up_to_64)),
        ("write <= 8 B, posted", "<= 0.015 us", us(max, posted)),
        ("write 4 KiB", "<= 0.28 us", us(min, at("write", "fenced", bytes=4 * KIB))),
        ("write 64 KiB, threads", "<= 2.5 us", us(min, at("write", "fenced", bytes=64 * KIB))),
        ("write, 1 thread", ">= 20 GB/s", gb(at("bandwidth_write", "bandwidth", num_threads=1))),
        ("write, threads", ">= 34 GB/s", gb(at("bandwidth_write", "bandwidth"))),
        ("write 4 B, fenced, by CPU", "<= 0.12 us", spread(run.by_cpu("write_4_s"))),
        ("write 4 KiB, fenced, by CPU", "<= 0.28 us", spread(run.by_cpu("write_4096_s"))),
        ("write 1 MiB, by CPU", "<= 52.4 us", spread(run.by_cpu("write_1048576_s"))),
        ("write 64 KiB, by pair of CPUs", "<= 2.5 us", spread(run.by_pair(64 * KIB))),
        ("write 1 MiB, by pair of CPUs", "<= 30.8 us", spread(run.by_pair(MIB))),
        ("read 64 B, by CPU", "<= 1.05 us", spread(run.by_cpu("read_64_s"))),
        ("read 1 KiB, by CPU", "<= 1.05 us", spread(run.by_cpu("read_1024_s"))),
        ("read <= 1 KiB", "<= 1.05 us", us(max, up_to_1k)),
        ("read 4 KiB", "<= 2.4 us", us(min, at("read", "complete", bytes=4 * KIB))),
        ("read 64 KiB", "<= 12 us", us(min, at("read", "complete", bytes=64 * KIB))),
        ("read, threads", ">= 5.5 GB/s", gb(at("bandwidth_read", "bandwidth"))),
        ("push 64 KiB, asked", "-", us(min, at("push", "asked", bytes=64 * KIB))),
        ("ping-pong, best placement", "<= 2.0 us", us(min, flag_only)),
        *(
            (f"open, new, {bytes_ // KIB} KiB", "<= 100 us", us(max, opened))
            for bytes_ in (64 * KIB, 2 * MIB, 64 * MIB)
            for opened in [at("lifecycle", "open_new", bytes=bytes_)]
        ),
        *(
            (f"pin / map / unmap / unpin, {bytes_ // KIB} KiB", "-", steps(at, bytes_))
            for bytes_ in (64 * KIB, 2 * MIB, 64 * MIB)
        ),
        ("open, cached", "<= 0.2 us", us(max, at("lifecycle", "open_cached"))),
        ("gdr_copy_to_mapping over write()", "<= 10 ns", ns(run.gdrapi_extra_ns())),
        *(
            (f"{way} faster than {rival}, up to", "-", size(at(way, f"crossover_{rival}")))
            for way in ("write", "read")
            for rival in ("pinned", "pageable")
        ),
    ]


def one(at: Callable[..., list[float]], test: str, metric: str, size_bytes: int) -> list[float]:
    """Give the median of one thread at one size, if there is one."""
    return at(test, metric, bytes=size_bytes, num_threads=1)


def us(choose: Callable[[list[float]], float], seconds: list[float]) -> str:
    """Write the chosen time in microseconds."""
    return f"{choose(seconds) / US:.4g} us" if seconds else "-"


def steps(at: Callable[..., list[float]], size_bytes: int) -> str:
    """Write the time of each of the backend's steps in microseconds."""
    taken = [at("lifecycle", step, bytes=size_bytes) for step in ("pin", "map", "unmap", "unpin")]
    if not any(taken):
        return "-"
    return " / ".join(f"{times[0] / US:.4g}" if times else "-" for times in taken) + " us"


def spread(seconds: list[float]) -> str:
    """Write the minimum and the maximum in microseconds."""
    return f"{min(seconds) / US:.4g} to {max(seconds) / US:.4g} us" if seconds else "-"


def ns(values: list[float]) -> str:
    """Write the largest in nanoseconds."""
    return f"{max(values):.1f} ns" if values else "-"


def gb(bytes_per_s: list[float]) -> str:
    """Write the highest bandwidth."""
    return f"{max(bytes_per_s) / GB:.1f} GB/s" if bytes_per_s else "-"


def size(medians: list[float]) -> str:
    """Write the crossovers of one thread and of several."""
    return ", ".join(f"{median / KIB:g} KiB" for median in medians) or "-"


def main(arguments: list[str]) -> int:
    """Print the table."""
    run = Run(Path(arguments[0]))
    if run.emulated:
        print("EMULATED device: these numbers are modelled, not measured\n")
    print("| figure | goal | measured |\n|---|---|---|")
    for row in figures(run):
        print("| " + " | ".join(row) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
