"""Rows of an evaluation that nobody ran: numbers by a formula, to test what is made of them."""

from isthmus.sim.paper.studies import PROGRAMS, StudyRun, evaluation
from isthmus.sim.store import Row
from isthmus.sim.sweep import columns_of

_FACTOR = {"ideal": 0.5, "programmer": 1.0, "whole-page": 70.0, "single-range": 1.3, "ranges": 0.8}


def row_of(run: StudyRun) -> Row:
    """Make up a row."""
    policy = run.point.setup.policy
    link = run.point.setup.machine.link
    size = 1 + policy.unit.bit_length() / 100 if policy.kind == "ranges" else 1
    fault = run.point.setup.machine.faults.latency / 1e7 * 1024 / policy.unit
    factor = _FACTOR.get(policy.kind.value, 1.0) * size + fault
    base = (1 + PROGRAMS.index(run.program)) * 10**19 // link.bandwidth
    return {
        **columns_of(run.point),
        "modelled": True,
        "error": None,
        "total_ps": round(base * factor),
        "accessed_share": 0.01,
        "max_ranges": 3,
        "mean_ranges": 2.0,
        "tlb_accesses": 1000,
        "tlb_misses": 100,
        "tlb_misses_or_absent": 200,
        "tlb_accesses_after_l1": 500,
        "tlb_misses_after_l1": 100,
        "tlb_misses_or_absent_after_l1": 200,
        "tlb_shared_accesses": 100,
        "tlb_shared_misses": 50,
        "line_requests": 10**6,
    }


def rows() -> dict[str, Row]:
    """Make up all of them."""
    return {run.point.key: row_of(run) for run in evaluation(details=True)}
