"""Opens a driver, and reads facts about its devices from it and from NVML."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from isthmus.errors import DriverError, Error, Unavailable
from isthmus.measure.doctor.facts import Driver, DriverFailure, Gpu
from isthmus.measure.doctor.read_health import read_health
from isthmus.measure.doctor.read_host import read_iommu_group
from isthmus.measure.doctor.sources import Sources
from isthmus.measure.machine.absence import no_driver_library
from isthmus.measure.machine.link import LOAD_CALL_SECONDS, LinkFacts, read_link
from isthmus.measure.machine.link_errors import read_link_errors
from isthmus.measure.machine.nvml import Nvml

# Enough for the copy engine to stream, and small enough for a busy GPU.
_LOAD_BYTES = 16 << 20


@dataclass(frozen=True)
class OpenDriver:
    """A driver, and what is known about it."""

    native: Any
    facts: Driver


def open_driver(sources: Sources, source: str) -> OpenDriver | DriverFailure:
    """Open a driver by a source as `_native.Driver.open` takes it."""
    try:
        return describe_driver(sources, sources.native.Driver.open(source))
    except Unavailable as error:
        absent = no_driver_library(error)
        return DriverFailure(reason=error.reason, needs=error.needs, absent=absent)
    except DriverError as error:
        return DriverFailure(reason=str(error), code=error.code)


def describe_driver(sources: Sources, driver: Any) -> OpenDriver:  # noqa: ANN401 - native
    """Read an open driver's facts; raises DriverError if it can't even count its devices."""
    facts = Driver(
        version=driver.version,
        path=driver.path,
        profile=driver.profile,
        release=None if driver.emulated else _release(sources),
        num_devices=driver.device_count(),
        missing_symbols=list(driver.missing_symbols()),
    )
    return OpenDriver(driver, facts)


def read_gpu(sources: Sources, driver: OpenDriver, ordinal: int, *, under_load: bool = True) -> Gpu:
    """
    Read all facts about one device; `under_load` keeps the link busy meanwhile, because an idle
    link trains down.
    """
    device = driver.native.device(ordinal)
    emulated = driver.facts.emulated
    gpu = Gpu(
        ordinal=ordinal,
        name=device.name,
        uuid=device.uuid,
        pci_address=device.pci_address,
        compute_capability=tuple(device.compute_capability),
        total_memory_bytes=device.total_memory_bytes,
        emulated=emulated,
    )
    return gpu if emulated else _with_place(sources, driver, gpu, under_load=under_load)


def _with_place(sources: Sources, driver: OpenDriver, gpu: Gpu, *, under_load: bool) -> Gpu:
    """Add the GPU's place in the host and the state of its link."""
    node = sources.native.pci_numa_node(gpu.pci_address)
    nodes = {known.node: list(known.cpus) for known in sources.native.numa_nodes()}
    with Nvml(gpu.pci_address, sources.nvml) as nvml:
        generation = nvml.ask(
            "link generation of the GPU", lambda n, h: n.nvmlDeviceGetGpuMaxPcieLinkGeneration(h)
        )
        health = read_health(sources, nvml, gpu.pci_address)
        c2c = nvml.ask("NVLink-C2C", lambda n, h: bool(n.nvmlDeviceGetC2cModeInfoV(h).isC2cEnabled))
    before = read_link_errors(gpu.pci_address, sources.nvml, sources.root)
    link = _read_link(sources, driver, gpu, under_load=under_load)
    errors = read_link_errors(gpu.pci_address, sources.nvml, sources.root)
    return replace(
        gpu,
        link=link,
        link_errors=errors,
        new_link_errors=errors.since(before),
        link_generation_of_gpu=generation,
        c2c=c2c,
        health=health,
        numa_node=node,
        near_cpus=nodes.get(node, []) if node is not None else [],
        iommu_group=read_iommu_group(sources.native, gpu.pci_address),
    )


def _read_link(sources: Sources, driver: OpenDriver, gpu: Gpu, *, under_load: bool) -> LinkFacts:
    load, failure = None, None
    if under_load:
        try:
            load = _prepare_load(sources, driver, gpu.ordinal)
        except (Error, RuntimeError, MemoryError, OSError) as error:
            failure = f"the link was read idle: {error}"
    facts = read_link(gpu.pci_address, load, sources.nvml)
    return facts if failure is None else replace(facts, notes=[*facts.notes, failure])


def _prepare_load(sources: Sources, driver: OpenDriver, ordinal: int) -> Callable[[], None]:
    """Create everything that the load needs first: a context takes longer than a call."""
    native = sources.native
    context = native.Context(driver.native, ordinal)
    buffers = native.CopyBuffers(context, host_memory="pinned", size_bytes=_LOAD_BYTES)
    return lambda: native.run_copy_load(buffers, direction="h2d", seconds=LOAD_CALL_SECONDS)


def _release(sources: Sources) -> str | None:
    """NVIDIA's release number of the driver, from NVML."""
    try:
        nvml = sources.nvml or importlib.import_module("pynvml")
        nvml.nvmlInit()
        try:
            version = nvml.nvmlSystemGetDriverVersion()
        finally:
            nvml.nvmlShutdown()
    except Exception:  # noqa: BLE001 - whatever it is, it costs this one fact
        return None
    return version.decode() if isinstance(version, bytes) else str(version)
