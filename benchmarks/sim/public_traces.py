"""
Public traces of real programs, imported and simulated.

    .venv/bin/python benchmarks/sim/public_traces.py                  # says where they are
    .venv/bin/python benchmarks/sim/public_traces.py FOLDER > two_cores/public_traces.json

FOLDER has a folder for each trace, of its name. Every number is modelled, on `paper-gtx480`, except
`reference`: what this file reads from the text by itself, without Isthmus's reader. The exit code
is 1 if a number differs from its reference.
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from isthmus.ground.json_text import json_text
from isthmus.sim.running import simulate
from isthmus.sim.trace.importing import import_trace

POLICIES = ("programmer", "whole-page", "bitmap", "ranges", "tree")
LINE_BYTES = 128
# Of the policies `bitmap` and `ranges`; `ranges` also fills gaps, so its bytes have no reference.
UNIT_BYTES = 1024
PAGE_BYTES = 2 << 20
WORD_BYTES = 4
# Of these traces' instructions, only these ask for memory outside of an SM.
GLOBAL = ("LDG", "STG", "ATOMG", "RED", "ATOM", "LD", "ST")
LOCAL = ("LDL", "STL")


@dataclass(frozen=True, slots=True)
class PublicTrace:
    """Where a trace is."""

    name: str
    repository: str
    commit: str
    folder: str


TRACES = (
    PublicTrace(
        "vectoradd",
        "https://github.com/sarchlab/mgpusim",
        "2a84882ae3f04b888bce81de3676e6a1eab2ef7f",
        "nvidia/data/simple-trace-example",
    ),
    PublicTrace(
        "bfs",
        "https://github.com/sarchlab/mgpusim",
        "b752af7c3539de47428cbddd1847cb5d6a1fe90a",
        "accelsim_tracing/data/bfs-rodinia-2.0-ft",
    ),
    PublicTrace(
        "b+tree",
        "https://github.com/sarchlab/mgpusim",
        "3c3f0c2e66f55bdab6981d4096c363d597e38315",
        "nvidia/data/rodinia-b+tree-128-1000",
    ),
    PublicTrace(
        "dataset_debug",
        "https://github.com/sarchlab/mgpusim",
        "c0ca552a7670e7d4e3d105c4695f21c05856a0cf",
        "nvidia/data/dataset_debug",
    ),
    PublicTrace(
        "atax-v5",
        "https://github.com/sarchlab/mgpusim",
        "9ea724ffcd1ff1db3aca2ecc2a01f883c8b2e8ff",
        "nvidia/trace/testdata/atax-v5",
    ),
    PublicTrace(
        "atax-v6",
        "https://github.com/sarchlab/mgpusim",
        "35ebaf87faf23cddab1b8e130fdf359ca38cd171",
        "nvidia/trace/testdata/atax-v6",
    ),
)


def accesses(text: str) -> Iterator[tuple[str, list[range]]]:
    """Read each access of a grouped text: the opcode's name, and the bytes of each lane."""
    for line in text.splitlines():
        words = line.split()
        if len(words) < 5 or not words[2].isdigit() or "=" in words:  # noqa: PLR2004 - no access
            continue
        mask, targets = int(words[1], 16), int(words[2])
        opcode = words[3 + targets].split(".")
        after = words[5 + targets + int(words[4 + targets]) :]
        if opcode[0] not in (*GLOBAL, *LOCAL) or mask == 0:
            continue
        lanes = mask.bit_count()
        mode, base = after[1], int(after[2], 16)
        if mode == "0":
            starts = [int(word, 16) for word in after[2 : 2 + lanes]]
        elif mode == "1":
            starts = [base + int(after[3]) * lane for lane in range(lanes)]
        else:
            starts = list(accumulate(map(int, after[3 : 2 + lanes]), initial=base))
        bits = [int(part.lstrip("US")) for part in opcode if part.lstrip("US").isdigit()]
        width = bits[0] // 8 if bits else 4
        yield opcode[0], [range(start, start + width) for start in starts]


