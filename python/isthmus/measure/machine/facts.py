"""Combines the facts about one machine."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from isthmus.ground.spelling import cuda_version
from isthmus.measure.machine.link import LinkFacts
from isthmus.measure.machine.placement import Placement, read_host
from isthmus.measure.run.machine import Device, Driver, Machine, Software

if TYPE_CHECKING:
    from isthmus import _native

_LIBRARIES = ("isthmus", "nvidia-ml-py", "cuda-pathfinder", "pydantic", "typer", "rich")


def read_software(nvrtc_version: str | None) -> Software:
    """Collect versions."""
    return Software(
        python=platform.python_version(),
        nvrtc=nvrtc_version or None,
        libraries={name: version for name in _LIBRARIES if (version := _version(name)) is not None},
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@dataclass(frozen=True, kw_only=True)
class Setting:
    """
    How the session was set up.

    Attributes:
        nvrtc_version: The version of the NVRTC that compiled the kernels; None or "" without one.
        emulated_because: Why the emulated device was chosen by default; otherwise None.
    """

    nvrtc_version: str | None = None
    emulated_because: str | None = None
    notes: Sequence[str] = ()


def read_machine(
    driver: "_native.Driver",
    device: "_native.DeviceFacts",
    placement: Placement,
    link: LinkFacts,
    *,
    setting: Setting,
) -> Machine:
    """Collect everything that the numbers depend on."""
    return Machine(
        emulated=driver.emulated,
        profile=driver.profile or None,
        emulated_because=setting.emulated_because,
        device=_device(device, placement.device_node),
        link=link.link,
        gpu_state=link.state,
        driver=Driver(
            cuda_version=cuda_version(driver.version),
            driver_version=link.driver_version,
            path=driver.path,
            missing_symbols=driver.missing_symbols(),
        ),
        host=read_host(
            placement.nodes, num_cpus=placement.num_cpus, bound_node=placement.bound_node
        ),
        software=read_software(setting.nvrtc_version),
        notes=[*link.notes, *setting.notes],
    )


def _device(facts: "_native.DeviceFacts", numa_node: int | None) -> Device:
    return Device(
        ordinal=facts.ordinal,
        name=facts.name,
        uuid=facts.uuid,
        pci_address=facts.pci_address,
        compute_capability=tuple(facts.compute_capability),
        total_memory_bytes=facts.total_memory_bytes,
        num_multiprocessors=facts.num_multiprocessors,
        num_copy_engines=facts.num_copy_engines,
        l2_cache_bytes=facts.l2_cache_bytes,
        stream_memory_operations=facts.stream_memory_operations,
        numa_node=numa_node,
    )
