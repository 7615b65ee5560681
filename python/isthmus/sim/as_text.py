"""Simulations as plain text, JSON and CSV."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from isthmus.ground.json_text import csv_of_records
from isthmus.ground.sizes import approximate_size
from isthmus.ground.spelling import writable
from isthmus.show.fitting import PAGE_WIDTH, blocks_text, table_lines, wrapped, wrapped_lines
from isthmus.show.format import Format
from isthmus.show.page import Table
from isthmus.sim.machine import Handling, ModelledMachine
from isthmus.sim.settings import Setup, setting_of

if TYPE_CHECKING:
    from isthmus.sim.parts import Parts
    from isthmus.sim.result import SimulationResult

MODELLED = "modelled: no number here was measured; compare policies on one machine, not machines"
_PS_PER_US = 1e6
# Cost in machine.faults -> of what.
_FAULT_COSTS = {
    "latency": "",
    "first": "more for a kernel's first batch",
    "block": "a block of 2 MiB",
    "page": "a page of 4 KiB",
    "evict": "a part that is evicted",
}
_LATENCY_OF = {Handling.BATCH: "a batch"}
_STALL_WORDS = {
    "issue_ps": "issue",
    "memory_ps": "memory",
    "translation_ps": "page walks",
    "migration_ps": "migration",
    "barrier_ps": "barriers",
}


def runs_text(
    workload: str,
    setup: Setup,
    runs: "Mapping[str, SimulationResult]",
    wanted: Format,
    *,
    width: int = PAGE_WIDTH,
    parts: "Parts | None" = None,
) -> str:
    """Write the results of one workload under several policies, with those of parts of the runs."""
    if wanted is Format.JSON:
        return _runs_json(workload, setup, runs, parts)
    if wanted is Format.CSV:
        return csv_of_records(*runs_table(workload, runs, parts))
    heading = _heading(workload, setup)
    blocks = [
        wrapped(MODELLED, width),
        wrapped_lines(heading, width, indent=" " * 10),
        table_lines(_runs_table(runs), width),
    ]
    if parts is not None:
        from isthmus.sim.parts import parts_table

        tables = (parts_table(policy, parts.by, rows) for policy, rows in parts.rows.items())
        blocks += [table_lines(table, width) for table in tables]
    return blocks_text(blocks)


def runs_table(
    workload: str, runs: "Mapping[str, SimulationResult]", parts: "Parts | None"
) -> tuple[list[str], Sequence[Mapping[str, object]]]:
    """Give the columns and the rows of CSV and Parquet: a row for each policy, or for each part."""
    name = writable(workload)
    if parts is None:
        rows = [{"workload": name, "policy": p, **r.flat()} for p, r in runs.items()]
        return list(rows[0]), rows
    found = [
        {"workload": name, "policy": policy, **row}
        for policy, rows in parts.rows.items()
        for row in rows
    ]
    return ["workload", "policy", *parts.columns], found


def _runs_json(
    workload: str,
    setup: Setup,
    runs: "Mapping[str, SimulationResult]",
    parts: "Parts | None",
) -> str:
    document = {
        "schema_version": 1,
        "modelled": True,
        "workload": workload,
        "sizes": setup.sizes,
        "machine": setup.machine.model_dump(mode="json"),
        "runs": [
            {
                "policy": policy,
                **result.flat(),
                "launches_ps": result.launch_ps.tolist(),
                "ranges_per_page": result.ranges_per_page.tolist(),
                "link_bin_seconds": result.link.bin_seconds,
                "link_to_gpu_busy": result.link.to_gpu.round(6).tolist(),
                "link_to_cpu_busy": result.link.to_cpu.round(6).tolist(),
                **({} if parts is None else {f"by_{parts.by.value}": parts.rows[policy]}),
            }
            for policy, result in runs.items()
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Write rows with the columns of the first one."""
    return csv_of_records(list(rows[0]), rows)


