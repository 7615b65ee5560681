"""The facts that the doctor's checks judge: plain data, made by `read_*.py` or by tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isthmus.measure.machine.link import LinkFacts
from isthmus.measure.machine.link_errors import LinkErrorCounts
from isthmus.measure.run.machine import LinkErrors


@dataclass(frozen=True, kw_only=True)
class Driver:
    """
    A CUDA driver that opened.

    Attributes:
        version: In the format of cuDriverGetVersion: 13000 is CUDA 13.0.
        profile: The emulated driver's profile; "" for a real driver.
        release: NVIDIA's release number, "580.159.04"; None if unknown.
    """

    version: int
    path: str
    profile: str = ""
    release: str | None = None
    num_devices: int = 0
    missing_symbols: Sequence[str] = ()

    @property
    def emulated(self) -> bool:
        """Whether its devices are emulated."""
        return bool(self.profile)


@dataclass(frozen=True, kw_only=True)
class DriverFailure:
    """
    Why no driver opened.

    Attributes:
        code: CUDA's error code, if it returned one.
    """

    reason: str
    needs: str = ""
    absent: bool = False
    code: int | None = None


@dataclass(frozen=True, kw_only=True)
class NvidiaHardware:
    """
    Signs of NVIDIA GPUs that don't need a working driver.

    Attributes:
        kernel_module: Version of the loaded kernel module; None if none is loaded.
        visible_devices: The value of CUDA_VISIBLE_DEVICES; None if it isn't set.
    """

    pci_addresses: Sequence[str] = ()
    kernel_module: str | None = None
    visible_devices: str | None = None


@dataclass(frozen=True, kw_only=True)
class IommuGroup:
    """
    The IOMMU group of a device.

    Attributes:
        type: "identity" is passed through, "DMA" and "DMA-FQ" are translated, "" is hidden.
    """

    id: int
    type: str


@dataclass(frozen=True, kw_only=True)
class Health:
    """
    Whether a GPU works as it should, and who else uses it; None is what isn't shown.

    Attributes:
        xids: The codes of its Xid errors in the kernel's log, in order.
        new_uncorrected: Uncorrected ECC errors since the driver was loaded.
        uncorrected: The same, ever.
        remapped_rows: Remapped for corrected and for uncorrected errors; whether more wait for a
            reset; whether a remapping failed.
        mig: Whether MIG is on, and whether it will be after a reset.
        acs_redirects: The ports above it that send peers' requests up, as far as they tell.
    """

    xids: Sequence[int] | None = None
    ecc: bool | None = None
    new_uncorrected: int | None = None
    uncorrected: int | None = None
    remapped_rows: Sequence[int] | None = None
    power_limit_w: float | None = None
    power_default_w: float | None = None
    processes: Sequence[int] | None = None
    mig: tuple[bool, bool] | None = None
    acs_redirects: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Peers:
    """What GPUs can read of each other."""

    allowed: Mapping[tuple[int, int], bool] = field(default_factory=dict)
    acs_redirects: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """
    One device, and its place in the host.

    Attributes:
        link: NVML's facts on link, clocks and BAR1, read under load if possible.
        link_generation_of_gpu: The highest generation of the GPU, in any slot; None if unknown.
        link_errors: What both ends of the link have counted since the GPU's reset and since boot.
        new_link_errors: Those that occurred while the link was read; None if they weren't read.
        c2c: Whether NVLink-C2C connects it to the CPU (Grace); None if unknown.
        numa_node: Its node of the host; None if the machine has several and doesn't tell.
        iommu_group: None if it is in none.
    """

    ordinal: int
    name: str
    uuid: str
    pci_address: str
    compute_capability: tuple[int, int]
    total_memory_bytes: int
    emulated: bool = False
    link: LinkFacts = field(default_factory=LinkFacts)
    link_generation_of_gpu: int | None = None
    link_errors: LinkErrorCounts = field(default_factory=LinkErrorCounts)
    new_link_errors: LinkErrors | None = None
    c2c: bool | None = None
    numa_node: int | None = None
    near_cpus: Sequence[int] = ()
    iommu_group: IommuGroup | None = None
    health: Health = field(default_factory=Health)


@dataclass(frozen=True, kw_only=True)
class HugePagePool:
    """Reserved huge pages of one size."""

    page_bytes: int
    num_pages: int
    num_free_pages: int


@dataclass(frozen=True, kw_only=True)
class Host:
    """
    The host's CPUs and memory, as this process may use them.

    Attributes:
        allowed_cpus: Logical CPUs, ascending.
        quota_cores: The container's CPU quota in cores; None without one.
        effective_cores: The smaller of both.
        clock_source: The kernel's, "tsc" on most x86 machines; None if hidden.
        num_online_cpus: The machine's; None if hidden.
        governors: How the kernel chooses the CPUs' clocks; empty if it doesn't say.
        total_bytes: Memory of the machine; 0 if hidden.
        cgroup_limit_bytes: The container's memory limit; None without one.
        memlock_bytes: RLIMIT_MEMLOCK; None if unlimited.
        transparent_huge_pages: "always", "madvise", "never"; "" if the kernel has none.
        num_iommu_groups: 0 without an IOMMU, or if it is hidden.
        stolen_share: Of the CPU time that this virtual machine has wanted since boot, the part that
            its hypervisor didn't let it have; None if the kernel doesn't say.
    """

    num_nodes: int
    allowed_cpus: Sequence[int]
    quota_cores: float | None
    effective_cores: float
    copy_instructions: Sequence[str]
    timer_overhead_ns: float
    clock_source: str | None
    total_bytes: int
    available_bytes: int
    cgroup_limit_bytes: int | None
    memlock_bytes: int | None
    transparent_huge_pages: str
    huge_page_pools: Sequence[HugePagePool]
    num_iommu_groups: int
    virtual_machine: bool
    hypervisor: str
    system_vendor: str
    product_name: str
    container: str
    stolen_share: float | None = None
    num_online_cpus: int | None = None
    governors: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Nvrtc:
    """
    NVIDIA's run-time compiler.

    Attributes:
        version: Major and minor; None if it didn't say.
        architectures: What it compiles for: 75 is compute capability 7.5.
        compile_error: Why an empty kernel doesn't compile; None if it does.
    """

    path: str
    version: tuple[int, int] | None
    architectures: Sequence[int] = ()
    compile_error: str | None = None


@dataclass(frozen=True, kw_only=True)
class WindowBackend:
    """
    One backend that maps GPU memory.

    Attributes:
        name: "dmabuf", "gdrdrv" or "rm".
    """

    name: str
    usable: bool
    reason: str


@dataclass(frozen=True, kw_only=True)
class WindowMemory:
    """
    One kind of GPU memory.

    Attributes:
        memory: How it is allocated: "cudaMallocAsync".
        reason: By what the memory is found, or why there is no window on it.
    """

    memory: str
    usable: bool
    reason: str


@dataclass(frozen=True, kw_only=True)
class WindowFacts:
    """
    How one device's memory can be mapped for the CPU.

    Attributes:
        setting: The value of ISTHMUS_WINDOW; "" if it isn't set.
        backends: In the order in which they are tried.
        memory: Every kind, by the backend that is used; empty if none is.
        limit_bytes: The most bytes that are mapped at a time; None without a limit.
        failure: Why the backends could not be tried; None if they were.
    """

    ordinal: int
    setting: str = ""
    backends: Sequence[WindowBackend] = ()
    memory: Sequence[WindowMemory] = ()
    limit_bytes: int | None = None
    failure: str | None = None


@dataclass(frozen=True, kw_only=True)
class ProfileFacts:
    """
    The figures with which copies to and from one device are planned.

    Attributes:
        measured: A profile of this machine; False for defaults.
        file: The path of the profile; "" if none is searched.
        age: How long ago it was measured, in words; None if it wasn't.
    """

    ordinal: int
    measured: bool = False
    source: str = ""
    file: str = ""
    age: str | None = None
