"""The summary of a trace file, as text."""

from typing import TYPE_CHECKING

from isthmus.ground.sizes import approximate_size
from isthmus.ground.spelling import counted, one_line
from isthmus.show.fitting import PAGE_WIDTH, wrapped

if TYPE_CHECKING:
    from isthmus.sim.trace.file import TraceInfo


def info_text(info: "TraceInfo", *, width: int = PAGE_WIDTH) -> str:
    """Write it, a line for each fact, and more if it is longer than the width."""
    program, summary = info.program, info.summary
    allocated = sum(one.size_bytes for one in program.allocations)
    operations = ", ".join(f"{count} {kind}" for kind, count in summary.operations.items() if count)
    synthetic = " (synthetic)" if program.synthetic else ""
    lines = [
        f"trace         {one_line(str(info.path))}, {approximate_size(info.size_bytes)}",
        f"program       {one_line(program.name)}{synthetic}: {one_line(program.description)}",
        f"allocations   {len(program.allocations)}, {approximate_size(allocated)}",
        (
            f"launches      {len(program.launches)}, {counted(summary.num_ctas, 'CTA')}, "
            f"{counted(summary.num_warps, 'warp')}"
        ),
        f"operations    {operations or 'none'}",
        f"lines         {summary.num_lines} of 128 B",
        f"instructions  {summary.warp_instructions} of warps",
        f"blocks        {summary.num_blocks}",
    ]
    parts = (part for line in lines for part in wrapped(line, width, indent=" " * 14))
    return "\n".join(parts) + "\n"
