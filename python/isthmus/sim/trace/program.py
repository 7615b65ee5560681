"""The program of a trace file, checked when it is read."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from isthmus.sim.trace.format import STREAMS_END

if TYPE_CHECKING:
    from isthmus import _native

_Address = Annotated[int, Field(ge=0, lt=1 << 64)]
_Count = Annotated[int, Field(ge=0, lt=1 << 32)]
_Stream = Annotated[int, Field(ge=0, lt=STREAMS_END)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, from_attributes=True)


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
    stream: _Stream | None = None


class Launch(_Part):
    """One kernel."""

    name: str
    num_ctas: _Count
    warps_per_cta: _Count
    threads_per_cta: _Count
    max_ctas_per_sm: _Count
    local_bytes_per_thread: _Count
    before: list[HostStep]
    stream: _Stream = 0


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
    return Program.model_validate(program).model_dump_json()


def native_program(text: bytes) -> "_native.TraceProgram":
    """Read a program from JSON; raises pydantic's ValidationError if it is invalid."""
    from isthmus import _native

    def steps(of: list[HostStep]) -> "list[_native.TraceHostStep]":
        return [_native.TraceHostStep(**vars(step)) for step in of]

    program = Program.model_validate_json(text)
    launches = [vars(each) | {"before": steps(each.before)} for each in program.launches]
    parts = {
        "allocations": [_native.TraceAllocation(**vars(each)) for each in program.allocations],
        "launches": [_native.TraceLaunch(**each) for each in launches],
        "after": steps(program.after),
    }
    return _native.TraceProgram(**vars(program) | parts)
