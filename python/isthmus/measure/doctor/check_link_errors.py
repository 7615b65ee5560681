"""Judges the errors on the PCIe link of a GPU: replays, and the kernel's AER counts."""

from dataclasses import asdict, dataclass

from pydantic import JsonValue

from isthmus.ground.spelling import counted
from isthmus.measure.doctor.check import Status
from isthmus.measure.doctor.facts import Gpu
from isthmus.measure.run.machine import LinkErrors

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
