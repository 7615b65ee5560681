"""
Compares the results of `measure.sh` with the goals of copies: `python3 figures.py FOLDER`.

Prints Markdown: figure, goal, measured; then every library side by side, and the loaders. A dash
means not measured.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from results import Results, Rows

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
GB, US, MS = 1e9, 1e-6, 1e-3
SIZES = (4, 4 * KIB, 64 * KIB, MIB, 4 * MIB, 64 * MIB, GIB)
Line = tuple[str, str, str]


def figures(found: Results) -> Iterator[Line]:
    """Give each figure, its goal, and what was measured."""
    for way in ("h2d", "d2h"):
        for size, goal in ((GIB, "0.97"), (64 * MIB, "0.90")):
            yield (
                f"pageable {way}, {name_of(size)}, of pinned cudaMemcpy",
                f">= {goal}",
                over(
                    rate(found, way, "pinned", size, "rival_s"),
                    rate(found, way, "pageable", size, "isthmus_s"),
                ),
            )
        yield (
            f"pageable {way}, 4 MiB, of pageable cudaMemcpy",
            ">= 2",
            over(
                rate(found, way, "pageable", 4 * MIB, "rival_s"),
                rate(found, way, "pageable", 4 * MIB, "isthmus_s"),
            ),
        )
    fresh = found.side(contestant="isthmus", target="fresh", bytes=GIB)
    yield "pageable d2h, 1 GiB, fresh target", ">= 25 GB/s", gb(fresh, "median_s")
    yield from _few_cores(found)
    yield from _sweep(found)
    yield from _small(found)
    yield from _pinning(found)
    yield from _choice(found)


def _few_cores(found: Results) -> Iterator[Line]:
    for way in ("h2d", "d2h"):
        rows = found.cores(4, direction=way, bytes=GIB)
        yield f"4 cores, pageable {way}, 1 GiB", ">= 26 GB/s", gb(rows, "isthmus_s")
        ratios = [row["isthmus_s"] / row["rival_s"] for row in found.cores(1, direction=way)]
        worst = f"{max(ratios):.3f}" if ratios else "-"
        yield f"1 core, pageable {way}, the most of cudaMemcpy's time", "<= 1.03", worst


def _sweep(found: Results) -> Iterator[Line]:
    for way in ("h2d", "d2h"):
        for kind in ("pageable", "pinned"):
            rows = found.table("sweep", direction=way, kind=kind)
            slower = [row for row in rows if row["slower"]]
            where = ", ".join(
                f"{name_of(row['bytes'])} {row['isthmus_s'] / row['rival_s']:.2f}x"
                for row in slower[:5]
            )
            text = f"{len(slower)} of {len(rows)}" + (f" ({where})" if where else "")
            yield f"slower than cudaMemcpy, {kind} {way}, sizes", "0", text if rows else "-"


def _small(found: Results) -> Iterator[Line]:
    for way in ("h2d", "d2h"):
        rows = found.table("small", direction=way)
        for what, member in (
            ("copy", "copy_s"),
            ("copy, kinds told", "copy_kinds_told_s"),
            ("copy, kinds told, unordered", "copy_kinds_told_unordered_s"),
        ):
            extra = [row[member] - row["window_s"] for row in rows]
            goal = "<= 0.15 us"
            yield f"{what} over its window, {way}, 4 B to 64 KiB, most", goal, us(max, extra)
        for name in ("DevicePointer", "PyTorch", "CuPy"):
            extra = [
                row["python_s"] - row["cpp_s"]
                for row in found.calls(direction=way)
                if name in row["what"]
            ]
            yield f"Python over C++, {name}, {way}, 64 B, most", "<= 1 us", us(max, extra)


def _pinning(found: Results) -> Iterator[Line]:
    new = found.table("pinning", what="new", bytes=GIB)
    pooled = found.table("pinning", what="pooled")
    yield "pin 1 GiB", "<= 40 ms", ms(new, "allocate_s")
    yield "unpin 1 GiB", "<= 20 ms", ms(new, "free_s")
    yield "cuMemHostAlloc 1 GiB", "-", ms(new, "cuMemHostAlloc_s")
    yield (
        "pooled allocate and free, most",
        "<= 0.5 us",
        us(max, [row["allocate_and_free_s"] for row in pooled]),
    )


def _choice(found: Results) -> Iterator[Line]:
    rows = found.table("grid")
    good = sum(row["good"] for row in rows)
    share = f"{100 * good / len(rows):.1f} % ({good} of {len(rows)})" if rows else "-"
    yield "the choice within 5 % of the best path", ">= 95 %", share
    ratios = sorted(row["copy_s"] / row["predicted_s"] for row in rows if row.get("predicted_s"))
    if ratios:
        middle, most = ratios[len(ratios) // 2], ratios[-1]
        yield "actual over predicted", "-", f"{ratios[0]:.2f} to {most:.2f}, median {middle:.2f}"


def rate(found: Results, way: str, kind: str, size: int, member: str) -> float | None:
    """Give bytes per second of one point of the sweep."""
    rows = found.table("sweep", direction=way, kind=kind, bytes=size)
    return size / rows[0][member] if rows else None


def over(base: float | None, value: float | None) -> str:
    """Write a ratio, and the rate above it."""
    if base is None or value is None:
        return "-"
    return f"{value / base:.3f} ({value / GB:.1f} GB/s)"


def gb(rows: Rows, member: str) -> str:
    """Write the rate of the first row."""
    return f"{rows[0]['bytes'] / rows[0][member] / GB:.1f} GB/s" if rows else "-"


def us(choose: object, seconds: Iterable[float]) -> str:
    """Write the chosen time in microseconds."""
    listed = list(seconds)
    return f"{choose(listed) / US:.3f} us" if listed and callable(choose) else "-"


def ms(rows: Rows, member: str) -> str:
    """Write the first row's time in milliseconds."""
    return f"{rows[0][member] / MS:.1f} ms" if rows else "-"


