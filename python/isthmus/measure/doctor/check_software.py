"""
Judges the libraries beside the driver, how GPU memory is mapped for the CPU, and whether copies
are planned with a profile.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from isthmus.ground.sizes import approximate_size
from isthmus.ground.spelling import cuda_major, cuda_version
from isthmus.measure.doctor.check import Check, Status, judged
from isthmus.measure.doctor.facts import (
    Driver,
    Gpu,
    Nvrtc,
    ProfileFacts,
    WindowBackend,
    WindowFacts,
)

_WITHOUT_NVRTC = "contents are verified on the host, and the latency `visible` is waived"


def check_nvrtc(nvrtc: Nvrtc | None, driver: Driver | None, gpus: Sequence[Gpu]) -> Check:
    """Judge whether the kernels can be compiled for these GPUs and loaded by this driver."""
    real_driver = driver if driver is not None and not driver.emulated else None
    if nvrtc is None:
        return _no_nvrtc(real_driver)
    version = ".".join(map(str, nvrtc.version)) if nvrtc.version else "of unknown version"
    facts = {
        "version": version if nvrtc.version else None,
        "path": nvrtc.path,
        "architectures": list(nvrtc.architectures),
        "compile_error": nvrtc.compile_error,
    }
    finding = f"{version}, {nvrtc.path}"
    problem = _nvrtc_problem(nvrtc, real_driver, gpus)
    if problem is None:
        return judged("nvrtc", finding, facts=facts)
    what, advice = problem
    return judged("nvrtc", f"{finding}: {what}", advice, facts, Status.PROBLEM)


def _no_nvrtc(driver: Driver | None) -> Check:
    extra = "cuda12" if driver is not None and cuda_major(driver.version) <= 12 else "cuda13"  # noqa: PLR2004
    emulated = driver is None
    finding = "none; the emulated driver needs none" if emulated else f"none: {_WITHOUT_NVRTC}"
    return judged("nvrtc", finding, f'pip install "isthmus[{extra}]"')


def _nvrtc_problem(
    nvrtc: Nvrtc, driver: Driver | None, gpus: Sequence[Gpu]
) -> tuple[str, str] | None:
    if nvrtc.compile_error is not None:
        return (
            f"an empty kernel does not compile ({nvrtc.compile_error})",
            "reinstall NVRTC: its libnvrtc-builtins of the same version must be beside it",
        )
    max_major = None if driver is None else cuda_major(driver.version)
    if driver is not None and max_major and nvrtc.version and nvrtc.version[0] > max_major:
        return (
            f"too new for a driver of CUDA {cuda_version(driver.version)}",
            f'pip install "isthmus[cuda{cuda_major(driver.version)}]", or update the driver',
        )
    real = [gpu for gpu in gpus if not gpu.emulated]
    old = [gpu for gpu in real if _dropped(gpu, nvrtc.architectures)]
    if old:
        names = ", ".join(f"gpu {gpu.ordinal}" for gpu in old)
        return f"no longer compiles for {names}", 'pip install "isthmus[cuda12]"'
    return None


def _dropped(gpu: Gpu, architectures: Sequence[int]) -> bool:
    major, minor = gpu.compute_capability
    return bool(architectures) and min(architectures) > 10 * major + minor


_MEASURE = "run `isthmus profile` (10 s): copies are then planned with this machine's own figures"


def check_profile(facts: ProfileFacts) -> Check:
    """Say how old the profile is, or why there is none."""
    told = {"measured": facts.measured, "source": facts.source, "file": facts.file or None}
    name = f"gpu {facts.ordinal} profile"
    if facts.measured:
        return judged(name, f"measured {facts.age}: {facts.source}", facts=told)
    return judged(name, f"none: {facts.source}", _MEASURE, told)


_OFF = "off"
_OPEN_THE_DEVICE = "chmod a+rw /dev/gdrdrv (as root), or pass the device into the container"
_WITHOUT = (
    "the smallest copies take microseconds through the driver. To copy in tenths of that, use a "
    "driver for CUDA 13.3 (610 or newer), GDRCopy's kernel module, or access to /dev/nvidia* with "
    "a tested driver: docs/windows.md"
)
_OTHER_MEMORY = (
    "allocate what needs a window in one of the other ways; copies work with all memory: "
    "docs/windows.md"
)


def check_windows(facts: WindowFacts) -> Check:
    """Judge whether one GPU's memory can be mapped, by which backend, and why not by others."""
    name = f"gpu {facts.ordinal} windows"
    told = {
        "setting": facts.setting or None,
        "backends": [
            {"backend": one.name, "usable": one.usable, "reason": one.reason}
            for one in facts.backends
        ],
        "bar1_limit_bytes": facts.limit_bytes,
    }
    if facts.failure is not None:
        advice = "set ISTHMUS_WINDOW and ISTHMUS_WINDOW_BAR1_MIB to valid values, or unset them"
        return judged(name, facts.failure, advice, told, Status.PROBLEM)
    status, finding, advice_or_none = _judge(facts)
    return judged(name, finding, advice_or_none, told, status)


