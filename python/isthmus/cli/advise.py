"""`isthmus advise`: which memory and which copies, and whether to use the GPU at all."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from isthmus.cli.completing import complete_machines
from isthmus.cli.failure import ExitCode
from isthmus.cli.options import DeviceOption, PlotsOption
from isthmus.cli.state import state_of
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of
from isthmus.errors import UsageError
from isthmus.show.format import PlainFormat

if TYPE_CHECKING:
    from isthmus.decide.advice.question import Question
    from isthmus.decide.profile.model import Profile

_DEFAULT = "copy"


class _DefaultToCopy(TyperGroup):
    """Runs the command `copy` if none is named: `isthmus advise 64MiB`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's
        """Name the command, if the first word doesn't."""
        if not args or args[0] not in self.commands:
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


class _Default(TyperCommand):
    """The command that is run if none is named: its help is that of `isthmus advise`."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's
        """Leave out this command's name."""
        formatter.write_usage(ctx.parent.command_path, " ".join(self.collect_usage_pieces(ctx)))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's
        """List the other commands."""
        others = {name: one for name, one in ctx.parent.command.commands.items() if one is not self}
        with formatter.section("Commands"):
            formatter.write_dl([(n, one.get_short_help_str(80)) for n, one in others.items()])


advise = typer.Typer(
    name="advise",
    cls=_DefaultToCopy,
    help="Say which memory and which copies to use, from measurements.",
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
)

_MachineOption = Annotated[
    str | None,
    typer.Option(
        metavar="MACHINE",
        autocompletion=complete_machines,
        help="A machine that comes with Isthmus, such as h100-sxm-pcie5, or a file of `isthmus "
        "profile -o FILE`.  [default: this machine]",
    ),
]
_CoresOption = Annotated[
    float | None,
    typer.Option(metavar="N", help="Cores for copies, including the caller's.  [default: all]"),
]
_FormatOption = Annotated[PlainFormat, typer.Option("--format", help="The output's format.")]
_DIRECTIONS = "to-device (h2d), from-device (d2h), round-trip, or reduce (all up, a result down)."


@advise.command(_DEFAULT, cls=_Default)
def copy(
    context: typer.Context,
    size: Annotated[
        str | None,
        typer.Argument(
            metavar="SIZE",
            help="The buffer, such as 64MiB, or a range, such as 64KiB..1GiB. Without it: at "
            "which sizes pinned memory pays.",
        ),
    ] = None,
    *,
    direction: Annotated[
        str | None,
        typer.Option(
            metavar="DIRECTION",
            help=f"What each use copies: {_DIRECTIONS}  [default: to-device]",
        ),
    ] = None,
    uses: Annotated[
        int, typer.Option(metavar="N", help="How often it is copied before it is freed.")
    ] = 1,
    buffer: Annotated[
        str | None,
        typer.Option(
            metavar="BUFFER",
            help="Buffer state before the call: new, pageable or pinned.  [default: new]",
        ),
    ] = None,
    result: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="With reduce: the size of the result.  [default: 4]"),
    ] = None,
    cores: _CoresOption = None,
    asynchronous: Annotated[
        bool, typer.Option("--async", help="The program computes while a copy runs.")
    ] = False,
    machine: _MachineOption = None,
    device: DeviceOption = None,
    plots: PlotsOption = None,
    output_format: _FormatOption = PlainFormat.TEXT,
) -> None:
    """
    Rank the ways to bring a buffer to a GPU.

    Times come from a profile: this machine's, measured once in at most 10 s, or that of --machine.
    A new buffer has two answers: steady (allocated and freed repeatedly) and first time (every page
    is new).

    Exit codes: 0 ok, 1 error, 2 usage, 4 no device.
    """
    from isthmus.cli.output import check_plots
    from isthmus.decide.advice.question import (
        Question,
        buffer_named,
        direction_named,
        result_asked,
    )

    sizes = _sizes(size)
    if not sizes and (direction or buffer or result or asynchronous or plots is not None):
        raise UsageError(
            "--direction, --buffer, --result, --async and --plots need a size",
            hint="isthmus advise 64MiB --direction round-trip",
        )
    smallest = sizes[0] if sizes else 1
    way = direction_named(direction or "to-device")
    question = Question(
        size_bytes=smallest,
        direction=way,
        uses=uses,
        buffer=buffer_named(buffer or "new"),
        result_bytes=result_asked(result, smallest, way),
        cores=cores,
        asynchronous=asynchronous,
    )
    check_plots(plots)
    profile, name, code = _profile(context, machine, device)
    if plots is not None:
        _draw(question, profile, sizes, plots / "advice")
    if not sizes:
        _print_classic(question, profile, name, output_format)
    else:
        _print_answer(question, profile, name, sizes, output_format)
    raise typer.Exit(code)