def _heading(workload: str, setup: Setup) -> list[str]:
    machine = setup.machine
    sizes = "".join(f", {name}={value}" for name, value in setup.sizes.items())
    link = {name: setting_of(f"link.{name}") for name in ("bandwidth", "latency")}
    return [
        f"workload  {workload}{sizes}",
        f"machine   {machine.name}: {machine.description}",
        (
            f"link      {link['bandwidth'].text(machine.link.bandwidth)} to the GPU, latency "
            f"{link['latency'].text(machine.link.latency)}"
        ),
        f"faults    {_fault_costs(machine)}",
    ]


def _fault_costs(machine: ModelledMachine) -> str:
    """Say what a fault takes on a machine besides the link: every cost that isn't 0."""
    handling = machine.faults.handling
    costs = dict(_FAULT_COSTS)
    costs["latency"] = _LATENCY_OF.get(handling, "each")
    if handling is Handling.LANES:
        costs["fetch"] = "each, to fetch what lanes lack"
    said = [
        f"{setting_of(f'faults.{name}').text(value)} {of}"
        for name, of in costs.items()
        if (value := getattr(machine.faults, name))
    ]
    return ", ".join(said) if said else "cost nothing"


def _runs_table(runs: "Mapping[str, SimulationResult]") -> Table:
    results = list(runs.values())
    first = results[0].total_ps

    def row(name: str, cell: "Callable[[SimulationResult], str]") -> tuple[str, ...]:
        return (name, *(cell(result) for result in results))

    rows = [
        row("time, us", lambda r: f"{r.total_ps / _PS_PER_US:.1f}"),
        row("lower bound, us", lambda r: f"{r.least_ps / _PS_PER_US:.1f}"),
        row("relative to the first", lambda r: f"{r.total_ps / first:.3f}" if first else "-"),
        row("to the GPU", lambda r: approximate_size(r.bytes_to_gpu)),
        row("to the CPU", lambda r: approximate_size(r.bytes_to_cpu)),
        row("migrations", lambda r: str(r.counts["migrations"])),
        row("accessed share", lambda r: f"{r.accessed_share:.1%}" if _migrated(r) else "-"),
        row("most ranges on a page", lambda r: str(r.max_ranges) if _migrated(r) else "-"),
        row("evictions", lambda r: str(r.counts["evictions"])),
        row("TLB misses", lambda r: _share(r.tlb["misses"], r.tlb["accesses"])),
        row("L1 hits", lambda r: _share(r.caches["l1_hits"], _looked_up(r, "l1"))),
        row("L2 hits", lambda r: _share(r.caches["l2_hits"], _looked_up(r, "l2"))),
        row("link to the GPU busy", lambda r: _share(r.link_busy_ps[0], r.total_ps)),
    ]
    advice = [_advice(result) for result in results]
    if any(advice):
        rows.append(("advice: place/read/GPU", *(one or "-" for one in advice)))
    for stall, word in _STALL_WORDS.items():
        shares = (_stall_share(result, stall) for result in results)
        rows.append((f"warps wait: {word}", *shares))
    return Table(title="", heads=("", *runs), rows=tuple(rows), num_text_columns=1)


def _advice(result: "SimulationResult") -> str:
    """Count allocations by advice: read in place, mostly read, on the GPU; "" without advice."""
    counts = [result.counts[f"advised_{name}"] for name in ("in_place", "read_mostly", "on_gpu")]
    return "/".join(map(str, counts)) if any(counts) else ""


def _migrated(result: "SimulationResult") -> bool:
    return result.traffic_bytes["migrated_to_gpu"] > 0


def _looked_up(result: "SimulationResult", level: str) -> int:
    return result.caches[f"{level}_hits"] + result.caches[f"{level}_misses"]


def _stall_share(result: "SimulationResult", stall: str) -> str:
    return _share(result.stall_ps[stall], sum(result.stall_ps.values()))


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
