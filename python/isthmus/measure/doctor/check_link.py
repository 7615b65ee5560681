"""Judges the PCIe link of a GPU, and how much of its memory the CPU can map."""

from isthmus.ground.sizes import approximate_size
from isthmus.measure.doctor.check import Check, Status, judged
from isthmus.measure.doctor.check_link_errors import judge_link_errors, link_error_facts
from isthmus.measure.doctor.facts import Gpu
from isthmus.measure.expected.values import link_values
from isthmus.measure.machine.link_errors import LinkErrorCounts
from isthmus.measure.run.machine import Link

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