@advise.command()
def offload(
    context: typer.Context,
    *,
    up: Annotated[str, typer.Option(metavar="SIZE", help="Bytes to the GPU each time.")],
    down: Annotated[str, typer.Option(metavar="SIZE", help="Bytes back each time.")],
    cpu_s: Annotated[
        float, typer.Option("--cpu-seconds", metavar="S", help="Time on the CPU, in seconds.")
    ],
    gpu_s: Annotated[
        float,
        typer.Option(
            "--gpu-seconds", metavar="S", help="Time on the GPU without copies, in seconds."
        ),
    ],
    times: Annotated[int, typer.Option(metavar="N", help="Number of repetitions.")] = 1,
    resident: Annotated[
        str, typer.Option(metavar="SIZE", help="Bytes to the GPU once, such as weights.")
    ] = "0",
    cores: _CoresOption = None,
    machine: _MachineOption = None,
    device: DeviceOption = None,
    output_format: _FormatOption = PlainFormat.TEXT,
) -> None:
    """
    Say whether a computation should go to the GPU.

    You give its times on CPU and GPU; times of copies come from a profile, as for `isthmus advise`.
    Buffers are reused. Break-even sizes hold if both times grow with the bytes.

    Exit codes: 0 ok, 1 error, 2 usage, 4 no device.
    """
    from isthmus.decide.advice.answer import offload_data
    from isthmus.decide.advice.offload import Computation, offload_advice
    from isthmus.ground.json_text import json_text
    from isthmus.show.answers.offload import offload_as_text

    computation = Computation(
        up_bytes=_size_or_zero(up),
        down_bytes=_size_or_zero(down),
        cpu_seconds=cpu_s,
        gpu_seconds=gpu_s,
        times=times,
        resident_bytes=_size_or_zero(resident),
        cores=cores,
    )
    profile, name, code = _profile(context, machine, device)
    advice = offload_advice(computation, profile)
    if output_format == PlainFormat.JSON:
        print_data(json_text(offload_data(advice)))
    else:
        print_data(offload_as_text(advice, name, width=columns_of(sys.stdout)))
    raise typer.Exit(code)


def _sizes(typed: str | None) -> list[int]:
    """Read nothing, a size, or the two ends of a range."""
    from isthmus.ground.sizes import parse_sizes

    if typed is None:
        return []
    if "," in typed:
        raise UsageError("advice is for one size, or a range", hint="64MiB or 64KiB..1GiB")
    sizes = parse_sizes(typed)
    return [sizes[0], sizes[-1]] if ".." in typed else sizes


def _size_or_zero(typed: str) -> int:
    from isthmus.ground.sizes import parse_size

    return 0 if typed.strip() == "0" else parse_size(typed)


def _profile(
    context: typer.Context, machine: str | None, device: str | None
) -> "tuple[Profile, str, ExitCode]":
    """
    Find the profile, and say where it is from; measure this machine's if there is none. The code is
    ERROR if what was measured couldn't be stored, which has been reported.
    """
    if machine is not None:
        from isthmus.decide.advice.machine import machine_names, machine_profile

        if device is not None:
            raise UsageError("--machine and --device exclude each other", hint="leave out one")
        shipped = machine in machine_names()
        source = f"{machine}{', shipped with Isthmus' if shipped else ''}"
        return machine_profile(machine), source, ExitCode.OK
    from isthmus import _native
    from isthmus.cli.profile.measured import measure_and_keep
    from isthmus.decide.advice.asking import complete_profile
    from isthmus.measure.bench.choice import choose_device

    choice = choose_device(device, _native.Driver.open)
    identity = _native.profile_identity(choice.driver, choice.ordinal)
    stored = complete_profile(identity)
    if stored is not None:
        return stored, "of this machine", ExitCode.OK
    kept = measure_and_keep(choice, identity, debug=state_of(context).debug)
    return kept.profile, "of this machine", kept.code


def _print_classic(
    question: "Question", profile: "Profile", name: str, output_format: PlainFormat
) -> None:
    from isthmus.decide.advice.answer import classic_answers, classic_data
    from isthmus.ground.json_text import json_text
    from isthmus.show.answers.advice import classic_as_text

    both, reduced = classic_answers(profile, uses=question.uses, cores=question.cores)
    if output_format == PlainFormat.JSON:
        print_data(json_text(classic_data(both, reduced)))
    else:
        print_data(classic_as_text(both, reduced, name, width=columns_of(sys.stdout)))


def _print_answer(
    question: "Question",
    profile: "Profile",
    name: str,
    sizes: list[int],
    output_format: PlainFormat,
) -> None:
    from dataclasses import replace

    from isthmus.decide.advice.answer import advice_data, advice_on
    from isthmus.ground.json_text import json_text
    from isthmus.show.answers.advice import advice_as_text, range_as_text

    ends = (sizes[0], sizes[-1]) if len(sizes) > 1 else None
    last = replace(question, size_bytes=sizes[-1])
    advice = advice_on(last, profile, size_range=ends)
    if output_format == PlainFormat.JSON:
        print_data(json_text(advice_data(advice)))
    elif ends is None:
        print_data(advice_as_text(advice, name, width=columns_of(sys.stdout)))
    else:
        first = advice_on(question, profile, size_range=ends)
        print_data(range_as_text(first, advice, name, width=columns_of(sys.stdout)))


def _draw(question: "Question", profile: "Profile", sizes: list[int], stem: Path) -> None:
    from isthmus.cli.stderr import say_lines
    from isthmus.show.pictures.of_advice import draw_advice

    ends = (sizes[0], sizes[-1]) if len(sizes) > 1 else None
    for file in draw_advice(question, profile, stem, size_range=ends):
        say_lines(f"drawn: {file}")
