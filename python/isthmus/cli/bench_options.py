"""Options of `isthmus bench` that are written as nvbandwidth's, or judge what was measured."""

from pathlib import Path
from typing import Annotated

import typer

from isthmus.report.format import RunFormat

RunFormatOption = Annotated[
    RunFormat,
    typer.Option(
        "--format",
        help="Of what is printed. nvbandwidth: its matrices, its tests, 512 MiB (-b), and JSON "
        "with -j. gdrcopy: the tables of its tests, of windows.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("-j", "--json", help="JSON: ours, or nvbandwidth's with its --format.")
]
BufferOption = Annotated[
    int | None,
    typer.Option(
        "-b", "--buffer-size", "--bufferSize", metavar="MIB", help="One size, in MiB, for --sizes."
    ),
]
SamplesNumberOption = Annotated[
    int | None,
    typer.Option(
        "-i",
        "--test-samples",
        "--testSamples",
        metavar="N",
        help="Take N samples of everything, however long it takes, instead of as many as the noise "
        "and the budget ask for.",
    ),
]
RunsOption = Annotated[
    int | None,
    typer.Option(
        "--runs",
        metavar="N",
        help="Runs of each small-transfer experiment, of 100 or 1000 iterations each.  "
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
        help="Don't compare what copies brought. Windows, allocations and the host's own copies "
        "are compared all the same.",
    ),
]
DisableAffinityOption = Annotated[
    bool,
    typer.Option(
        "-d",
        "--disable-affinity",
        "--disableAffinity",
        help="Don't bind thread and memory to the GPU's NUMA node.",
    ),
]
VerboseOption = Annotated[
    bool, typer.Option("-v", "--verbose", help="Show samples and extremes, too.")
]
CompareOption = Annotated[
    str | None,
    typer.Option(
        "--compare",
        metavar="RUN",
        help="Hold the new run against an earlier one of this machine: a file, the id of a run "
        "that was kept, or last. Exit code 3 if anything is slower.",
    ),
]
ToleranceOption = Annotated[
    str | None,
    typer.Option(
        metavar="PERCENT",
        help="With --compare: a change of the median up to this is the same.  [default: 5%]",
    ),
]
AnywayOption = Annotated[
    bool, typer.Option("--anyway", help="With --compare: even if it is of another machine.")
]
ExpectOption = Annotated[
    bool,
    typer.Option(
        "--expect",
        help="Show what was measured over what is expected of this GPU and link, and what a "
        "shortfall usually means. Exit code 3 if anything is short.",
    ),
]
PlotsOption = Annotated[
    Path | None,
    typer.Option(
        "--plots",
        metavar="FOLDER",
        help="Draw the run into a folder: SVG, PNG and HTML. Needs isthmus[report].",
    ),
]
