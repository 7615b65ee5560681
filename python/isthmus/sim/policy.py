"""
The policies: what moves to the GPU when it requests bytes, by name, with their options.

The state machines are in C++: cpp/src/pages/policy.hpp, with each default's source.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from isthmus.errors import UsageError
from isthmus.ground.sizes import format_size
from isthmus.ground.spelling import did_you_mean, shortened
from isthmus.measure.run.record import Record
from isthmus.sim.quantities import Count, Extent, Number, Size

_KIB, _MIB = 1 << 10, 1 << 20
_NAMELESS, _NAME_IT = "a policy of your own is named by its file", "-p ./mine.so, mine.py:Mine"


class Kind(StrEnum):
    """How data comes to the GPU. The others are compared with the first three."""

    IDEAL = "ideal"
    PROGRAMMER = "programmer"
    OVERLAPPED = "overlapped"
    PREFETCH = "prefetch"
    ADVISE = "advise"
    WHOLE_PAGE = "whole-page"
    SINGLE_RANGE = "single-range"
    RANGES = "ranges"
    BITMAP = "bitmap"
    BLOCK_64K = "block-64k"
    TREE = "tree"
    SEQUENTIAL = "sequential"
    ACCESS_COUNTER = "access-counter"
    ZERO_COPY = "zero-copy"
    ADAPTIVE = "adaptive"
    TREE_UNITS = "tree-units"
    OWN = "own"

    @property
    def migrates(self) -> bool:
        """Whether pages move on demand."""
        return self not in {Kind.IDEAL, Kind.PROGRAMMER, Kind.OVERLAPPED}


MEANINGS = {
    Kind.IDEAL: "all data is on the GPU from the start, at no cost",
    Kind.PROGRAMMER: "the program's own copies are made before it starts",
    Kind.OVERLAPPED: "the same copies in chunks, in streams beside the kernels",
    Kind.PREFETCH: "allocations that a kernel touches, whole, as it is launched; else as tree",
    Kind.ADVISE: "each allocation as cudaMemAdvise suits it: prefetched, or read in place",
    Kind.WHOLE_PAGE: "the page; each waiting request transfers its own (baseline of Zhang 2019)",
    Kind.SINGLE_RANGE: "the request, and the gap to the valid range: one range a page (Zhang 2019)",
    Kind.RANGES: "units, a few ranges a page (proposal of Zhang 2019)",
    Kind.BITMAP: "units, one bit each, no gap filled",
    Kind.BLOCK_64K: "blocks of 64 KiB, the driver's big pages",
    Kind.TREE: "as NVIDIA's driver: big pages, then subtrees over 51 %",
    Kind.SEQUENTIAL: "units, and the next 64 KiB of the page",
    Kind.ACCESS_COUNTER: "stays remote until it was accessed 256 times",
    Kind.ZERO_COPY: "never moves: each access crosses the link",
    Kind.ADAPTIVE: "blocks that double next to valid data and halve elsewhere",
    Kind.TREE_UNITS: "small units as leaves of the driver's tree",
    Kind.OWN: "yours: -p ./mine.so, or -p mine.py:Mine (docs/own-policies.md)",
}


class Overflow(StrEnum):
    """What happens to the range beyond the most that a page can have."""

    FILL_GAP = "fill_gap"
    WHOLE_PAGE = "whole_page"
    REFUSE = "refuse"


class SingleGap(StrEnum):
    """From which range a single range's gap is computed while transfers are pending."""

    PLANNED = "planned"
    VALID = "valid"


class Requested(StrEnum):
    """How many bytes a request asks for."""

    LINE = "line"
    UNIT = "unit"


class WriteMiss(StrEnum):
    """What a write to absent bytes does."""

    MIGRATE = "migrate"
    VALIDATE = "validate"


