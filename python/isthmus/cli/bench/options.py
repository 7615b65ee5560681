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
RunsOption = Annotated[
    int | None,
    typer.Option(
        "--runs",
        metavar="N",
        help="Runs of each small-copy experiment, with 100 or 1000 iterations each.  "
        "[default: 5, emulated 2]",
    ),
]
MeanOption = Annotated[
    bool, typer.Option("-m", "--use-mean", "--useMean", help="Show means instead of medians.")
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
DisableAffinityOption = Annotated[
    bool,
    typer.Option(
        "--disable-affinity",
        "--disableAffinity",
        help="Don't bind thread and memory to the GPU's NUMA node.",
    ),
]
VerboseOption = Annotated[
    bool, typer.Option("-v", "--verbose", help="Also show samples and extremes.")
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
AnywayOption = Annotated[
    bool, typer.Option("--anyway", help="With --compare: accept another machine's run.")
]
ExpectOption = Annotated[
    bool,
    typer.Option(
        "--expect",
        help="Show measured over expected values for this GPU and link, and the usual causes of a "
        "shortfall. Exit code 3 if a result is below its expected value.",
    ),
]
ExpectFileOption = Annotated[
    str | None,
    typer.Option(
        "--expect-file",
        metavar="FILE|GPU",
        help="As --expect, with the values of a file of `isthmus runs expect`, or of a GPU that "
        "has some, such as H100.",
    ),
]
