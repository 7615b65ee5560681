"""
What a file of measure.py says over all of its rows; needs no GPU.

    python benchmarks/rhythms/summary.py FILE.json

The time over the rivals' in each rhythm, as geometric means over sizes, directions
and kinds of memory; rows that are slower by more than 5 % and 0.5 us; long uploads over pinned
memory's rate; pairs whose CPU time is above twice PyTorch's.
"""

import argparse
import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

KIB, MIB = 1 << 10, 1 << 20
RIVALS = {"isthmus": ("torch", "cupy"), "isthmus pointer": ("cudaMemcpy",)}
MIDDLE_BYTES = (32 * KIB, MIB)  # the driver's own copies after pauses
KINDS = ("pageable", "pinned")
LONG_BYTES = (64 * MIB, 256 * MIB, 1024 * MIB)
MAX_TIMES, MAX_MORE_S = 1.05, 0.5e-6
MAX_CPU_TIMES = 2

Row = dict[str, Any]
Cell = tuple[str, str, int, str]


def cells_of(rows: list[Row], value: str) -> dict[Cell, dict[str, Any]]:
    """Arrange the contestants' values by direction, kind of memory, size and rhythm."""
    cells: dict[Cell, dict[str, Any]] = defaultdict(dict)
    for row in rows:
        cell = (row["direction"], row["kind"], row["bytes"], row["rhythm"])
        cells[cell][row["contestant"]] = row[value]
    return cells


def is_middle(cell: Cell) -> bool:
    """Tell whether it is a download that the driver makes after pauses."""
    direction, kind, size, _ = cell
    return direction == "d2h" and kind in KINDS and MIDDLE_BYTES[0] <= size <= MIDDLE_BYTES[1]


def show_rivals(cells: dict[Cell, dict[str, float]]) -> None:
    """Print the time over the best rival's, and the rows that are slower."""
    for name, rivals in RIVALS.items():
        best = {cell: min(one[rival] for rival in rivals) for cell, one in cells.items()}
        over = {cell: one[name] / best[cell] for cell, one in cells.items()}
        for rhythm in dict.fromkeys(cell[3] for cell in cells):
            here = [cell for cell in cells if cell[3] == rhythm]
            middle = statistics.geometric_mean([over[cell] for cell in here if is_middle(cell)])
            ratio = statistics.geometric_mean([over[cell] for cell in here])
            print(name, rhythm, f"{ratio:.3f}, 32 KiB to 1 MiB down {middle:.3f}")
        slower = [
            cell
            for cell, one in cells.items()
            if over[cell] > MAX_TIMES and one[name] - best[cell] > MAX_MORE_S
        ]
        print(name, f"slower: {len(slower)} of {len(cells)}", *slower)


def show_long_uploads(cells: dict[Cell, dict[str, float]]) -> None:
    """Print how fast pageable memory is sent, over pinned memory's rate."""
    for (direction, kind, size, rhythm), times in cells.items():
        if direction == "h2d" and kind == "pageable" and size in LONG_BYTES:
            pinned = cells["h2d", "pinned", size, rhythm]
            shares = (f"{name} {pinned[name] / times[name]:.2f}" for name in (*RIVALS, "torch"))
            print(f"{size // MIB} MiB up", rhythm, "of pinned:", *shares)


def show_cpu(rows: list[Row]) -> None:
    """Print the pairs that take too much CPU time."""
    cells = cells_of(rows, "cpu_s_per_gb")
    over = {cell: one["isthmus"] / one["torch"] for cell, one in cells.items()}
    above = {cell: round(times, 2) for cell, times in over.items() if times > MAX_CPU_TIMES}
    print(f"CPU time above twice torch's: {len(above)} of {len(cells)}", *above.items())


def main() -> None:
    """Read the file and print its summary."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    arguments.add_argument("file", type=Path)
    record = json.loads(arguments.parse_args().file.read_text("utf-8"))
    cells = cells_of(record["results"], "median_s")
    show_rivals(cells)
    show_long_uploads(cells)
    show_cpu(record["cpu"])


if __name__ == "__main__":
    main()
