"""A profile as text: its machine, and the cheapest path for each range of sizes."""

from itertools import groupby

from isthmus.decide.profile.costs import Reign, reigns
from isthmus.decide.profile.model import NotMeasured, Profile, StagingThreads
from isthmus.ground.sizes import format_size
from isthmus.ground.spelling import cuda_version
from isthmus.show.fitting import PAGE_WIDTH, blocks_text, wrapped_lines
from isthmus.show.numbers import gigabytes_per_second

_SMALL_BYTES = 1024
_GROUPS = [(memory, way) for memory in ("pageable", "pinned") for way in ("h2d", "d2h")]


def profile_as_text(profile: Profile, age: str, *, width: int = PAGE_WIDTH) -> str:
    """Write a profile."""
    blocks = [
        wrapped_lines(_heading(profile, age), width, indent=" " * 9),
        wrapped_lines(_winners(profile), width, indent=" " * 14),
        wrapped_lines(_further(profile), width, indent="  "),
    ]
    return blocks_text(blocks)


def _winners(profile: Profile) -> list[str]:
    lines = ["copy          cheapest path, and up to which size"]
    for memory, direction in _GROUPS:
        found = reigns(profile, direction, memory)
        if found:
            lines.append(f"{direction.upper()} {memory:<8}  {_reigns_text(found)}")
    return lines


def _further(profile: Profile) -> list[str]:
    seconds = profile.window_opening_seconds
    opening = "not measured" if seconds is None else f"{seconds * 1e6:.0f} us"
    lines = [
        f"opening a window: {opening}",
        _staging_text(profile.staging_threads),
        *_absences(profile.not_measured),
    ]
    if profile.machine.emulated:
        lines.append("emulated: every number is modelled, and only emulated devices use them")
    return lines


def _heading(profile: Profile, age: str) -> list[str]:
    machine, measured = profile.machine, profile.measurement
    release = f"{machine.driver_release}, " if machine.driver_release else ""
    cores = f"{machine.num_cores:g} core{'' if machine.num_cores == 1 else 's'}"
    seconds, quick = f"{measured.seconds:.1f}", ", quick" if measured.quick else ""
    return [
        f"profile  {measured.finished_at:%Y-%m-%d %H:%M} UTC ({age}), in {seconds} s{quick}",
        f"device   {machine.gpu_name} ({machine.gpu_uuid}), {machine.link}",
        f"driver   {release}CUDA {cuda_version(machine.cuda_version)}",
        f"host     {machine.cpu_model or 'CPU of unknown name'}, {cores}",
    ]


def _staging_text(threads: StagingThreads) -> str:
    counts = {"H2D": threads.h2d, "D2H": threads.d2h}
    texts = (f"{way} {count or 'not measured'}" for way, count in counts.items())
    return f"threads that stage: {', '.join(texts)}"


def _reigns_text(found: list[Reign]) -> str:
    *before, last = found
    parts = [f"{one.path} to {_size(one.last_bytes)}" for one in before]
    rate = gigabytes_per_second(last.last_bytes / last.seconds)
    largest = f"{last.path}{' above' if before else ''} ({rate} GB/s at {_size(last.last_bytes)})"
    return ", ".join([*parts, largest])


def _size(size_bytes: int) -> str:
    """Round to about two digits: a crossover isn't known better."""
    if size_bytes < _SMALL_BYTES:
        return f"{size_bytes} B"
    unit = _SMALL_BYTES
    while size_bytes >= unit * 1000:
        unit *= 1024
    return format_size(round(size_bytes / unit) * unit)


def _absences(absences: list[NotMeasured]) -> list[str]:
    """List the paths that weren't measured, one line for each reason."""
    ordered = sorted(absences, key=lambda one: one.reason)
    lines = []
    for reason, ways in groupby(ordered, key=lambda one: one.reason):
        names = ", ".join(f"{w.path} {w.direction.upper()} {w.host_memory}" for w in ways)
        lines.append(f"not measured: {names}: {reason}")
    return lines
