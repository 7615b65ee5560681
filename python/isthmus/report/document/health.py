"""Whether a machine is as fast as it should be, by a run's results and what it says of itself."""

from collections.abc import Sequence

from isthmus.expected.judging import Finding as Judged
from isthmus.expected.judging import Judgement, judge
from isthmus.expected.shortfall import explanations
from isthmus.expected.values import gpu_values
from isthmus.report.answers.expectation import expectation_sources, expectation_table
from isthmus.report.document.gains import gains_of
from isthmus.report.document.impossible import impossible_findings, possible
from isthmus.report.document.limits import limits_of
from isthmus.report.document.parts import Finding, Mark, Verdict
from isthmus.report.quantities import readable
from isthmus.run.machine import Machine
from isthmus.run.model import Run, Status
from isthmus.run.naming import Kind
from isthmus.sizes import format_size
from isthmus.spelling import counted

_FASTEST = "P0"
_RESEAT = (
    "Reseat the card, try another slot or riser, and check the BIOS's bifurcation and its limit of "
    "the link's speed."
)
_ORDER = (Mark.BAD, Mark.NOTE, Mark.GOOD)


def verdict_of(run: Run, name: str = "") -> Verdict:
    """
    Judge a run.

    Args:
        run: The run.
        name: Its name, if there are several.
    """
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
        return Mark.NOTE, "Modelled: no GPU was measured, so nothing here says how healthy one is."
    if impossible_findings(run):
        return Mark.BAD, "Not to be trusted: some numbers of this run are impossible."
    short = _short(judged)
    if any(finding.mark is Mark.BAD for finding in found):
        return Mark.BAD, "Not healthy: something here fails or slows copies down."
    if not judged:
        return Mark.NOTE, (
            "Nothing was found that slows copies down. For what this run measured, there are no "
            f"expected values of {run.machine.device.name}."
        )
    of = f"of {counted(len(judged), 'figure')} with an expected value"
    if short:
        few = f"{len(short)} {of} {'is' if len(short) == 1 else 'are'} below it"
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
    advice = tuple(_sentence(line) for line in explanations(machine, judged))
    found = [
        Finding(
            mark=Mark.BAD if finding.result.kind == Kind.MEMCPY else Mark.NOTE,
            text=f"{_figure(finding)}, {finding.ratio * 100:.0f} % of what is expected of {whose}.",
            advice=advice,
        )
        for finding in short
    ]
    fine = [finding for finding in judged if finding.judgement != Judgement.SHORT]
    if fine:
        number = f"{counted(len(fine), 'figure')} {'is' if len(fine) == 1 else 'are'}"
        text = f"{number} as expected of {whose}, or better."
        found.append(Finding(mark=Mark.GOOD, text=text))
    return found


def _figure(finding: Judged) -> str:
    result = finding.result
    number = readable(result.median or 0.0, result.unit)
    verb = "reached" if result.unit == "B/s" else "took"
    return f"`{result.test}` of {format_size(result.bytes)} {verb} {number}"


def _machine(run: Run) -> list[Finding]:
    """Check the link, its errors, the clocks and the place of the thread."""
    machine = run.machine
    if machine.emulated:
        return []
    found = (_link(machine), _link_errors(machine), _clocks(run), _node(machine))
    return [finding for finding in found if finding is not None]


def _link(machine: Machine) -> Finding | None:
    link = machine.link
    if not link.generation or not link.width:
        return None
    now = f"The link ran at PCIe Gen{link.generation} x{link.width}"
    most = (link.generation_max, link.width_max)
    if None in most or (link.generation, link.width) == most:
        return Finding(
            mark=Mark.GOOD, text=f"{now}, which is the most that the GPU and the slot support."
        )
    part = _speed(link.generation, link.width) / _speed(most[0] or 1, most[1] or 1)
    if not link.read_under_load:
        text = f"{now} while it was idle. The GPU and the slot support Gen{most[0]} x{most[1]}."
        advice = "An idle link lowers its speed. `isthmus doctor` reads it under load."
        return Finding(mark=Mark.NOTE, text=text, advice=(advice,))
    return Finding(
        mark=Mark.BAD,
        text=f"{now} under load. The GPU and the slot support Gen{most[0]} x{most[1]}, which "
        f"carries {1 / part:.1f} times as much.",
        advice=(_RESEAT,),
    )


def _speed(generation: int, width: int) -> float:
    """Compare links: each generation doubles the rate of a lane, nearly."""
    return float(width * 2**generation)


def _link_errors(machine: Machine) -> Finding | None:
    errors = machine.link_errors
    if errors is None or all(
        one is None for one in (errors.replays, errors.correctable, errors.nonfatal, errors.fatal)
    ):
        return None
    if not errors.in_words:
        return Finding(mark=Mark.GOOD, text="The link had no errors during the run.")
    return Finding(
        mark=Mark.BAD if errors.nonfatal or errors.fatal else Mark.NOTE,
        text=f"The link had {errors.in_words} during the run, and resent packets cost bandwidth.",
        advice=("Reseat the card, or try another slot, riser or cable. See `isthmus doctor`.",),
    )


def _clocks(run: Run) -> Finding | None:
    state = run.machine.gpu_state
    reasons = dict.fromkeys(
        [
            *(state.throttle_reasons or ()),
            *(reason for result in run.results for reason in result.clock_reasons or ()),
        ]
    )
    if reasons:
        slowed = sum(bool(result.clock_reasons) for result in run.results)
        during = f" during {slowed} of {counted(len(run.results), 'result')}" if slowed else ""
        return Finding(
            mark=Mark.NOTE,
            text=f"The GPU's clocks were reduced ({', '.join(reasons)}){during}.",
            advice=("`nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER` says why.",),
        )
    if state.performance_state is None:
        return None
    fastest = state.performance_state == _FASTEST
    ran = f"The GPU was in performance state {state.performance_state} while it copied"
    text = f"{ran}, and nothing reduced its clocks." if fastest else f"{ran}; {_FASTEST} is faster."
    advice = () if fastest else ("See the GPU's power limit and application clocks.",)
    return Finding(mark=Mark.GOOD if fastest else Mark.NOTE, text=text, advice=advice)


def _node(machine: Machine) -> Finding | None:
    host, device = machine.host, machine.device
    if len(host.numa_nodes) <= 1 or device.numa_node is None:
        return None
    if host.measured_on_node == device.numa_node:
        text = f"Thread and memory were on the GPU's NUMA node, {device.numa_node}."
        return Finding(mark=Mark.GOOD, text=text)
    where = "on no node" if host.measured_on_node is None else f"on node {host.measured_on_node}"
    return Finding(
        mark=Mark.NOTE,
        text=f"The GPU is on NUMA node {device.numa_node}, but thread and memory were "
        f"bound {where}.",
        advice=("Leave out -d, or allow the CPUs of the GPU's node (cpuset, container).",),
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
