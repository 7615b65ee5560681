"""Measured over expected values, as a table, and the causes of shortfalls."""

from collections.abc import Sequence

from isthmus.ground.sizes import format_size
from isthmus.measure.expected.judging import Finding
from isthmus.measure.expected.shortfall import explanations
from isthmus.measure.run.model import Run
from isthmus.show.fitting import PAGE_WIDTH, blocks_text, table_lines, wrapped, wrapped_lines
from isthmus.show.page import Table
from isthmus.show.quantities import quantity


def expectation_text(run: Run, findings: Sequence[Finding], *, width: int = PAGE_WIDTH) -> str:
    """Write how a run compares with the values expected of its machine, in lines of this width."""
    if not findings:
        return "\n".join(wrapped(_unknown(run), width)) + "\n"
    blocks = [
        table_lines(expectation_table(run, findings), width),
        wrapped_lines(explanations(run.machine, findings), width, indent="    "),
        wrapped_lines(expectation_sources(findings), width, indent="    "),
    ]
    return blocks_text(blocks)


def _unknown(run: Run) -> str:
    return (
        f"nothing that has an expected value for {run.machine.device.name} was measured: there are "
        "values for some GPUs, and for PCIe links of known generation, in copies from 64 MiB on"
    )


def expectation_table(run: Run, findings: Sequence[Finding]) -> Table:
    """Lay out measured and expected values, with the numbers of their sources."""
    return Table(
        title=f"Measured over expected, {run.machine.device.name}",
        heads=("test", "metric", "size", "", "measured", "expected", "ratio", "source"),
        rows=tuple(
            (
                finding.value.test,
                finding.value.metric,
                format_size(finding.result.bytes),
                finding.judgement.value,
                quantity(finding.result.median, finding.value.unit),
                quantity(finding.value.typical, finding.value.unit),
                f"{finding.ratio:.2f}",
                f"[{number}]",
            )
            for finding, number in zip(findings, _numbers(findings), strict=True)
        ),
        num_text_columns=4,
    )


def _numbers(findings: Sequence[Finding]) -> list[int]:
    order = list(dict.fromkeys(_source(finding) for finding in findings))
    return [order.index(_source(finding)) + 1 for finding in findings]


def expectation_sources(findings: Sequence[Finding]) -> list[str]:
    """List the sources of expected values, by their numbers."""
    order = dict.fromkeys(_source(finding) for finding in findings)
    return [f"[{number}] {source}" for number, source in enumerate(order, start=1)]


def _source(finding: Finding) -> str:
    return f"{finding.value.kind}: {finding.value.source}"
