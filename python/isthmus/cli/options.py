"""The options of `isthmus bench` and of other commands, with their help."""

from pathlib import Path
from typing import Annotated

import typer

from isthmus.cli.completing import complete_suites, complete_tests

SuitesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SUITE...",
        help="bandwidth, latency, alloc, pinned_vs_pageable, overlap, numa, multi, windows, host, "
        "paging, or blocks.  [default: all but paging and blocks]",
        show_default=False,
        autocompletion=complete_suites,
    ),
]
TestsOption = Annotated[
    list[str] | None,
    typer.Option(
        "-t",
        "--test",
        "--testcase",
        metavar="NAMES",
        autocompletion=complete_tests,
        help="Run these tests: names, patterns such as '*_pageable', or numbers in nvbandwidth, "
        "separated by commas. May be repeated. With a suite: those of the suite.",
    ),
]
SizesOption = Annotated[
    str | None,
    typer.Option(
        metavar="SIZES",
        help="Sizes of the bandwidth and window tests, such as 4,64KiB or 4..1GiB (a range: its "
        "ends and the powers of two between). K, M, G, T and KiB.. are binary, KB.. decimal. Small "
        "copies use the sizes up to 64KiB among them, or 4 B; suite blocks copies 1000 blocks of "
        "each size.  [default: 4..1GiB, windows "
        "1..16MiB, small copies 1..64KiB, as far as memory allows]",
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "-d",
        "--device",
        metavar="DEVICE",
        help="A GPU's number, UUID (or its beginning) or PCI address; emulated, or "
        "emulated:PROFILE.  [default: the first GPU, or emulated without one]",
    ),
]
BudgetOption = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Time limit for all measurements together. Points that don't fit are skipped, "
        "mid-range sizes first.  [default: 240, emulated 30, --quick 15]",
    ),
]
QuickOption = Annotated[
    bool,
    typer.Option(
        "--quick",
        help="Fewer sizes and circumstances: at most 15 seconds. With several suites the text fits "
        "on one screen.",
    ),
]
ManagedOption = Annotated[
    bool,
    typer.Option("--managed", help="Also measure managed memory: up to 512 MiB of it."),
]
MaxBytesOption = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory limit of a measurement on each side, such as 4GiB.  [default: what is free]",
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Also write the run to a file; a terminal then shows only the verdict. .json, .csv "
        "and .txt decide the file's format; other names use --format.",
    ),
]
PlotsOption = Annotated[
    Path | None,
    typer.Option(
        "--plots",
        metavar="FOLDER",
        help="Draw the results into a folder, as SVG, PNG and HTML. Needs isthmus[report].",
    ),
]
NoSaveOption = Annotated[bool, typer.Option("--no-save", help="Don't store this run.")]
ListOption = Annotated[
    bool, typer.Option("-l", "--list", help="List the tests instead of running them.")
]