def _judge(facts: WindowFacts) -> tuple[Status, str, str | None]:
    if facts.setting == _OFF:
        usable = [one.name for one in facts.backends if one.usable]
        finding = f"off, by ISTHMUS_WINDOW; would work: {', '.join(usable) or 'none'}"
        return Status.NOTE, finding, "unset ISTHMUS_WINDOW to use them" if usable else None
    allowed = [one for one in facts.backends if facts.setting in {"", one.name}]
    chosen = next((one for one in allowed if one.usable), None)
    if chosen is None:
        return Status.NOTE, f"none: {_reasons(facts, allowed)}", _advice(allowed)
    by = " by ISTHMUS_WINDOW" if facts.setting else ""
    finding = f"{chosen.name}{by} ({chosen.reason})"
    if facts.limit_bytes is not None:
        finding += f", at most {approximate_size(facts.limit_bytes)} at a time"
    refused = [one for one in facts.backends if not one.usable]
    return Status.OK, finding + (f"; not {_reasons(facts, refused)}" if refused else ""), None


def _reasons(facts: WindowFacts, backends: list[WindowBackend]) -> str:
    text = ", ".join(f"{one.name} ({one.reason})" for one in backends)
    only = len(backends) < len(facts.backends) and facts.setting
    return text + (f"; others aren't tried, by ISTHMUS_WINDOW={facts.setting}" if only else "")


def _advice(backends: list[WindowBackend]) -> str:
    closed = any(one.name == "gdrdrv" and "denied" in one.reason for one in backends)
    return _OPEN_THE_DEVICE if closed else _WITHOUT


def check_window_memory(facts: WindowFacts) -> Check | None:
    """Say on which kinds of one GPU's memory windows can be opened; None if there are none."""
    if not facts.memory:
        return None
    found: dict[str, list[str]] = {}
    for one in facts.memory:
        if one.usable:
            found.setdefault(one.reason, []).append(one.memory)
    parts = [f"{', '.join(names)}: {reason}" for reason, names in found.items()]
    refused = [one for one in facts.memory if not one.usable]
    parts += [f"none on {one.memory} ({one.reason})" for one in refused]
    return judged(
        f"gpu {facts.ordinal} window memory",
        "; ".join(parts),
        _OTHER_MEMORY if refused else None,
        {"memory": [asdict(one) for one in facts.memory]},
    )


def check_gdrapi(library: Path | None) -> Check:
    """Say how programs written for GDRCopy find our library of the same interface."""
    if library is None:
        advice = "it ships with isthmus: reinstall it"
        return judged("gdrapi", "no libgdrapi.so.2 beside the package", advice)
    return judged(
        "gdrapi",
        f"{library}, for programs written for GDRCopy",
        f'export LD_LIBRARY_PATH="{library.parent}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"',
        {"path": str(library)},
        Status.OK,
    )
