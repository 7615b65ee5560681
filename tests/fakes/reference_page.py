"""One page as sets of lines: what cpp/src/pages must agree with, in as few words as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakes.reference_regions import Lines, region_of, runs_of, unit_aligned

if TYPE_CHECKING:
    from isthmus._native import MigrationPolicy


class ReferencePage:
    """The rules of MigrationPolicy, one after the other."""

    def __init__(self, policy: MigrationPolicy) -> None:
        self.policy = policy
        self.clear()

    def clear(self) -> None:
        self.planned, self.valid = set[int](), set[int]()
        self.counters, self.doublings = dict[int, list[int]](), 0

    def request(self, wanted: Lines, *, is_write: bool) -> tuple[str, Lines]:
        policy = self.policy
        if wanted <= self.valid:
            return "hit", set()
        if policy.kind == "zero_copy":
            return "remote", set()
        if policy.kind == "access_counter":
            return ("wait", set()) if wanted <= self.planned else self.count(min(wanted))
        validates = is_write and policy.write == "validate" and self.can_join(wanted)
        if policy.merge and not validates and wanted <= self.planned:
            return "wait", set()
        asked = wanted if validates else unit_aligned(policy, wanted)
        region = asked if validates and "range" not in policy.kind else region_of(self, asked)
        if region is None:
            return "remote", set()
        moving = region - (self.valid if self.has_valid_range() else self.planned)
        if validates:
            self.valid |= wanted
            moving -= wanted
        elif not policy.merge:
            moving |= asked - self.valid
        self.planned |= region
        return ("hit" if validates and not moving else "migrate"), moving

    def arrived(self, transfer: Lines) -> bool:
        if transfer <= self.valid:
            return False
        if not self.can_join(transfer):
            self.planned -= transfer - self.valid
            return False
        self.valid |= transfer
        self.planned |= transfer
        return True

    def has_valid_range(self) -> bool:
        return self.policy.kind == "single_range" and self.policy.single_gap == "valid"

    def can_join(self, lines: Lines) -> bool:
        return not self.has_valid_range() or len(runs_of(self.valid | lines)) == 1

    def count(self, line: int) -> tuple[str, Lines]:
        policy = self.policy
        accesses = self.counters.setdefault(line * policy.line_bytes // policy.counter_bytes, [])
        accesses.append(line)
        if len(accesses) < policy.counter_threshold:
            return "remote", set()
        touched = {near for line in accesses for near in unit_aligned(policy, {line})}
        accesses.clear()
        moving = touched - self.planned
        self.planned |= touched
        return "remote", moving
