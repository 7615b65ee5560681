"""The program of a trace file, checked when it is read."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from isthmus import _native

_Address = Annotated[int, Field(ge=0, lt=1 << 64)]
_Count = Annotated[int, Field(ge=0, lt=1 << 32)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Allocation(_Part):
    """Memory that the program allocated."""

    name: str
    address: _Address
    size_bytes: _Address


class HostStep(_Part):
    """What the host does between launches."""

    kind: Literal["upload", "download", "read", "write", "upload_again"]
    address: _Address
    size_bytes: _Address


class Launch(_Part):
    """One kernel."""

    name: str
    num_ctas: _Count
    warps_per_cta: _Count
    threads_per_cta: _Count
    max_ctas_per_sm: _Count
    local_bytes_per_thread: _Count
    before: list[HostStep]


class Program(_Part):
    """Everything that is known before any operation is read; as `isthmus::trace::Program`."""

    name: str
    description: str
    synthetic: bool
    allocations: list[Allocation]
    launches: list[Launch]
    after: list[HostStep]
    thread_instructions: _Address


def program_text(program: "_native.TraceProgram") -> str:
    """Give a program as JSON."""
    return Program.model_validate(
        {
            "name": program.name,
            "description": program.description,
            "synthetic": program.synthetic,
            "allocations": [_allocation(each) for each in program.allocations],
            "launches": [_launch(each) for each in program.launches],
            "after": [_step(each) for each in program.after],
            "thread_instructions": program.thread_instructions,
        }
    ).model_dump_json()


def native_program(text: bytes) -> "_native.TraceProgram":
    """Read a program from JSON; raises pydantic's ValidationError if it is invalid."""
    from isthmus import _native

    program = Program.model_validate_json(text)
    return _native.TraceProgram(
        program.name,
        description=program.description,
        synthetic=program.synthetic,
        allocations=[
            _native.TraceAllocation(each.name, each.address, each.size_bytes)
            for each in program.allocations
        ],
        launches=[_native_launch(each) for each in program.launches],
        after=[_native_step(each) for each in program.after],
        thread_instructions=program.thread_instructions,
    )


def _allocation(allocation: "_native.TraceAllocation") -> dict[str, object]:
    return {
        "name": allocation.name,
        "address": allocation.address,
        "size_bytes": allocation.size_bytes,
    }


def _step(step: "_native.TraceHostStep") -> dict[str, object]:
    return {"kind": step.kind, "address": step.address, "size_bytes": step.size_bytes}


def _launch(launch: "_native.TraceLaunch") -> dict[str, object]:
    return {
        "name": launch.name,
        "num_ctas": launch.num_ctas,
        "warps_per_cta": launch.warps_per_cta,
        "threads_per_cta": launch.threads_per_cta,
        "max_ctas_per_sm": launch.max_ctas_per_sm,
        "local_bytes_per_thread": launch.local_bytes_per_thread,
        "before": [_step(step) for step in launch.before],
    }


def _native_step(step: HostStep) -> "_native.TraceHostStep":
    from isthmus import _native

    return _native.TraceHostStep(step.kind, step.address, step.size_bytes)


def _native_launch(launch: Launch) -> "_native.TraceLaunch":
    from isthmus import _native

    return _native.TraceLaunch(
        launch.name,
        num_ctas=launch.num_ctas,
        warps_per_cta=launch.warps_per_cta,
        threads_per_cta=launch.threads_per_cta,
        max_ctas_per_sm=launch.max_ctas_per_sm,
        local_bytes_per_thread=launch.local_bytes_per_thread,
        before=[_native_step(step) for step in launch.before],
    )
