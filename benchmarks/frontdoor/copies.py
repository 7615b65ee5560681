"""
Many copies by one call, and awaited copies: beside loops, other libraries and the bench's ways.

    python benchmarks/frontdoor/copies.py [--out FILE] [--turns N]

Medians of turns, each way once a turn. PyTorch and CuPy take part if they are installed and see a
GPU. Questions:

    small       256 arrays of 4 KiB: isthmus.copy of two lists; a loop of isthmus.copy; PyTorch's
                loop and torch._foreach_copy_; CuPy's loop; the ways of `isthmus bench` (C++ alone)
    state       400 arrays of 4 B to 256 MiB (on the emulated device: to 256 KiB) by one call,
                beside one copy of as many bytes
    delay       how long an unrelated asyncio.to_thread takes while 64 copies are awaited, beside
                the same without copies
    awaited     64 copies, awaited together
    strided     part of an array on the GPU, such as its columns, to and from the host: beside
                PyTorch's and CuPy's copies, where they are installed and see a GPU
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from copies_awaited import awaited
from copies_device import Device
from copies_small import bench_ways, small
from copies_state import state
from copies_strided import strided

from isthmus.ground.json_text import json_text

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from machine import machine_facts


def show(title: str, rows: dict[str, Any]) -> None:
    """Print one table."""
    print(f"\n{title}, microseconds (median)")
    for name, row in rows.items():
        if not isinstance(row, dict):
            print(f"  {name:<48} {row}")
            continue
        print(f"  {name}")
        for what, value in row.items():
            print(f"    {what:<46} {value:>14}")


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--turns", type=int, default=15)
    options = parser.parse_args()
    device = Device()
    results = {"small": small(device, options.turns)}
    device.free()
    show("256 arrays of 4 KiB", results["small"])
    results["bench"] = bench_ways()
    show("the ways of isthmus bench many", results["bench"])
    results["state"] = state(device, options.turns)
    show("a state dict of 400 arrays", results["state"])
    results["awaited"] = awaited(device, options.turns)
    show("64 awaited copies", results["awaited"])
    results["strided"] = strided(device, options.turns)
    show("parts of arrays", results["strided"])
    if options.out is not None:
        record = {
            "schema_version": 1,
            "machine": machine_facts(),
            "method": __doc__,
            "turns": options.turns,
            "unit": "us",
            "results": results,
        }
        options.out.write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
