"""How much of a page each policy moves, as sets of lines."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakes.reference_page import ReferencePage
    from isthmus._native import MigrationPolicy

Lines = set[int]


def runs_of(lines: Lines) -> list[tuple[int, int]]:
    """Runs of neighbours, as first and end."""
    firsts = sorted(line for line in lines if line - 1 not in lines)
    ends = sorted(line + 1 for line in lines if line + 1 not in lines)
    return list(zip(firsts, ends, strict=True))


def hull(lines: Lines, size: int = 1) -> Lines:
    """All from the first to the last, grown to multiples of a size."""
    return set(range(min(lines) // size * size, -(-(max(lines) + 1) // size) * size))


def in_lines(policy: MigrationPolicy, size_bytes: int) -> int:
    return min(size_bytes, policy.page_bytes) // policy.line_bytes


def unit_aligned(policy: MigrationPolicy, wanted: Lines) -> Lines:
    """What a policy asks for when these lines are wanted."""
    if policy.kind == "whole_page":
        return set(range(in_lines(policy, policy.page_bytes)))
    if policy.kind in {"single_range", "ranges"} and policy.request == "line":
        return wanted
    return hull(wanted, in_lines(policy, policy.unit_bytes))


def region_of(page: ReferencePage, asked: Lines) -> Lines | None:
    """What is to be there after a request; None if it is refused."""
    match page.policy.kind:
        case "single_range":
            return hull((page.valid if page.has_valid_range() else page.planned) | asked)
        case "ranges":
            return _joined(page.policy, page.planned, asked)
        case "tree" | "tree_units":
            return _subtrees(page.policy, page.planned, asked)
        case "sequential":
            end = max(asked) + 1 + in_lines(page.policy, page.policy.prefetch_bytes)
            return set(range(min(asked), min(end, in_lines(page.policy, page.policy.page_bytes))))
        case "adaptive":
            return _adapted(page, asked)
    return asked


def _joined(policy: MigrationPolicy, planned: Lines, asked: Lines) -> Lines | None:
    region = set(asked)
    for first, end in runs_of(planned):
        gap = max(first - max(region) - 1, min(region) - end)
        if gap <= 0 or gap * policy.line_bytes < policy.gap_bytes:
            region = hull(region | {first, end - 1})
    runs = runs_of(planned | region)
    if len(runs) <= policy.max_ranges:
        return region
    if policy.overflow == "refuse":
        return None
    if policy.overflow == "whole_page":
        return set(range(in_lines(policy, policy.page_bytes)))
    gaps = [(right[0] - left[1], left[1]) for left, right in pairwise(runs)]
    length, first = min(gaps)
    return region | set(range(first, first + length))


def _subtrees(policy: MigrationPolicy, planned: Lines, asked: Lines) -> Lines:
    min_bytes = policy.grow_bytes if policy.kind == "tree" else 0
    leaf = in_lines(policy, max(min_bytes, policy.unit_bytes))
    taken = set[int]()
    for line in sorted({line // leaf * leaf for line in asked}):
        there = planned | taken | hull({line}, leaf)
        length = leaf
        while length <= in_lines(policy, policy.page_bytes):
            subtree = hull({line}, length)
            share = 100 * len(subtree & there)
            if length == leaf or share > policy.tree_threshold_percent * length:
                taken |= subtree
            length *= 2
    return taken


def _adapted(page: ReferencePage, asked: Lines) -> Lines:
    unit = in_lines(page.policy, page.policy.unit_bytes)
    if not {min(asked) - 1, max(asked) + 1} & page.planned:
        page.doublings = max(0, page.doublings - 1)
    elif unit << page.doublings < in_lines(page.policy, page.policy.max_unit_bytes):
        page.doublings += 1
    return hull(asked, unit << page.doublings)