class Policy(Record):
    """Options of all kinds; each kind uses its own."""

    kind: Kind
    """The kind."""
    page: Extent = 2 * _MIB
    """The unit of translation, which has one state: a power of two."""
    unit: Extent = _KIB
    """The least that moves, except for whole-page: a power of two."""
    merge: bool = True
    """Whether requests for bytes in transit wait for them; otherwise each transfers its own."""
    request: Requested = Requested.LINE
    """single-range, ranges: whether a request asks for its line or for units."""
    write: WriteMiss = WriteMiss.MIGRATE
    """A write to absent bytes: fetched first, or valid without."""
    single_gap: SingleGap = SingleGap.PLANNED
    """single-range: the gap to the bytes that were requested, or to those that have arrived."""
    gap: Size = 0
    """ranges: smaller gaps move too."""
    max_ranges: Number = 8
    """ranges: the most on one page."""
    overflow: Overflow = Overflow.FILL_GAP
    """ranges: what happens to the next one."""
    tree_threshold_percent: Count = 51
    """tree, tree-units: a subtree moves if more than this share is there or requested."""
    grow: Extent = 64 * _KIB
    """tree: the first block of a fault."""
    prefetch: Size = 64 * _KIB
    """sequential: how many bytes after the request."""
    counter_threshold: Number = 256
    """access-counter: the access that makes its part move."""
    counter: Size = 0
    """access-counter: the bytes with one counter; 0: gmmu.counter."""
    max_unit: Extent = 64 * _KIB
    """adaptive: the largest block."""
    own: Annotated[str, Field(max_length=4096)] = ""
    """own: the file's name and a digest of its contents."""

    @property
    def name(self) -> str:
        """What results call it: its kind, or an own policy's file and digest."""
        return self.own or self.kind.value

    @model_validator(mode="after")
    def _possible(self) -> Self:
        sizes = {name: getattr(self, name) for name in ("page", "unit", "grow", "counter")}
        for name, size_bytes in sizes.items():
            if size_bytes & (size_bytes - 1):
                raise UsageError(
                    f"{name} of {format_size(size_bytes)} is not a power of two",
                    hint=f"did you mean {format_size(1 << size_bytes.bit_length() - 1)}?",
                )
        if (self.kind is Kind.OWN) != bool(self.own):
            raise UsageError(_NAMELESS, hint=_NAME_IT)
        if self.unit > self.page:
            raise UsageError(
                f"a unit of {format_size(self.unit)} is larger than its page of "
                f"{format_size(self.page)}",
                hint=f"policy.unit={format_size(self.page)} moves whole pages",
            )
        return self


_OF_KIND: dict[Kind, dict[str, object]] = {
    # The paper's text doesn't merge: docs/simulate-evaluation.md, question 1. Both are reported.
    Kind.WHOLE_PAGE: {"merge": False},
    Kind.RANGES: {"request": Requested.UNIT},
    Kind.BLOCK_64K: {"unit": 64 * _KIB},
    Kind.PREFETCH: {"unit": 4 * _KIB},
    # Whole allocations are brought: a line belongs to one of them.
    Kind.ADVISE: {"unit": 128},
    Kind.TREE: {"unit": 4 * _KIB},
    Kind.SEQUENTIAL: {"unit": 4 * _KIB},
    Kind.ACCESS_COUNTER: {"unit": 64 * _KIB},
}


def policy_names() -> list[str]:
    """List the policies, without those of users."""
    return [kind.value for kind in Kind if kind is not Kind.OWN]


def default_policy(name: str) -> Policy:
    """Give a policy with the defaults of its kind."""
    if name == Kind.OWN:
        raise UsageError(_NAMELESS, hint=_NAME_IT)
    if name not in policy_names():
        raise UsageError(
            f"there is no policy '{shortened(name)}'",
            hint=f"{did_you_mean(name, policy_names())} `isthmus sim list` lists them",
        )
    kind = Kind(name)
    return Policy.model_validate({"kind": kind, **_OF_KIND.get(kind, {})})
