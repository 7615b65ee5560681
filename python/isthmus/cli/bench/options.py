"""Options of `isthmus bench` that are named as in nvbandwidth, or that judge the results."""

from typing import Annotated

import typer

from isthmus.show.format import RunFormat

RunFormatOption = Annotated[
    RunFormat,
    typer.Option(
        "--format",
        help="The output's format. nvbandwidth: its matrices and tests, 512 MiB (-b), and JSON "
        "with -j. gdrcopy: the tables of its tests, for windows.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("-j", "--json", help="JSON: ours, or nvbandwidth's with its --format.")
]
BufferOption = Annotated[
    int | None,
    typer.Option(
        "-b", "--buffer-size", "--bufferSize", metavar="MIB", help="One size in MiB, not --sizes."
    ),
]
SamplesNumberOption = Annotated[
    int | None,
    typer.Option(
        "-i",
        "--test-samples",
        "--testSamples",
        metavar="N",
        help="Take N samples of everything, however long it takes, and ignore the noise and the "
        "budget.",
    ),
]
SkipVerificationOption = Annotated[
    bool,
    typer.Option(
        "-s",
        "--skip-verification",
        "--skipVerification",
        help="Don't compare copied bytes. Windows, allocations and copies within the host are "
        "still compared.",
    ),
]
VerboseOption = Annotated[
    bool,
    typer.Option(
        "-v", "--verbose", help="Also show samples and extremes, and keep the samples in the JSON."
    ),
]
RepeatOption = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        metavar="N",
        help="Measure everything in N fresh processes, one after the other: N times as long. The "
        "drift between them is kept, and --compare needs it to find small changes.",
    ),
]
CompareOption = Annotated[
    str | None,
    typer.Option(
        "--compare",
        metavar="RUN",
        help="Compare the new run with an earlier one of this machine: a file, the id of a stored "
        "run, or last. Exit code 3 if a family of results is slower or a result is lost, 5 if "
        "nobody can tell: see `isthmus compare --help`.",
    ),
]
ToleranceOption = Annotated[
    str | None,
    typer.Option(
        metavar="PERCENT",
        help="With --compare: a family that changed by at most this is the same.  [default: 3%]",
    ),
]
ExpectOption = Annotated[
    str | None,
    typer.Option(
        "--expect",
        metavar="shipped|GPU|FILE",
        help="Show measured over expected values, and the usual causes of a shortfall: shipped, "
        "those that Isthmus has for this GPU and link; those of a GPU, such as H100; or of a file "
        "of `isthmus runs expect`. Exit code 3 if a result is below its expected value.",
    ),
]
