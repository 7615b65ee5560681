"""Judges the PCIe link of a GPU, its errors, and how much of its memory the CPU can map."""

from dataclasses import asdict, dataclass

from pydantic import JsonValue

from isthmus.ground.sizes import approximate_size
from isthmus.ground.spelling import counted
from isthmus.measure.doctor.check import Check, Status, judged
from isthmus.measure.doctor.facts import Gpu
from isthmus.measure.expected.values import link_values
from isthmus.measure.machine.link_errors import LinkErrorCounts
from isthmus.measure.run.machine import Link, LinkErrors

_WHAT_TO_DO = (
    "reseat the card and its riser or cable, try another slot, check retimers, or set the slot "
    "to a lower generation in the firmware's settings"
)
_CORRECTED = (
    "damaged packets are sent again: no data is lost, only bandwidth and time. The counts go back "
    "to the GPU's last reset (replays) and the last boot (AER): copy for a while and run this "
    f"again; if they grow, {_WHAT_TO_DO}"
)
_GROWING = f"packets arrive damaged and are sent again, which costs bandwidth: {_WHAT_TO_DO}"
_UNCORRECTED = (
    "errors that the hardware could not correct: a nonfatal error loses a transaction, a fatal one "
    "makes the link unreliable. The counts go back to the last boot: the AER lines of dmesg say "
    f"when and which; if they grow, {_WHAT_TO_DO}"
)


@dataclass(frozen=True, kw_only=True)
class ErrorVerdict:
    """
    The judgement of a link's errors.

    Attributes:
        status: Never better than the link's own.
        finding: "0 replays, no AER errors".
        advice: None if there is nothing to do.
    """

    status: Status
    finding: str
    advice: str | None = None


def judge_link_errors(gpu: Gpu) -> ErrorVerdict:
    """Judge what both ends of the link have counted, and how much of it is new."""
    errors, new = gpu.link_errors.total(), gpu.new_link_errors
    finding = f"{_replays(errors)}, {_aer(errors)}"
    if (errors.replays, *_aer_counts(errors)) == (None,) * 4:
        finding = "replays and AER errors not shown by this driver or virtual machine"
    if new is not None and new.in_words:
        finding += f" ({new.in_words} while the link was read)"
    if new is not None and new.are_many:
        return ErrorVerdict(status=Status.PROBLEM, finding=finding, advice=_GROWING)
    if errors.fatal or errors.nonfatal:
        status = Status.PROBLEM if errors.fatal or _lost(new) else Status.NOTE
        return ErrorVerdict(status=status, finding=finding, advice=_UNCORRECTED)
    if errors.in_words:
        return ErrorVerdict(status=Status.NOTE, finding=finding, advice=_CORRECTED)
    return ErrorVerdict(status=Status.OK, finding=finding)


def link_error_facts(gpu: Gpu) -> dict[str, JsonValue]:
    """Give the same for programs: the counts by end, and the new ones."""
    new = gpu.new_link_errors
    return {
        "replays": gpu.link_errors.replays,
        "aer": {end: asdict(counts) for end, counts in gpu.link_errors.aer.items()},
        "new_errors": None if new is None else new.model_dump(),
    }


def _lost(new: LinkErrors | None) -> bool:
    return new is not None and bool(new.nonfatal)


def _replays(errors: LinkErrors) -> str:
    if errors.replays is None:
        return "replays not shown by this driver"
    return counted(errors.replays, "replay")


def _aer(errors: LinkErrors) -> str:
    counts = _aer_counts(errors)
    if counts == (None,) * len(counts):
        return "AER errors not shown by this kernel or virtual machine"
    only_aer = errors.model_copy(update={"replays": None})
    return only_aer.in_words or "no AER errors"


def _aer_counts(errors: LinkErrors) -> tuple[int | None, ...]:
    return (errors.correctable, errors.nonfatal, errors.fatal)


# Of FLITs, which no expected value knows. Source: PCI Express Base Specification 6.0, section 4.2.
_GENERATION_6 = {6: 64e9 / 8 * 236 / 256}
_ADVICE = {
    "width": "the slot may be wired for fewer lanes, share them with another slot (bifurcation in "
    "the firmware's settings), or the card or riser may be loose: reseat it, or try another slot",
    "generation": "a slot or riser of an older generation, a limit in the firmware's settings, or "
    "link errors that made it train down: see its replay counter, AER counts, and AER lines in "
    "dmesg",
}


