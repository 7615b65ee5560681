"""
Writes the profiles that `isthmus advise --machine NAME` ships, from the results in benchmarks/.

    python benchmarks/advice/shipped.py [FOLDER]

The H200's is the one in h200/questions.json. A profile that `isthmus profile` wrote
before it measured host memory lacks what memory costs. The H100's is completed here from results of
the same kind of machine: allocations in a run of `isthmus bench`, a pool's blocks, and downloads
into new memory.
"""

import json
import sys
from pathlib import Path

from isthmus.decide.profile.model import (
    CostPoint,
    MemoryCost,
    MemoryKind,
    MemoryPoint,
    NewMemoryDownload,
    Profile,
    Timing,
)
from isthmus.decide.profile.model import Path as CopyPath
from isthmus.decide.profile.store import load_profile, profile_text
from isthmus.measure.run.model import Result, Run, Status
from isthmus.measure.run.reading import read_run

BENCHMARKS = Path(__file__).parents[1]
SHIPPED = BENCHMARKS.parent / "python" / "isthmus" / "decide" / "advice" / "machines"
# What measures a kind of memory, and whether its pages are written to.
_TESTS = {
    MemoryKind.PAGEABLE: ("alloc_malloc", True),
    MemoryKind.PINNED: ("alloc_cuda_malloc_host", False),
    MemoryKind.REGISTERED: ("alloc_cuda_host_register", True),
}
_BOTH = "allocate_and_free_s"


def shipped(name: str) -> Profile:
    """Give a machine's profile. A GPU's number names one GPU; this profile is of its kind."""
    profile = MACHINES[name]()
    machine = profile.machine.model_copy(update={"gpu_uuid": "any"})
    return profile.model_copy(update={"machine": machine})


def _h100() -> Profile:
    measured = BENCHMARKS / "transfer" / "h100"
    run = read_run(str(BENCHMARKS / "link" / "h100" / "run.json"))
    return load_profile(measured / "profile.json").model_copy(
        update={
            "memory": [*_allocations(run), *_pools(measured / "details.json")],
            "new_memory_downloads": _new_downloads(measured / "side_by_side.json"),
        }
    )


def _h200() -> Profile:
    questions = json.loads((BENCHMARKS / "advice/h200/questions.json").read_text("utf-8"))
    return Profile.model_validate(questions["profile"])


MACHINES = {"h100-sxm-pcie5": _h100, "h200-sxm-pcie5": _h200}


def _allocations(run: Run) -> list[MemoryCost]:
    found = []
    for memory, (test, touched) in _TESTS.items():
        steps = {
            (result.bytes, result.metric): _timing(result)
            for result in run.results
            if result.test == test
            and result.status == Status.PASSED
            and result.metric in {"allocate", "free"}
            and (result.axes.get("pages") == "touched") == touched
        }
        points = [
            MemoryPoint(bytes=size, allocate=timing, free=steps[size, "free"])
            for (size, metric), timing in sorted(steps.items())
            if metric == "allocate"
        ]
        found.append(MemoryCost(memory=memory, points=points))
    return found


def _timing(result: Result) -> Timing:
    median, half = result.median or 0.0, (result.iqr or 0.0) / 2
    low = max(median - half, result.min or 0.0)
    return Timing(seconds=median, low_seconds=low, high_seconds=median + half)


def _pools(path: Path) -> list[MemoryCost]:
    """Take pools with and without memory; a block and its return were measured together."""
    pinning = json.loads(path.read_text("utf-8"))["pinning"]
    return [
        MemoryCost(
            memory=memory,
            points=[
                MemoryPoint(
                    bytes=one["bytes"],
                    allocate=Timing(seconds=one.get("allocate_s") or one[_BOTH] / 2),
                    free=Timing(seconds=one.get("free_s") or one[_BOTH] / 2),
                )
                for one in pinning
                if one["what"] == what
            ],
        )
        for memory, what in ((MemoryKind.NEW_PINNED, "new"), (MemoryKind.POOL, "pooled"))
    ]


def _new_downloads(path: Path) -> list[NewMemoryDownload]:
    """Take copies into new arrays; their freeing, a few percent, wasn't measured with them."""
    results = json.loads(path.read_text("utf-8"))["results"]
    wanted = {"direction": "d2h", "kind": "pageable", "target": "fresh"}
    return [
        NewMemoryDownload(
            path=copy_path,
            points=[
                CostPoint(bytes=one["bytes"], seconds=one["median_s"])
                for one in results
                if wanted.items() <= one.items() and one["contestant"] == contestant
            ],
        )
        for copy_path, contestant in ((CopyPath.DRIVER, "cudaMemcpy"), (CopyPath.STAGED, "isthmus"))
    ]


def main(arguments: list[str]) -> None:
    """Write every machine's file."""
    folder = Path(arguments[0]) if arguments else SHIPPED
    folder.mkdir(parents=True, exist_ok=True)
    for name in MACHINES:
        (folder / f"{name}.json").write_text(profile_text(shipped(name)), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
