"""Judges the libraries beside the driver: NVRTC."""

from collections.abc import Sequence

from isthmus.ground.spelling import cuda_major, cuda_version
from isthmus.measure.doctor.check import Check, Status, judged
from isthmus.measure.doctor.facts import Driver, Gpu, Nvrtc

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
