"""
What Zhang 2019 leaves open: each question is a named option, with its default and a reason.

The defaults follow the paper's text, and were fixed before any run was compared with its results.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from isthmus.measure.run.record import Record
from isthmus.sim.quantities import Extent


class BufferScope(StrEnum):
    """Who shares the entries of the migration buffer."""

    PER_PARTITION = "per_partition"
    TOTAL = "total"


class MergedWaiters(StrEnum):
    """Whether a request that waits for another's migration takes an entry of the buffer, too."""

    FREE = "free"
    TAKE_ENTRIES = "take_entries"


class LocalMemory(StrEnum):
    """Where per-thread (spill) memory is."""

    RESIDENT = "resident"
    MIGRATES = "migrates"


class ProgrammerData(StrEnum):
    """What a programmer copies before the program starts."""

    UPLOADS = "uploads"
    TOUCHED_GLOBAL = "touched_global"
    TOUCHED_ALL = "touched_all"
    TOUCHED_PAGES = "touched_pages"
    UPLOADS_OR_TOUCHED = "uploads_or_touched"


class CpuRequests(StrEnum):
    """What the CPU's accesses between kernels do to pages on the GPU."""

    TAKE_BACK = "take_back"
    LEFT_OUT = "left_out"


class ChunkOrder(StrEnum):
    """The order of an overlapped program's chunks."""

    IN_TURNS = "in_turns"
    PROGRAM = "program"


class Initially(StrEnum):
    """Where data is at the start."""

    ON_CPU = "on_cpu"
    ON_GPU = "on_gpu"


class EvictionKind(StrEnum):
    """What is evicted when the GPU's memory is full."""

    LRU = "lru"
    TREE = "tree"
    BLOCK_64K = "block_64k"
    CLOCK = "clock"
    RANDOM = "random"
    LFU = "lfu"
    BELADY = "belady"


class Recency(StrEnum):
    """What counts as a use of a page, for eviction."""

    MIGRATION = "migration"
    ACCESS = "access"


