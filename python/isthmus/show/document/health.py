"""Whether a machine is as fast as it should be, by a run's results and what it says of itself."""

from collections.abc import Sequence

from isthmus.ground.sizes import format_size
from isthmus.ground.spelling import counted
from isthmus.measure.expected.judging import Finding as Judged
from isthmus.measure.expected.judging import Judgement, judge
from isthmus.measure.expected.shortfall import broken_here, explanations, seen_here
from isthmus.measure.expected.values import gpu_values
from isthmus.measure.run.machine import Machine
from isthmus.measure.run.model import Run, Status
from isthmus.measure.run.naming import Kind
from isthmus.show.answers.expectation import expectation_sources, expectation_table
from isthmus.show.document.gains import gains_of
from isthmus.show.document.impossible import impossible_findings, possible
from isthmus.show.document.limits import limits_of
from isthmus.show.document.parts import Finding, Mark, Verdict
from isthmus.show.quantities import readable

_ORDER = (Mark.BAD, Mark.NOTE, Mark.GOOD)


def verdict_of(run: Run, name: str = "") -> Verdict:
    """Judge a run."""
    sound = possible(run)
    judged = [] if run.machine.emulated else judge(sound)
    findings = [*_figures(run.machine, judged), *_machine(run), *_results(run)]
    mark, headline = _headline(run, judged, findings)
    return Verdict(
        name=name,
        mark=mark,
        headline=headline,
        findings=tuple(sorted(findings, key=lambda finding: _ORDER.index(finding.mark))),
        limits=limits_of(sound),
        gains=gains_of(sound),
        expected=expectation_table(run, judged) if judged else None,
        sources=tuple(expectation_sources(judged)),
    )


def _headline(run: Run, judged: Sequence[Judged], found: Sequence[Finding]) -> tuple[Mark, str]:
    if run.machine.emulated:
        return Mark.NOTE, "Simulated: no GPU was measured, so this says nothing about one."
    if impossible_findings(run):
        return Mark.BAD, "Not to be trusted: this run has impossible numbers."
    short = _short(judged)
    if any(finding.mark is Mark.BAD for finding in found):
        return Mark.BAD, "Not healthy: something here fails or slows copies down."
    if not judged:
        return Mark.NOTE, (
            "No problem found. There are no expected values to compare this run with."
        )
    of = f"of {counted(len(judged), 'result')}"
    if short:
        few = f"{len(short)} {of} {'is' if len(short) == 1 else 'are'} below the expected value"
        return Mark.NOTE, f"Healthy, with a doubt: {few}."
    are = "is" if len(judged) == 1 else "are"
    return Mark.GOOD, f"Healthy: {len(judged)} {of} {are} as expected or better."


def _short(judged: Sequence[Judged]) -> list[Judged]:
    return [finding for finding in judged if finding.judgement == Judgement.SHORT]


def _figures(machine: Machine, judged: Sequence[Judged]) -> list[Finding]:
    """Say which figures are below their expected values, and that the others aren't."""
    short = _short(judged)
    gpu = gpu_values(machine)
    whose = f"an {gpu.gpu}" if gpu and gpu.gpu[0] in "AH" else f"a {gpu.gpu}" if gpu else "the link"
    found = [
        Finding(
            mark=Mark.BAD if finding.result.kind == Kind.MEMCPY else Mark.NOTE,
            text=f"{_figure(finding)}, {finding.ratio * 100:.0f} % of what is expected of {whose}.",
            advice=tuple(_sentence(line) for line in explanations(machine, judged, about=finding)),
        )
        for finding in short
    ]
    fine = [finding for finding in judged if finding.judgement != Judgement.SHORT]
    if fine:
        number = f"{counted(len(fine), 'result')} {'is' if len(fine) == 1 else 'are'}"
        text = f"{number} as expected of {whose}, or better."
        found.append(Finding(mark=Mark.GOOD, text=text))
    return found


def _figure(finding: Judged) -> str:
    result = finding.result
    number = readable(result.median or 0.0, result.unit)
    verb = "reached" if result.unit == "B/s" else "took"
    return f"`{result.test}` of {format_size(result.bytes)} {verb} {number}"


def _machine(run: Run) -> list[Finding]:
    """Say what slows copies down by the machine's facts, and which of these are as they should."""
    machine = run.machine
    if machine.emulated:
        return []
    seen, broken = seen_here(machine), broken_here(machine)
    found = [
        Finding(mark=Mark.BAD if part in broken else Mark.NOTE, text=_sentence(line))
        for part, line in seen.items()
        if part != "clocks"
    ]
    clocks = _clocks(run)
    good = {part: text for part, text in _good(machine).items() if text and part not in seen}
    if clocks:
        good.pop("power", None)
        found.append(clocks)
    return [*found, *(Finding(mark=Mark.GOOD, text=text) for text in good.values())]


def _good(machine: Machine) -> dict[str, str]:
    """Say what is so if nothing is wrong, by the part of the machine; "" for what isn't known."""
    link, errors, node = machine.link, machine.link_errors, machine.device.numa_node
    ran = f"The link ran at PCIe Gen{link.generation} x{link.width}"
    clean = errors is not None and errors.replays is not None
    state = machine.gpu_state.performance_state
    apart = len(machine.host.numa_nodes) > 1 and node is not None
    return {
        "link": f"{ran}, which is the most that the GPU and the slot support."
        if link.is_downtrained is False
        else "",
        "link errors": "The link had no errors during the run." if clean else "",
        "power": f"The GPU was in performance state {state} while it copied, and nothing reduced "
        "its clocks."
        if state
        else "",
        "NUMA": f"Thread and memory were on the GPU's NUMA node, {node}." if apart else "",
    }


def _clocks(run: Run) -> Finding | None:
    """Say what has reduced the clocks, and in how many results."""
    reasons = dict.fromkeys(
        [
            *(run.machine.gpu_state.throttle_reasons or ()),
            *(reason for result in run.results for reason in result.clock_reasons or ()),
        ]
    )
    if not reasons:
        return None
    slowed = sum(bool(result.clock_reasons) for result in run.results)
    during = f" during {slowed} of {counted(len(run.results), 'result')}" if slowed else ""
    return Finding(
        mark=Mark.NOTE,
        text=f"The GPU's clocks were reduced ({', '.join(reasons)}){during}.",
        advice=("`nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER` says why.",),
    )


def _results(run: Run) -> list[Finding]:
    failed = [result for result in run.results if result.status == Status.ERROR]
    found = impossible_findings(run)
    if failed:
        first = failed[0].error.message if failed[0].error else ""
        which = "It is" if len(failed) == 1 else "The first is"
        text = f"{counted(len(failed), 'result')} failed. {which} `{failed[0].test}`: {first}."
        found.append(Finding(mark=Mark.BAD, text=text))
    if run.run.interrupted:
        text = "The run was interrupted. This report has the results that were finished."
        found.append(Finding(mark=Mark.NOTE, text=text))
    return found


def _sentence(line: str) -> str:
    return f"{line[:1].upper()}{line[1:]}{'' if line.endswith('.') else '.'}"