def name_of(size: int) -> str:
    """Write a size."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"


def speed(size: int, seconds: float) -> str:
    """Write a time for small copies, a rate for large ones."""
    return f"{seconds / US:.2f} us" if size <= 64 * KIB else f"{size / seconds / GB:.1f} GB/s"


def side_by_side(found: Results) -> Iterator[str]:
    """Write a table of the libraries for each direction and kind."""
    for way, kind, target in (
        ("h2d", "pageable", "warm"),
        ("h2d", "pinned", "warm"),
        ("d2h", "pageable", "warm"),
        ("d2h", "pageable", "fresh"),
        ("d2h", "pinned", "warm"),
    ):
        rows = found.side(direction=way, kind=kind, target=target)
        names = list(dict.fromkeys(row["contestant"] for row in rows))
        if not names:
            continue
        sizes = [size for size in SIZES if any(row["bytes"] == size for row in rows)]
        yield f"\n{way}, {kind}, {target} target:\n"
        yield "| | " + " | ".join(name_of(size) for size in sizes) + " |"
        yield "|---" * (len(sizes) + 1) + "|"
        for name in names:
            times = {row["bytes"]: row["median_s"] for row in rows if row["contestant"] == name}
            cells = [speed(size, times[size]) if size in times else "-" for size in sizes]
            yield f"| {name} | " + " | ".join(cells) + " |"


def loaders(found: Results) -> Iterator[str]:
    """Write a table of the loaders."""
    names = list(dict.fromkeys(row["contestant"] for row in found.loading()))
    if not names:
        return
    yield "\nLoading a model:\n"
    yield "| | from the page cache | from the disk |\n|---|---|---|"
    for name in names:
        cells = []
        for cache in ("warm", "cold"):
            rows = found.loading(contestant=name, cache=cache)
            cells.append(f"{rows[0]['bytes_per_s'] / GB:.2f} GB/s" if rows else "-")
        yield f"| {name} | {cells[0]} | {cells[1]} |"


def main(arguments: list[str]) -> int:
    """Print the tables."""
    found = Results(Path(arguments[0]))
    if found.emulated:
        print("EMULATED device: these numbers are modelled, not measured\n")
    print("| figure | goal | measured |\n|---|---|---|")
    for line in figures(found):
        print("| " + " | ".join(line) + " |")
    for text in side_by_side(found):
        print(text)
    for text in loaders(found):
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
