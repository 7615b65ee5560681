"""How a new run of `isthmus bench` is judged: by an earlier run, and by expected values."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.cli.failure import ExitCode, worst
from isthmus.cli.stderr import say, say_lines
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import columns_of
from isthmus.errors import UsageError
from isthmus.files.folder import make_folder
from isthmus.ground.spelling import counted
from isthmus.measure.compare.comparison import TOLERANCE, Comparison, check_kind, compare
from isthmus.measure.compare.judging import Verdict
from isthmus.measure.compare.machines import identity_of
from isthmus.measure.run.reading import read_run

if TYPE_CHECKING:
    from isthmus.measure.expected.values import GpuValues
    from isthmus.measure.run.model import Run


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """
    What to do with a run when it is complete.

    Attributes:
        baseline: The earlier run to compare with; None for none.
        tolerance: A family that changed by at most this fraction is the same.
        plots: The folder for pictures; None to draw nothing.
    """

    baseline: "Run | None" = None
    tolerance: float = 0.0
    expect: bool = False
    own: "GpuValues | None" = None
    plots: Path | None = None

    def check(self, identity: tuple[str | None, ...], *, emulated: bool) -> None:
        """Refuse a comparison that can't be made later, before anything is measured."""
        if self.expect:
            from isthmus.measure.expected.judging import refuse_emulated

            refuse_emulated(self.own, emulated=emulated)
        if self.baseline is None:
            return
        check_kind(self.baseline, emulated=emulated)
        if identity_of(self.baseline.machine) != identity:
            own = ", ".join(map(str, identity_of(self.baseline.machine)))
            raise UsageError(
                f"run {self.baseline.run.id} is of another machine: {own}, "
                f"and this is {', '.join(map(str, identity))}",
                hint="measure without --compare, then: isthmus compare RUN last",
            )

    def give(self, run: "Run", *, on_stdout: bool) -> ExitCode:
        """
        Judge a run, and print the verdict: on stderr if stdout has data. BELOW_THRESHOLD if a
        family of results is slower than before, a result was lost, or one is below its expected
        value; CANT_TELL if it may be slower.
        """
        texts, codes = [], []
        width = columns_of(sys.stdout if on_stdout else sys.stderr)
        if self.baseline is not None:
            from isthmus.show.answers.comparison import comparison_text

            comparison = compare(self.baseline, run, self.tolerance)
            text = comparison_text([self.baseline, run], [comparison], every=False, width=width)
            texts.append(text)
            codes.append(code_of(comparison))
        if self.expect:
            from isthmus.measure.expected.judging import Judgement, judge
            from isthmus.show.answers.expectation import expectation_text

            findings = judge(run, self.own)
            texts.append(expectation_text(run, findings, width=width))
            short = any(finding.judgement == Judgement.SHORT for finding in findings)
            codes.append(ExitCode.BELOW_THRESHOLD if short else ExitCode.OK)
        for text in texts:
            if on_stdout:
                print_data("\n" + text)
            else:
                say_lines(*text.rstrip("\n").split("\n"))
        return worst(codes)

    def draw(self, run: "Run") -> None:
        """Draw a run, if requested."""
        if self.plots is None:
            return
        from isthmus.show.pictures.of_run import draw_run

        make_folder(self.plots, option="--plots")
        drawn = draw_run(run, self.plots)
        pictures = sum(file.suffix == ".svg" for file in drawn.files)
        what = f"{counted(pictures, 'picture')} ({counted(len(drawn.files), 'file')})"
        say(f"drawn: {what} in {self.plots}")
        for line in drawn.missing:
            say(f"not drawn: {line}")


def code_of(comparison: Comparison) -> ExitCode:
    """Give the exit code of a comparison's verdict."""
    codes = {Verdict.SAME: ExitCode.OK, Verdict.CANT_TELL: ExitCode.CANT_TELL}
    return codes.get(comparison.verdict, ExitCode.BELOW_THRESHOLD)


def verdicts_of(
    compare_with: str | None,
    tolerance: str | None,
    *,
    expect: bool,
    own: "GpuValues | None",
    plots: Path | None,
) -> Verdicts:
    """Read the options, and refuse impossible ones before anything runs."""
    from isthmus.cli.compare.tolerance import parse_tolerance
    from isthmus.cli.output import check_plots

    part = parse_tolerance(tolerance, TOLERANCE)
    if compare_with is None and tolerance is not None:
        raise UsageError("--tolerance is for --compare", hint="name a run: --compare last")
    check_plots(plots)
    return Verdicts(
        baseline=None if compare_with is None else read_run(compare_with),
        tolerance=part,
        expect=expect,
        own=own,
        plots=plots,
    )
