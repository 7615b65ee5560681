"""What a result depends on: GPU, link, driver, CPU, limits, versions. No paths, no host name."""

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from isthmus import _native

PACKAGES = (
    "isthmus",
    "numpy",
    "torch",
    "cupy-cuda13x",
    "rmm-cu13",
    "kvikio-cu13",
    "safetensors",
    "fastsafetensors",
)


def machine_facts() -> dict[str, Any]:
    """Collect the facts; null if unknown."""
    driver = _native.Driver.open()
    device = _native.Context(driver, 0).device
    return {
        "emulated": driver.emulated,
        "device": device.name,
        "cuda_version": driver.version,
        **_nvml_facts(),
        "cpu": _cpu_model(),
        "num_cpus": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "transparent_huge_pages": _text("/sys/kernel/mm/transparent_hugepage/enabled"),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _nvml_facts() -> dict[str, Any]:
    try:
        import pynvml

        pynvml.nvmlInit()
        gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
        return {
            "driver": pynvml.nvmlSystemGetDriverVersion(),
            "link_generation": pynvml.nvmlDeviceGetMaxPcieLinkGeneration(gpu),
            "link_width": pynvml.nvmlDeviceGetMaxPcieLinkWidth(gpu),
        }
    except Exception:  # noqa: BLE001 - without NVML there are no such facts
        return {"driver": None, "link_generation": None, "link_width": None}


def _cpu_model() -> str | None:
    text = _text("/proc/cpuinfo") or ""
    for line in text.splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return None


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text("utf-8").strip()
    except OSError:
        return None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