def blocks(lanes: list[range], size: int) -> set[int]:
    """Number the aligned blocks of a size that contain the lanes' bytes."""
    return {byte // size for lane in lanes for byte in (*lane[:: min(size, 4)], lane[-1])}


@dataclass(slots=True)
class Device:
    """What is on the GPU, where the program's uploads take whole pages back to the CPU."""

    lines: set[int] = field(default_factory=set)
    num_lines: int = 0
    num_units: int = 0

    def access(self, lines: set[int]) -> None:
        """Bring the units of lines that are not here."""
        new = lines - self.lines
        here = {line * LINE_BYTES // UNIT_BYTES for line in self.lines}
        units = {line * LINE_BYTES // UNIT_BYTES for line in new}
        self.num_lines += len(new)
        self.num_units += len(units - here)
        self.lines |= new

    def upload(self, address: int, size_bytes: int) -> None:
        """Take back the pages that the program writes on the CPU."""
        first, last = address // PAGE_BYTES, (address + size_bytes - 1) // PAGE_BYTES
        self.lines = {
            line for line in self.lines if not first <= line * LINE_BYTES // PAGE_BYTES <= last
        }


def reference(folder: Path) -> dict[str, int]:
    """
    Count what a trace asks for.

    Returns:
        In bytes: what the program uploads itself, the lines that it touches, and what crosses the
        link in units; and the requests: for each access, its lines, or its words of local memory.
    """
    device, kernels, uploaded, requests = Device(), 0, 0, 0
    touched = set[int]()
    for command in (folder / "kernelslist.g").read_text().split():
        if command.startswith("MemcpyHtoD"):
            _, address, size = command.split(",")
            uploaded += int(size)
            device.upload(int(address, 16), int(size))
            continue
        kernels += 1
        lines = set[int]()
        for name, lanes in accesses((folder / command).read_text()):
            requested = blocks(lanes, WORD_BYTES if name in LOCAL else LINE_BYTES)
            requests += len(requested)
            lines |= requested if name in GLOBAL else set()
        device.access(lines)
        touched |= lines
    return {
        "kernels": kernels,
        "uploaded_bytes": uploaded,
        "line_requests": requests,
        "touched_bytes": len(touched) * LINE_BYTES,
        "touched_again_bytes": device.num_lines * LINE_BYTES,
        "unit_bytes": device.num_units * UNIT_BYTES,
    }


def simulated(trace: Path) -> list[dict[str, object]]:
    """Simulate a trace with each policy; times are compared with the programmer's copies."""
    results = {policy: simulate(trace, policy=policy) for policy in POLICIES}
    first = results[POLICIES[0]].total_ps
    return [
        {
            "policy": policy,
            "total_ps": result.total_ps,
            "ratio": round(result.total_ps / first, 3),
            "bytes_to_gpu": result.bytes_to_gpu,
            "bytes_to_cpu": result.bytes_to_cpu,
            "line_requests": result.counts["line_requests"],
            "touched_bytes": result.counts["touched_bytes"],
        }
        for policy, result in results.items()
    ]


def differences(counted: dict[str, int], rows: list[dict[str, object]]) -> list[str]:
    """Name the simulated numbers that differ from their reference."""
    by_policy = {row["policy"]: row for row in rows}
    pairs = [(by_policy["programmer"]["bytes_to_gpu"], counted["uploaded_bytes"], "uploads")]
    pairs += [(row["line_requests"], counted["line_requests"], "requests") for row in rows]
    pairs.append((by_policy["programmer"]["touched_bytes"], counted["touched_bytes"], "touched"))
    pairs.append(
        (by_policy["ranges"]["touched_bytes"], counted["touched_again_bytes"], "touched again")
    )
    pairs += [(by_policy["bitmap"]["bytes_to_gpu"], counted["unit_bytes"], "units")]
    return [f"{what}: {found}, not {wanted}" for found, wanted, what in pairs if found != wanted]


def main(folder: Path) -> int:
    """Import and simulate each trace; the result goes to stdout, differences to stderr."""
    records, different = [], 0
    for public in TRACES:
        with tempfile.TemporaryDirectory() as scratch:
            report = import_trace(folder / public.name, Path(scratch) / "trace.arrow")
            rows = simulated(report.path)
        counted = reference(folder / public.name)
        for difference in differences(counted, rows):
            print(f"{public.name}: {difference}", file=sys.stderr)
            different += 1
        records.append(
            {
                "trace": public.name,
                "repository": public.repository,
                "commit": public.commit,
                "folder": public.folder,
                "text_bytes": report.text_bytes,
                "warnings": list(report.warnings),
                "reference": counted,
                "runs": [{"modelled": True, **row} for row in rows],
            }
        )
    print(json_text({"machine": "paper-gtx480", "traces": records}), end="")
    return 1 if different else 0


def places() -> str:
    """Give the commands that put the traces into a folder."""
    commands = []
    for public in TRACES:
        clone = public.repository.rsplit("/", maxsplit=1)[1]
        depth = public.folder.count("/") + 1
        commands.append(f"[ -d {clone} ] || git clone --filter=blob:none {public.repository}")
        commands.append(
            f"mkdir -p traces/{public.name} && git -C {clone} archive {public.commit} "
            f"{public.folder} | tar -x -C traces/{public.name} --strip-components={depth}"
        )
    return "\n".join(dict.fromkeys(commands))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(main(Path(sys.argv[1])))
    print(places())
