"""Reads and judges everything: all of `isthmus doctor` except the printing."""

from collections.abc import Iterator
from dataclasses import dataclass

from isthmus.errors import Error
from isthmus.ground.spelling import cuda_major
from isthmus.measure.doctor.check import Check, Diagnosis, Status, judged
from isthmus.measure.doctor.check_driver import (
    check_driver,
    check_gpus_shown,
    check_no_driver,
    check_optional_symbols,
)
from isthmus.measure.doctor.check_gpu import (
    check_clocks,
    check_errors,
    check_identity,
    check_iommu,
    check_numa,
    check_peers,
    check_power,
    check_sharing,
)
from isthmus.measure.doctor.check_host import (
    check_clock,
    check_copy_instructions,
    check_cores,
    check_governor,
    check_huge_pages,
    check_memlock,
    check_memory,
    check_stolen_time,
    check_virtualization,
)
from isthmus.measure.doctor.check_link import check_bar1, check_link
from isthmus.measure.doctor.check_software import (
    check_gdrapi,
    check_nvrtc,
    check_profile,
    check_window_memory,
    check_windows,
)
from isthmus.measure.doctor.facts import Driver, Gpu, Host, ProfileFacts, WindowFacts
from isthmus.measure.doctor.read_driver import OpenDriver, describe_driver, open_driver, read_gpu
from isthmus.measure.doctor.read_health import read_peers, read_xids
from isthmus.measure.doctor.read_host import read_hardware, read_host
from isthmus.measure.doctor.read_software import read_nvrtc, read_profile, read_windows
from isthmus.measure.doctor.sources import Sources

_EMULATED = "emulated"


def diagnose(sources: Sources, wanted: str | None = None) -> Diagnosis:
    """Check this machine, or the device that is named as for `isthmus bench --device`."""
    host = read_host(sources)
    view = _look_at_driver(sources, host, wanted)
    gpus, gpu_checks = _look_at_gpus(sources, host, view)
    return Diagnosis(
        emulated=view.driver is not None and view.driver.facts.emulated,
        checks=[
            *view.checks,
            *gpu_checks,
            *_software_checks(sources, view.facts, gpus),
            *_host_checks(host),
        ],
    )


@dataclass(frozen=True)
class _View:
    """The driver, the devices to check, and the check of the driver."""

    driver: OpenDriver | None
    ordinals: range | list[int]
    checks: list[Check]

    @property
    def facts(self) -> Driver | None:
        return None if self.driver is None else self.driver.facts


def _look_at_driver(sources: Sources, host: Host, wanted: str | None) -> _View:
    if wanted is not None:
        choice = sources.choose_device(wanted, sources.native.Driver.open)
        chosen = describe_driver(sources, choice.driver)
        return _View(
            chosen,
            [choice.ordinal],
            [check_driver(chosen.facts), check_optional_symbols(chosen.facts)],
        )
    opened = open_driver(sources, "")
    hardware = read_hardware(sources)
    if isinstance(opened, OpenDriver):
        found = [
            check_driver(opened.facts),
            check_gpus_shown(opened.facts, hardware),
            check_optional_symbols(opened.facts),
        ]
        checks = [check for check in found if check is not None]
        return _View(opened, range(opened.facts.num_devices), checks)
    checks = [check_no_driver(opened, hardware, host.container)]
    emulated = open_driver(sources, _EMULATED)
    if isinstance(emulated, OpenDriver):
        return _View(emulated, range(emulated.facts.num_devices), checks)
    advice = "it ships with isthmus: reinstall it"
    broken = judged("emulated driver", emulated.reason, advice, status=Status.PROBLEM)
    return _View(None, [], [*checks, broken])


def _look_at_gpus(sources: Sources, host: Host, view: _View) -> tuple[list[Gpu], list[Check]]:
    gpus: list[Gpu] = []
    checks: list[Check] = []
    if view.driver is None:
        return gpus, checks
    for ordinal in view.ordinals:
        try:
            gpu = read_gpu(sources, view.driver, ordinal)
        except Error as error:
            checks.append(_unusable(ordinal, error, read_xids(sources.root) or []))
            continue
        gpus.append(gpu)
        windows = read_windows(sources, view.driver, ordinal)
        profile = read_profile(sources, view.driver, ordinal)
        checks.extend(_gpu_checks(gpu, host, windows, profile))
    peers = check_peers(read_peers(sources, [gpu for gpu in gpus if not gpu.emulated]))
    return gpus, [*checks, *([peers] if peers else [])]


def _unusable(ordinal: int, error: Error, xids: list[int]) -> Check:
    advice = "check dmesg for NVRM or Xid lines, and whether nvidia-smi lists it"
    # The GPU doesn't tell which of the log's it is.
    logged = f", and the kernel's log has Xid {', '.join(map(str, xids))}" if xids else ""
    finding = f"can't be used: {error}{logged}"
    return judged(f"gpu {ordinal}", finding, advice, status=Status.PROBLEM)


def _gpu_checks(
    gpu: Gpu, host: Host, windows: WindowFacts, profile: ProfileFacts
) -> Iterator[Check]:
    yield check_identity(gpu)
    yield check_link(gpu)
    yield check_bar1(gpu)
    yield check_windows(windows)
    yield from filter(None, [check_window_memory(windows)])
    yield check_profile(profile)
    yield check_numa(gpu, num_nodes=host.num_nodes, allowed_cpus=list(host.allowed_cpus))
    yield check_iommu(gpu, num_groups=host.num_iommu_groups)
    checks = (check_clocks(gpu), check_errors(gpu), check_power(gpu), check_sharing(gpu))
    yield from filter(None, checks)


def _software_checks(sources: Sources, driver: Driver | None, gpus: list[Gpu]) -> Iterator[Check]:
    real = driver is not None and not driver.emulated
    major = cuda_major(driver.version) if driver is not None and real else None
    yield check_nvrtc(read_nvrtc(lambda: sources.find_nvrtc(major)), driver, gpus)
    yield check_gdrapi(sources.find_gdrapi())


def _host_checks(host: Host) -> Iterator[Check]:
    yield check_cores(host)
    yield from filter(None, (check_stolen_time(host), check_governor(host)))
    yield check_memory(host)
    yield check_huge_pages(host)
    yield check_memlock(host)
    yield check_copy_instructions(host)
    yield check_clock(host)
    yield check_virtualization(host)
