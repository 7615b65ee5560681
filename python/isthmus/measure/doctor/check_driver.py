"""Judges the driver: whether there is one, whether it starts, and whether it shows all GPUs."""

from isthmus.ground.spelling import counted, cuda_version
from isthmus.measure.doctor.check import Check, Status, judged
from isthmus.measure.doctor.facts import Driver, DriverFailure, NvidiaHardware

_INSTALL = "install an NVIDIA driver for CUDA 12.2 or later (535 or newer)"
_IN_CONTAINER = (
    "start the container with the NVIDIA container toolkit (docker run --gpus all), "
    "and with the driver capability `compute`"
)
# The usual causes of cuInit's less obvious codes. Source: cuda.h of CUDA 13.0, CUresult.
_ADVICE_FOR_CODE = {
    3: "another process may have left the driver in a bad state; check dmesg for NVRM lines",
    46: "another process uses the GPU exclusively: see nvidia-smi, compute mode",
    802: "start the fabric manager: systemctl start nvidia-fabricmanager",
    803: "reboot, or reload the nvidia kernel module: library and module differ in version",
    804: "this GPU can't use the CUDA compatibility package: update the driver instead",
    999: "check dmesg for NVRM or Xid lines, and whether nvidia-smi works",
}


def check_driver(driver: Driver) -> Check:
    """Judge a driver that opened."""
    cuda = cuda_version(driver.version)
    facts = {
        "cuda_version": cuda,
        "driver_version": driver.release,
        "path": driver.path,
        "profile": driver.profile or None,
    }
    if driver.emulated:
        finding = f"emulated, profile {driver.profile}: every number from it is modelled"
        return judged("driver", finding, None, facts, Status.NOTE)
    release = f" (driver {driver.release})" if driver.release else ""
    return judged("driver", f"CUDA {cuda}{release}, {driver.path}", facts=facts)


def check_no_driver(failure: DriverFailure, hardware: NvidiaHardware, container: str) -> Check:
    """Judge that no driver opened: harmless without a GPU, a problem with one."""
    facts = {
        "reason": failure.reason,
        "code": failure.code,
        "gpus_on_pci": list(hardware.pci_addresses),
        "kernel_module": hardware.kernel_module,
    }
    has_hardware = bool(hardware.pci_addresses) or hardware.kernel_module is not None
    if failure.absent and not has_hardware:
        finding = "no NVIDIA driver: the emulated driver is used"
        return judged("driver", finding, f"to measure a GPU, {_INSTALL}", facts)
    advice = _advice(failure, hardware, container)
    return judged("driver", _finding(failure, hardware), advice, facts, Status.PROBLEM)


def _finding(failure: DriverFailure, hardware: NvidiaHardware) -> str:
    if not failure.absent:
        return failure.reason
    if hardware.kernel_module is not None:
        return f"kernel module {hardware.kernel_module} is loaded, but there is no libcuda.so.1"
    found = len(hardware.pci_addresses)
    return f"{found} NVIDIA GPU{'s' if found > 1 else ''} on the PCI bus, but no driver"


def _advice(failure: DriverFailure, hardware: NvidiaHardware, container: str) -> str:
    if failure.code is not None:
        return _ADVICE_FOR_CODE.get(failure.code, _INSTALL)
    if failure.absent and container:
        return _IN_CONTAINER
    if failure.absent and hardware.kernel_module is not None:
        return "install the driver's CUDA library (Debian: libcuda1; Ubuntu: libnvidia-compute)"
    if failure.absent or not failure.needs:
        return _INSTALL
    return f"needs {failure.needs}"


def check_gpus_shown(driver: Driver, hardware: NvidiaHardware) -> Check | None:
    """Judge whether the driver shows all GPUs; None if it does."""
    hidden = len(hardware.pci_addresses) - driver.num_devices
    if driver.emulated or (driver.num_devices > 0 and hidden <= 0):
        return None
    facts = {
        "num_devices": driver.num_devices,
        "gpus_on_pci": list(hardware.pci_addresses),
        "cuda_visible_devices": hardware.visible_devices,
    }
    finding = (
        f"the driver shows {driver.num_devices} of {counted(len(hardware.pci_addresses), 'GPU')}"
    )
    if hardware.visible_devices is not None:
        finding += f", CUDA_VISIBLE_DEVICES is '{hardware.visible_devices}'"
        return judged("gpus", finding, "unset CUDA_VISIBLE_DEVICES to see all", facts)
    if not hardware.pci_addresses:
        finding = "the driver works, but there is no GPU"
    # A container is often given some of a machine's GPUs, and sysfs shows all of them.
    status = Status.NOTE if driver.num_devices or not hardware.pci_addresses else Status.PROBLEM
    advice = "check whether nvidia-smi lists them, and whether /dev/nvidia0 may be opened"
    return judged("gpus", finding, advice, facts, status)


def check_optional_symbols(driver: Driver) -> Check:
    """Judge which functions that Isthmus can use the driver lacks."""
    missing = list(driver.missing_symbols)
    if not missing:
        return judged("driver symbols", "none missing")
    return judged(
        "driver symbols",
        f"optional functions missing: {', '.join(missing)}",
        "tests that need them are waived; a newer driver has them",
        {"missing": missing},
    )
