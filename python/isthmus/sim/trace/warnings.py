"""The warnings of an import of a trace."""

from collections.abc import Mapping, Sequence

# The counts of `ImportCounts` in cpp/src/trace/accelsim_operations.hpp.
COUNTS = (
    "instructions",
    "thread_instructions",
    "memory_operations",
    "local_operations",
    "texture_accesses",
    "constant_accesses",
    "bulk_copies",
    "copies_to_shared",
    "half_copies",
    "unplaced_generic",
    "unplaced_lanes",
    "unknown_accesses",
    "zero_loads",
    "missing_ctas",
    "absent_lines",
    "unknown_gpus",
)

# By what was counted. Source: https://github.com/accel-sim/accel-sim-framework, tracer and reader.
_WARNINGS = {
    "texture_accesses": "TRAFFIC IS MISSING: {count} accesses to textures or surfaces, whose "
    "addresses Accel-Sim never traces; this trace doesn't represent the program",
    "bulk_copies": "TRAFFIC IS MISSING: {count} bulk copies of the copy engine (TMA) were left out",
    "unknown_accesses": "TRAFFIC IS MISSING: {count} accesses by unknown instructions "
    "were left out",
    "half_copies": "TRAFFIC IS MISSING: of {count} copies to shared memory (LDGSTS) the trace has "
    "only the shared address",
    "missing_ctas": "{count} thread blocks are not in the trace; they are assumed to do nothing",
    "absent_lines": "{count} lines that every tracer writes are absent from kernels' headers "
    "(kernel name, shmem, nregs, binary version, cuda stream id, shmem base_addr, local mem "
    "base_addr): they are assumed to be 0",
    "unknown_gpus": "{count} kernels are of a GPU (binary version) that isn't known here: how many "
    "thread blocks run at once is assumed to be up to the modelled machine alone",
    "zero_loads": "{count} loads are of address 0 in every lane: an old tracer's bug does that",
    "unplaced_generic": "{count} generic accesses, but the trace doesn't say where shared or local "
    "memory is: addresses below 16 MiB are assumed to be shared, the others global",
    "unplaced_lanes": "{count} accesses have more addresses than active lanes, as some tracers of "
    "versions up to 3 wrote them; the first were taken, as Accel-Sim does",
    "constant_accesses": "{count} accesses to constant memory have no addresses; they count as "
    "computing",
}
_ALWAYS = (
    "the trace has no allocations, asynchronous copies or copies back: allocations are the "
    "explicit copies and the lines that were touched, and all data begins on the CPU"
)


def warnings_of(
    counts: Mapping[str, int], *, num_streams: int, num_lists: int, left_out: Sequence[str]
) -> tuple[str, ...]:
    """
    Say what such traces don't hold, and what was assumed, as far as it affects a trace; counts have
    the names of `COUNTS`.
    """
    found = [
        text.format(count=f"{counts[name]:,}") for name, text in _WARNINGS.items() if counts[name]
    ]
    if num_streams > 1:
        found.append(
            f"the kernels ran on {num_streams} streams, and the trace doesn't say which waited for "
            "another (events): here they wait for copies alone"
        )
    if num_lists > 1:
        found.append(
            f"the folder has {num_lists} lists of kernels, one for each CUDA context; only "
            "kernelslist.g was imported: give another list to import its kernels"
        )
    if left_out:
        found.append(
            f"{len(left_out)} lines of the list are neither copies nor kernels, and were left out; "
            f"the first: {left_out[0][:60]!r}"
        )
    return (*found, _ALWAYS)