def link_bytes_per_second(generation: int, width: int) -> float | None:
    """Give the rate of a link in one direction, with packet headers; None if unknown."""
    lane = (link_values().lane_bytes_per_s | _GENERATION_6).get(generation)
    return None if lane is None else lane * width


def check_link(gpu: Gpu) -> Check:
    """Judge whether the link is as fast as this GPU and this slot allow."""
    name = f"gpu {gpu.ordinal} link"
    link = gpu.link.link
    if gpu.emulated:
        return judged(name, "not modelled: the device is emulated")
    if link.generation is None or link.width is None:
        return _unknown(gpu, name)
    errors = judge_link_errors(gpu)
    status, advice = _judge(gpu, link)
    return Check(
        name=name,
        status=_worse(status, errors.status),
        finding=f"{_finding(gpu, link)}, {errors.finding}",
        advice=_both(advice, errors.advice),
        facts={
            "generation": link.generation,
            "generation_max": link.generation_max,
            "generation_of_gpu": gpu.link_generation_of_gpu,
            "width": link.width,
            "width_max": link.width_max,
            "read_under_load": link.read_under_load,
            "bytes_per_second": link_bytes_per_second(link.generation, link.width),
            "c2c": gpu.c2c,
            **link_error_facts(gpu),
        },
    )


def _unknown(gpu: Gpu, name: str) -> Check:
    errors = judge_link_errors(gpu)
    finding = "unknown: " + "; ".join(gpu.link.notes or ["NVML doesn't say"])
    shown = gpu.link_errors != LinkErrorCounts()
    return Check(
        name=name,
        status=_worse(Status.NOTE, errors.status),
        finding=f"{finding}; {errors.finding}" if shown else finding,
        advice=_both("NVML comes with the driver: check that nvidia-smi works", errors.advice),
        facts=link_error_facts(gpu) if shown else {},
    )


def _worse(one: Status, other: Status) -> Status:
    return max(one, other, key=list(Status).index)


def _both(*advice: str | None) -> str | None:
    return "; ".join(filter(None, advice)) or None


def _finding(gpu: Gpu, link: Link) -> str:
    when = "under load" if link.read_under_load else "read idle"
    known = link.generation_max is not None and link.width_max is not None
    most = f"Gen{link.generation_max} x{link.width_max}" if known else "unknown"
    text = f"Gen{link.generation} x{link.width} {when}, at most {most}"
    rate = link_bytes_per_second(link.generation or 0, link.width or 0)
    if rate is not None:
        text += f", {rate / 1e9:.1f} GB/s each way before packet headers"
    return text + (", NVLink-C2C beside it" if gpu.c2c else "")


def _judge(gpu: Gpu, link: Link) -> tuple[Status, str | None]:
    if gpu.c2c:
        return Status.OK, None
    if link.is_downtrained and not link.read_under_load:
        why = "; ".join(gpu.link.notes) or "no load could be put on it"
        return Status.NOTE, f"an idle link trains down, so this says little ({why})"
    if link.is_downtrained:
        causes = [_ADVICE[part] for part, is_below in link.below.items() if is_below]
        return Status.PROBLEM, "; ".join(causes)
    if 0 < (link.generation_max or 0) < (gpu.link_generation_of_gpu or 0):
        return (
            Status.NOTE,
            f"the GPU alone supports Gen{gpu.link_generation_of_gpu}: the slot or CPU is the limit",
        )
    return Status.OK, None


def check_bar1(gpu: Gpu) -> Check:
    """Judge how much of the GPU's memory the CPU can map at once."""
    name = f"gpu {gpu.ordinal} bar1"
    bar1_bytes = gpu.link.link.bar1_bytes
    if gpu.emulated:
        return judged(name, "not modelled: the device is emulated")
    if bar1_bytes is None:
        return judged(name, "unknown: NVML doesn't say", status=Status.NOTE)
    facts = {"bar1_bytes": bar1_bytes, "total_memory_bytes": gpu.total_memory_bytes}
    size = approximate_size(bar1_bytes)
    if bar1_bytes >= gpu.total_memory_bytes:
        return judged(name, f"{size}: the CPU can map all of the GPU's memory", facts=facts)
    return judged(
        name,
        f"{size} of {approximate_size(gpu.total_memory_bytes)}: no resizable BAR",
        "windows can map that much at once; for more, enable Resizable BAR and Above 4G "
        "Decoding in the firmware's settings, if the GPU supports them",
        facts,
    )
