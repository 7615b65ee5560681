"""The summary of a trace file, as text."""

from typing import TYPE_CHECKING

from isthmus.sizes import approximate_size
from isthmus.suggest import one_line

if TYPE_CHECKING:
    from isthmus.sim.trace.file import TraceInfo


def info_text(info: "TraceInfo") -> str:
    """Write it, a line for each fact."""
    program, summary = info.program, info.summary
    allocated = sum(one.size_bytes for one in program.allocations)
    operations = ", ".join(f"{count} {kind}" for kind, count in summary.operations.items() if count)
    synthetic = " (synthetic)" if program.synthetic else ""
    lines = [
        f"trace         {one_line(str(info.path))}, {approximate_size(info.size_bytes)}",
        f"program       {one_line(program.name)}{synthetic}: {one_line(program.description)}",
        f"allocations   {len(program.allocations)}, {approximate_size(allocated)}",
        (
            f"launches      {len(program.launches)}, {summary.num_ctas} CTAs, "
            f"{summary.num_warps} warps"
        ),
        f"operations    {operations or 'none'}",
        f"lines         {summary.num_lines} of 128 B",
        f"instructions  {summary.warp_instructions} of warps",
        f"blocks        {summary.num_blocks}",
    ]
    return "\n".join(lines) + "\n"
