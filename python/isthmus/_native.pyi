"""
The native core of Isthmus. Use the isthmus package; this module is its foundation.
"""

from collections.abc import Sequence


class Driver:
    """A loaded CUDA driver, real or emulated."""

    @staticmethod
    def open(source: str = '') -> Driver:
        """
        Open "system", "emulated[:PROFILE]" or a path; "" is $ISTHMUS_DRIVER or else "system".
        """

    @property
    def version(self) -> int:
        """1000 * major + 10 * minor of the CUDA version it implements."""

    @property
    def path(self) -> str:
        """The library file."""

    @property
    def emulated(self) -> bool:
        """True if every number from it is modelled."""

    @property
    def profile(self) -> str:
        """The emulated driver's profile; "" on a real one."""

    def missing_symbols(self) -> list[str]:
        """Optional driver functions that it lacks."""

    def device_count(self) -> int:
        """Number of CUDA devices; 0 if none."""

    def device(self, ordinal: int) -> DeviceFacts:
        """Facts about one device."""

class DeviceFacts:
    """What the driver says about one device."""

    @property
    def ordinal(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def uuid(self) -> str:
        """GPU-8-4-4-4-12 in hex."""

    @property
    def pci_address(self) -> str:
        """As sysfs spells it: 0000:01:00.0"""

    @property
    def compute_capability(self) -> tuple[int, int]: ...

    @property
    def total_memory_bytes(self) -> int: ...

    @property
    def num_multiprocessors(self) -> int: ...

    @property
    def num_copy_engines(self) -> int: ...

    @property
    def l2_cache_bytes(self) -> int: ...

    @property
    def stream_memory_operations(self) -> bool:
        """True if a stream can wait for a value in memory."""

class Context:
    """A device's primary context, retained while this object lives."""

    def __init__(self, driver: Driver, ordinal: int) -> None: ...

    @property
    def device(self) -> DeviceFacts: ...

    def __enter__(self) -> Context:
        """Make it current on this thread."""

    def __exit__(self, *exception: object) -> None:
        """Make current what was so before."""

    def free_memory_bytes(self) -> int:
        """Free device memory, in bytes."""

class Kernels:
    """The project's kernels for one context, compiled as they are needed."""

    def __init__(self, context: Context, *, nvrtc: str | None = None, cache_folder: str = '') -> None:
        """
        nvrtc: path of libnvrtc, or None to search. cache_folder: "" for no cache.
        """

    @property
    def nvrtc_version(self) -> str:
        """"13.0"; "" on the emulated driver."""

class DeviceMemory:
    """Memory on a device, freed when it goes."""

    def __init__(self, context: Context, size_bytes: int) -> None: ...

    @property
    def pointer(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    def write(self, data: object, offset: int = 0) -> None:
        """Copy to the device, by the driver."""

    def read(self, n: int | None = None, offset: int = 0) -> bytes:
        """Copy from the device, by the driver."""

    def free(self) -> None: ...

class Stream:
    """A stream that does not wait for the default stream."""

    def __init__(self, context: Context) -> None: ...

    @property
    def handle(self) -> int:
        """The CUstream, as an integer."""

def synchronize_stream(context: Context, handle: int) -> None:
    """
    Wait until all work now in a CUstream is complete; 1 is the legacy default stream, 2 the thread's.
    """

def pointer_device(driver: Driver, pointer: int) -> int | None:
    """
    The device whose memory is at an address; None if that is no memory of CUDA's.
    """

class NumaNode:
    """One node of the host: CPUs and the memory next to them."""

    @property
    def node(self) -> int: ...

    @property
    def cpus(self) -> list[int]: ...

    @property
    def memory_bytes(self) -> int: ...

class IommuGroup:
    """The IOMMU group of a PCI device."""

    @property
    def id(self) -> int: ...

    @property
    def type(self) -> str: ...

def numa_nodes() -> list[NumaNode]: ...

def pci_numa_node(pci_address: str) -> int | None: ...

def num_iommu_groups() -> int: ...

def iommu_group(pci_address: str) -> IommuGroup | None: ...

def allowed_cpus() -> list[int]: ...

def bind_thread_to_node(node: int) -> list[int]: ...

def cpu_quota_cores() -> float | None: ...

def effective_cores() -> float: ...

def copy_instructions() -> list[str]: ...

def timer_overhead_ns() -> float: ...

class HugePagePool:
    """The huge pages of one size that are reserved."""

    @property
    def page_bytes(self) -> int: ...

    @property
    def num_pages(self) -> int: ...

    @property
    def num_free_pages(self) -> int: ...

class HugePages:
    """Which huge pages the kernel offers."""

    @property
    def base_page_bytes(self) -> int: ...

    @property
    def transparent(self) -> str: ...

    @property
    def pools(self) -> list[HugePagePool]: ...

class MemoryLimits:
    """How much memory this process may use and lock."""

    @property
    def total_bytes(self) -> int: ...

    @property
    def available_bytes(self) -> int: ...

    @property
    def cgroup_limit_bytes(self) -> int | None: ...

    @property
    def memlock_bytes(self) -> int | None: ...

def huge_pages() -> HugePages: ...

def memory_limits() -> MemoryLimits: ...

class Virtualization:
    """Virtual machine and container, if any."""

    @property
    def virtual_machine(self) -> bool: ...

    @property
    def hypervisor(self) -> str: ...

    @property
    def system_vendor(self) -> str: ...

    @property
    def product_name(self) -> str: ...

    @property
    def container(self) -> str: ...

def virtualization() -> Virtualization: ...

class Samples:
    """One quantity, sampled."""

    @property
    def metric(self) -> str: ...

    @property
    def seconds(self) -> list[float]:
        """For one copy, in the order taken."""

    @property
    def copies_per_sample(self) -> int: ...

    @property
    def stopped_by(self) -> str:
        """"noise", "time" or "max_samples"."""

class Measurement:
    """What one call of a measuring loop found."""

    @property
    def samples(self) -> list[Samples]: ...

    @property
    def first_call_seconds(self) -> float: ...

    @property
    def waived(self) -> dict[str, str]:
        """Metric -> why it can't be measured here."""

    @property
    def verified_on(self) -> str:
        """"device" or "host"."""

class Stopping:
    """When to stop sampling."""

    def __init__(self, *, min_samples: int = 5, max_samples: int = 1000, max_seconds: float = 0.5, relative_iqr: float = 0.01) -> None: ...

class CopyBuffers:
    """One host buffer and one device buffer of the same size."""

    def __init__(self, context: Context, *, host_memory: str, size_bytes: int, numa_node: int | None = None) -> None: ...

    @property
    def host_pages_by_node(self) -> dict[int, int]:
        """NUMA node -> number of sampled pages; {} where the kernel can't say."""

def measure_bandwidth(buffers: CopyBuffers, kernels: Kernels | None, *, direction: str, size_bytes: int, blocked: bool, stopping: Stopping, gate_timeout_seconds: float = 15.0) -> Measurement:
    """Sample the time of one copy (metric "copy_time")."""

def measure_latency(buffers: CopyBuffers, kernels: Kernels | None, *, direction: str, method: str, size_bytes: int, stopping: Stopping) -> Measurement:
    """Sample the latencies of one copy."""

def run_copy_load(buffers: CopyBuffers, *, direction: str, seconds: float) -> None:
    """Keep the link busy for some seconds."""

class WindowBench:
    """The windows of one measuring session."""

    def __init__(self, context: Context) -> None: ...

    def describe(self) -> tuple[str, str]:
        """
        The backend and the instructions that windows use here; Unavailable if there are none.
        """

    def take_notices(self) -> list[str]:
        """
        What should be said once, such as an untested driver; empties the list.
        """

    def measure_write(self, *, size_bytes: int, cold: bool, num_threads: int, numa_node: int | None, stopping: Stopping) -> Measurement:
        """Sample writes of one size, and cudaMemcpy beside them."""

    def measure_read(self, *, size_bytes: int, cold: bool, num_threads: int, numa_node: int | None, stopping: Stopping) -> Measurement:
        """Sample reads of one size, and cudaMemcpy beside them."""

    def measure_bandwidth(self, *, direction: str, size_bytes: int, num_threads: int, numa_node: int | None, cpus: Sequence[int], stopping: Stopping) -> Measurement:
        """Sample the time of one copy (metric "copy_time")."""

    def measure_lifecycle(self, *, size_bytes: int, stopping: Stopping) -> Measurement:
        """Sample opening, first use and closing."""

    def measure_ping_pong(self, kernels: Kernels | None, *, question: str, answer: str, data: str | None, data_bytes: int, stopping: Stopping) -> Measurement:
        """Sample round trips (metric "round_trip") to a running kernel."""

    def measure_push(self, kernels: Kernels | None, *, size_bytes: int, stopping: Stopping) -> Measurement:
        """Sample a kernel that stores into pinned host memory."""

class DlpackArray:
    """What a DLPack capsule says of its array."""

    @property
    def pointer(self) -> int: ...

    @property
    def shape(self) -> list[int]: ...

    @property
    def strides(self) -> list[int] | None:
        """In items; None if C-contiguous."""

    @property
    def item_bits(self) -> int: ...

    @property
    def device_type(self) -> int:
        """2 is memory of a CUDA device."""

    @property
    def device_id(self) -> int: ...

    @property
    def read_only(self) -> bool: ...

def read_dlpack(capsule: object) -> DlpackArray:
    """
    Read a capsule without using it up: keep it for as long as its memory is used.
    """

class Window:
    """A CPU mapping of a range of GPU memory. See isthmus.window()."""

    def write(self, data: object, offset: int = 0) -> None:
        """
        Copy bytes to the device and fence: a kernel or copy that is started afterwards reads them. `data` (anything with contiguous bytes) may be reused on return. Safe from several threads on different bytes. Raises UsageError, with nothing copied, if the range is not inside, the window is closed, read-only or of a parent process, or its memory was freed.
        """

    def post(self, data: object, offset: int = 0) -> None:
        """
        Copy bytes to the device without a fence: nothing is promised until this thread's next fence() or write(). Threads and errors as of write().
        """

    @staticmethod
    def fence() -> None:
        """Order this thread's posts, on all windows, before what it does next."""

    def read(self, n: int | None = None, offset: int = 0) -> bytes:
        """
        Copy n bytes from the device; None: all from the offset on. Complete on return, outside the order of streams: wait first for the kernel whose bytes are wanted. Threads and errors as of write().
        """

    def read_into(self, buffer: object, offset: int = 0) -> None:
        """Fill a writable, contiguous buffer from the device, as read() does."""

    def close(self) -> None:
        """
        Undo the mapping, once a long copy of another thread has finished. Closing twice is allowed.
        """

    def __enter__(self) -> Window: ...

    def __exit__(self, *exception: object) -> None: ...

    def __repr__(self) -> str: ...

    @property
    def nbytes(self) -> int:
        """Bytes of the window."""

    @property
    def device_pointer(self) -> int:
        """The device address of its first byte."""

    @property
    def read_only(self) -> bool:
        """True if write and post are refused."""

    @property
    def backend(self) -> str:
        """"dmabuf", "gdrdrv" or "rm"."""

    @property
    def instructions(self) -> str:
        """What it copies with: "avx512", for instance."""

    @property
    def is_open(self) -> bool:
        """False once it has been closed."""

    @property
    def is_alive(self) -> bool:
        """False once CUDA has freed the memory, and when the window is closed."""

class WindowBackendReport:
    """What one backend said."""

    @property
    def backend(self) -> str: ...

    @property
    def usable(self) -> bool: ...

    @property
    def reason(self) -> str:
        """Why not, or what it is: "driver 580.159.04, tested"."""

class WindowStep:
    """A step in the lives of mappings."""

    @property
    def count(self) -> int:
        """How often it was taken."""

    @property
    def seconds(self) -> float:
        """How long all of these took together, by the CPU clock."""

class WindowCosts:
    """What the mappings behind windows have cost so far."""

    @property
    def pin(self) -> WindowStep:
        """
        Taking hold of the memory: its export (dmabuf), PIN_BUFFER (gdrdrv), finding and referring to its object (rm).
        """

    @property
    def map(self) -> WindowStep:
        """Mapping it: mmap, and before it the resource manager's mapping (rm)."""

    @property
    def unmap(self) -> WindowStep:
        """Undoing that."""

    @property
    def unpin(self) -> WindowStep:
        """
        Letting go of the memory. dmabuf never takes this step: its mapping is the last that holds the memory.
        """

class Windows:
    """Opens windows on one driver's devices."""

    def __init__(self, driver: Driver, *, backend: str | None = None, bar1_limit_bytes: int | None = None) -> None:
        """None: what ISTHMUS_WINDOW and ISTHMUS_WINDOW_BAR1_MIB say."""

    def open(self, pointer: int, size_bytes: int, *, owner: object | None, read_only: bool, num_threads: int, check: bool) -> Window:
        """Map device memory; `owner` is kept alive by the window."""

    def backends(self, device: int) -> list[WindowBackendReport]:
        """Try the backends on one device."""

    def mapped_bytes(self, device: int) -> int:
        """Bytes of the device's BAR1 that windows map now."""

    def bar1_limit_bytes(self, device: int) -> int:
        """Most bytes of the device's BAR1 that windows may map at a time."""

    def take_notices(self) -> list[str]:
        """What a user should be told once; empties the list."""

    def costs(self) -> WindowCosts:
        """What the mappings behind all windows so far have cost."""
