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
        help="Take exactly N samples; ignore noise and budget.",
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
        "-v", "--verbose", help="Also show samples and extremes; keep the samples in the JSON."
    ),
]
RepeatOption = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        metavar="N",
        help="Measure everything in N fresh processes, one after the other: N times as long. Their "
        "drift is kept; --compare needs it to detect small changes.",
    ),
]
CompareOption = Annotated[
    str | None,
    typer.Option(
        "--compare",
        metavar="RUN",
        help="Compare with an earlier run of this machine: a file, a stored run's id, or last. "
        "Exit code 3 if a family of results is slower or a result is lost, 5 if it can't tell: see "
        "`isthmus compare --help`.",
    ),
]
ToleranceOption = Annotated[
    str | None,
    typer.Option(
        metavar="PERCENT",
        help="With --compare: the largest change that counts as the same.  [default: 3%]",
    ),
]
ExpectOption = Annotated[
    str | None,
    typer.Option(
        "--expect",
        metavar="shipped|GPU|FILE",
        help="Compare with expected values, and name the usual causes of a shortfall. shipped: "
        "those of this GPU and link; a GPU, such as H100; or a file of `isthmus runs expect`. Exit "
        "code 3 if a result is below its expected value.",
    ),
]