class Options(Record):
    """Choices that belong to neither the machine nor the policy."""

    buffer_scope: BufferScope = BufferScope.PER_PARTITION
    """Whether each memory partition has gmmu.buffer_entries, or all together."""
    merged_waiters: MergedWaiters = MergedWaiters.FREE
    """Whether a request that waits for another's migration takes an entry of the buffer, too."""
    local_memory: LocalMemory = LocalMemory.RESIDENT
    """Whether per-thread memory is on the GPU, or migrates like all other memory."""
    programmer_data: ProgrammerData = ProgrammerData.UPLOADS
    """programmer: explicit copies; touched lines of global memory; of local memory, too; touched
    pages, whole; or explicit copies, and touched lines if a program copies nothing."""
    cpu_requests: CpuRequests = CpuRequests.TAKE_BACK
    """Whether what the CPU accesses between kernels leaves the GPU, or stays."""
    chunk: Extent = 64 * 1024
    """overlapped: the bytes of a chunk: 4 us at 16 GB/s; a copy command takes 2.5 us on an H100."""
    chunk_order: ChunkOrder = ChunkOrder.IN_TURNS
    """overlapped: arrays that are copied together in turns, or array after array."""
    count_downloads: bool = False
    """programmer, overlapped: whether the time includes copies of results."""
    initially: Initially = Initially.ON_CPU
    """Where all data is at the start."""
    l1_kept_between_launches: bool = False
    """Whether the first-level cache outlives a kernel."""
    eviction_kind: EvictionKind = EvictionKind.LRU
    """When memory is full: the least recently used page, a subtree, a 64 KiB block, in turn, any
    page, the one with the fewest accesses, or the one whose next access is last (two runs)."""
    eviction_recency: Recency = Recency.MIGRATION
    """Whether migration alone counts as a use of a page, as for a driver, or any access."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """
    A question that Zhang 2019 leaves open.

    Attributes:
        setting: The setting that answers it; empty if a result holds every answer.
        choices: The default first.
    """

    number: int
    question: str
    setting: str
    choices: tuple[str, ...]
    reason: str


QUESTIONS: Final = (
    Question(
        number=1,
        question="are requests for the same page or unit merged?",
        setting="policy.merge",
        choices=("true", "false"),
        reason="we assume that partial migration merges and the whole-page baseline doesn't: the "
        "paper doesn't say. Both are scored everywhere",
    ),
    Question(
        number=2,
        question='"128 entries/memory partition": for each, or for all?',
        setting="options.buffer_scope",
        choices=("per_partition", "total"),
        reason="the text says so",
    ),
    Question(
        number=3,
        question="from which range is a single range's gap computed while transfers are pending?",
        setting="policy.single_gap",
        choices=("planned", "valid"),
        reason="the range is updated when the request is made; else a gap is sent repeatedly",
    ),
    Question(
        number=4,
        question="how many bytes does a request ask for?",
        setting="policy.request",
        choices=("line", "unit"),
        reason="a core sends address and length: its line. For ranges it is unit, because requests "
        "are split into units there",
    ),
    Question(
        number=5,
        question="does a write to absent bytes migrate them?",
        setting="policy.write",
        choices=("migrate", "validate"),
        reason="the paper doesn't distinguish reads and writes",
    ),
    Question(
        number=6,
        question="does local memory migrate?",
        setting="options.local_memory",
        choices=("resident", "migrates"),
        reason="the CPU never has it: a runtime allocates it on the GPU",
    ),
    Question(
        number=7,
        question="what does the programmer copy?",
        setting="options.programmer_data",
        choices=(
            "uploads",
            "touched_global",
            "touched_all",
            "touched_pages",
            "uploads_or_touched",
        ),
        reason="the programs' own copies",
    ),
    Question(
        number=8,
        question="do copies of results count?",
        setting="options.count_downloads",
        choices=("false", "true"),
        reason="the paper counts what is copied to the GPU before the start",
    ),
    Question(
        number=9,
        question='what is "ideal"?',
        setting="",
        choices=("all data resident",),
        reason="the paper: no communication",
    ),
    Question(
        number=10,
        question="what is a TLB miss?",
        setting="",
        choices=("not in the TLB", "or not migrated", "each counted after L1"),
        reason="the usual meaning of the word; a result counts them all",
    ),
    Question(
        number=11,
        question="which average?",
        setting="",
        choices=("arithmetic mean of times", "geometric mean"),
        reason='the paper says "average"; both are given',
    ),
    Question(
        number=12,
        question="which clock?",
        setting="cores.clock",
        choices=("700MHz", "1400MHz"),
        reason="the paper's simulator's, a warp wide; 1.4 GHz is the same machine's hot clock",
    ),
    Question(
        number=13,
        question="how long does a query of a page's state take? A change: gmmu.change_cycles",
        setting="gmmu.query_cycles",
        choices=("0", "100"),
        reason="the paper counts both without a number; 100 cycles are as long as a page walk",
    ),
    Question(
        number=14,
        question="do pages leave the GPU when the CPU accesses them between kernels?",
        setting="options.cpu_requests",
        choices=("take_back", "left_out"),
        reason="the CPU reads and writes them; the paper's flow charts leave its requests out",
    ),
    Question(
        number=15,
        question="of which suite are BFS and NN?",
        setting="",
        choices=("ISPASS 2009: bfs, nn", "Rodinia: bfs-rodinia, nn-rodinia"),
        reason="the suite of the other programs; the paper says Rodinia",
    ),
    Question(
        number=16,
        question="how many stores of a core may be in flight?",
        setting="cores.stores",
        choices=("32", "0"),
        reason="as many as loads: l1.misses. 0: any number, as it was until now",
    ),
    Question(
        number=17,
        question="does a merged request take an entry of the migration buffer?",
        setting="options.merged_waiters",
        choices=("free", "take_entries"),
        reason="the entry is the migration's",
    ),
    Question(
        number=18,
        question="does a TLB's entry hold the page's valid range?",
        setting="gmmu.range_in_tlb",
        choices=("false", "true"),
        reason="the paper keeps it in the page's table entry, and has no invalidation",
    ),
)
