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

def device_tensor(pointer: int, shape: list[int], type_code: int, item_bits: int, device: int, owner: object) -> object:
    """
    Show device memory as a C-contiguous tensor with __dlpack__(); it keeps `owner` alive. Codes are DLPack's.
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

class HostBuffer:
    """An object's buffer, held while this lives."""

    def __init__(self, owner: object) -> None: ...

    @property
    def pointer(self) -> int: ...

    @property
    def shape(self) -> list[int]: ...

    @property
    def strides(self) -> list[int]:
        """In bytes."""

    @property
    def format(self) -> str:
        """As the struct module writes it."""

    @property
    def item_bytes(self) -> int: ...

    @property
    def read_only(self) -> bool: ...

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

class ProfileIdentity:
    """The machine that a profile is of."""

    @property
    def emulated(self) -> bool: ...

    @property
    def gpu_uuid(self) -> str: ...

    @property
    def gpu_name(self) -> str: ...

    @property
    def link(self) -> str:
        """"PCIe Gen5 x16", "NVLink-C2C" or "emulated link"."""

    @property
    def cuda_version(self) -> int:
        """Of the driver: 13000 is CUDA 13.0."""

    @property
    def driver_release(self) -> str:
        """"" where it isn't known."""

    @property
    def cpu_model(self) -> str:
        """"" where it isn't known."""

    @property
    def num_cores(self) -> float: ...

    @property
    def file(self) -> str:
        """Where its profile is looked for; "" if it isn't."""

    @property
    def file_name(self) -> str: ...

def profile_identity(driver: Driver, ordinal: int) -> ProfileIdentity:
    """Tell what a profile of a device must say of itself."""

class CostProfile:
    """What copies are planned with."""

    @property
    def measured(self) -> bool:
        """False: conservative defaults."""

    @property
    def source(self) -> str:
        """Where its figures come from, and why from there."""

    @property
    def ring_threads(self) -> tuple[int, int]:
        """Of staged uploads and downloads; 0: as many as without a profile."""

    def seconds(self, *, path: str, direction: str, host_memory: str, size_bytes: int) -> float | None:
        """Predict one copy; None if that way wasn't measured."""

def profile_in_use(driver: Driver, ordinal: int) -> CostProfile:
    """
    Load what copies with a device are planned with: the stored profile, or defaults.
    """

def margin_of(path: str) -> float:
    """What a way's predicted time is multiplied by where ways are compared."""

def parse_profile(text: str, identity: ProfileIdentity) -> CostProfile:
    """Read a profile's file; UsageError if it doesn't fit."""

class Turns:
    """How often things that are compared take their turns."""

    def __init__(self, *, least: int = 5, most: int = 15, most_seconds: float = 0.1, turn_seconds: float = 0.0001, hopeless: float = 4.0) -> None: ...

class PathTimes:
    """Copies by one path, timed."""

    @property
    def path(self) -> str: ...

    @property
    def seconds(self) -> list[float]:
        """Of one copy, a figure for each turn."""

    @property
    def absence(self) -> str:
        """Why it can't here; "" if it can."""

class RingTimes:
    """Staged copies by so many threads, timed."""

    @property
    def num_threads(self) -> int: ...

    @property
    def seconds(self) -> list[float]: ...

class PathBench:
    """Copies by each way, to be timed."""

    def __init__(self, context: Context) -> None: ...

    def measure(self, buffers: CopyBuffers, *, paths: Sequence[str], direction: str, size_bytes: int, turns: Turns) -> list[PathTimes]:
        """Time copies of one size by several ways in turns."""

    def measure_ring(self, buffers: CopyBuffers, *, direction: str, size_bytes: int, turns: Turns) -> list[RingTimes]:
        """
        Time staged copies with several numbers of threads; one untimed if there is no choice.
        """

    def use_ring_threads(self, *, upload: int, download: int) -> None:
        """
        Stage with so many threads from now on; 0: as many as without a profile.
        """

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
    def type_code(self) -> int:
        """0 is a signed integer, 2 a float, for instance."""

    @property
    def item_bits(self) -> int:
        """Of all lanes."""

    @property
    def item_lanes(self) -> int: ...

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

class PinnedPoolStats:
    """A pool's use so far: counts, bytes, seconds."""

    @property
    def num_allocations(self) -> int:
        """All there were."""

    @property
    def num_from_cache(self) -> int:
        """Of them, those that needed no pinning."""

    @property
    def num_pins(self) -> int:
        """Regions pinned."""

    @property
    def num_unpins(self) -> int:
        """Regions given back."""

    @property
    def requested_bytes(self) -> int:
        """What blocks in use asked for."""

    @property
    def used_bytes(self) -> int:
        """What they were given, rounded up."""

    @property
    def pending_bytes(self) -> int:
        """Given back, but a stream's work may still use them."""

    @property
    def pinned_bytes(self) -> int:
        """Of all regions."""

    @property
    def peak_pinned_bytes(self) -> int: ...

    @property
    def allocate_seconds(self) -> float:
        """Pinning included."""

    @property
    def free_seconds(self) -> float: ...

    @property
    def pin_seconds(self) -> float: ...

    @property
    def unpin_seconds(self) -> float: ...

class PinnedPool:
    """Pinned memory for one device's copies."""

    def __init__(self, driver: Driver, device: int, *, most_bytes: int = 0) -> None:
        """most_bytes: pinned at a time; 0 is half of what the machine allows."""

    def trim(self, kept_bytes: int = 0) -> None:
        """Unpin regions that no block uses."""

    def stats(self) -> PinnedPoolStats: ...

    def contains(self, pointer: int, size_bytes: int) -> bool:
        """True if these bytes are pinned by this pool."""

    @property
    def device(self) -> int: ...

class PinnedBlock:
    """Page-locked bytes, given back to their pool when nothing uses them."""

    def __init__(self, pool: PinnedPool, size_bytes: int) -> None: ...

    @property
    def pointer(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def ptr(self) -> int:
        """As CuPy's PinnedMemoryPointer asks for it."""

    @property
    def size(self) -> int:
        """In bytes, as CuPy asks for it."""

    @property
    def __array_interface__(self) -> dict[str, object]: ...

    def __dlpack__(self, *, stream: object | None = None, max_version: object | None = None, dl_device: object | None = None, copy: object | None = None) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...

class PathCost:
    """What one way of copying would cost."""

    @property
    def path(self) -> str: ...

    @property
    def usable(self) -> bool: ...

    @property
    def seconds(self) -> float:
        """Predicted, if usable."""

    @property
    def reason(self) -> str:
        """Why not usable, or what the figure rests on."""

class CopyPlan:
    """How a copy would be made."""

    @property
    def path(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def target(self) -> str: ...

    @property
    def device(self) -> int: ...

    @property
    def costs(self) -> list[PathCost]:
        """Of every path, cheapest first."""

    @property
    def measured(self) -> bool: ...

    @property
    def profile(self) -> str: ...

class PathUse:
    """One path's use so far."""

    @property
    def path(self) -> str: ...

    @property
    def num_copies(self) -> int: ...

    @property
    def num_bytes(self) -> int: ...

    @property
    def seconds(self) -> float: ...

    @property
    def predicted_seconds(self) -> float: ...

class CopyFuture:
    """A copy under way."""

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """
        True once it is complete, false if the time was up first. Raises what it failed with.
        """

    def ready(self) -> bool:
        """True once wait() would not wait."""

def keep_forever(object: object) -> None:
    """
    Let an object live until the process ends, for a copy that may outlive the interpreter.
    """

class Transfers:
    """Copies between the memories of host and devices."""

    def __init__(self, windows: Windows, reader_of: object) -> None:
        """reader_of: called once with each type of array, tells how to read it."""

    def quick_copy(self, target: object | None, source: object | None, stream: object | None) -> bool:
        """
        Copy an everyday array. False, with nothing done, if it takes isthmus.arrays.
        """

    def quick_copy_async(self, target: object | None, source: object | None, stream: object | None, source_order: str) -> CopyFuture | None:
        """Begin to copy an everyday array; None if it takes isthmus.arrays."""

    def copy(self, target: int, source: int, size_bytes: int, *, stream: int = 0, target_kind: str = 'unknown', source_kind: str = 'unknown', path: str = '') -> None:
        """Copy bytes between addresses; complete on return."""

    def copy_async(self, target: int, source: int, size_bytes: int, *, stream: int = 0, target_kind: str = 'unknown', source_kind: str = 'unknown', path: str = '', source_order: str = 'call') -> CopyFuture:
        """Begin to copy bytes between addresses."""

    def copy_file(self, target: int, descriptor: int, offset_bytes: int, size_bytes: int, *, stream: int = 0) -> None:
        """Copy a part of an open file to device memory; complete on return."""

    def explain(self, target: int, source: int, size_bytes: int, *, stream: int = 0, target_kind: str = 'unknown', source_kind: str = 'unknown', path: str = '') -> CopyPlan:
        """Say how such a copy would be made."""

    def stats(self) -> list[PathUse]:
        """The use of every path."""

    def trim(self) -> None:
        """Close windows and unpin buffers that no copy uses."""

    def use_profile(self, json: str) -> None:
        """Use the costs in a profile's text."""
