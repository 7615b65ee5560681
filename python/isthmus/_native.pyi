"""
The native core of Isthmus. Use the isthmus package; this module is its foundation.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy
import numpy.typing

import isthmus.move.arrays.accepted
import isthmus.move.arrays.array


class Driver:
    """A loaded CUDA driver, real or emulated."""

    @staticmethod
    def open(source: str = '') -> Driver:
        """
        Open "system", "emulated[:PROFILE]" or a path; "" means $ISTHMUS_DRIVER, or "system" if it isn't set.
        """

    @staticmethod
    def open_or_absent(source: str = '') -> Driver:
        """
        As open(); where there is no driver, or a parent process has it, stand for it: only the host's memory can be copied.
        """

    def require_devices(self) -> None:
        """Raise Unavailable, which says why, if there is no device."""

    @property
    def version(self) -> int:
        """1000 * major + 10 * minor of the CUDA version it implements."""

    @property
    def path(self) -> str:
        """The library file."""

    @property
    def emulated(self) -> bool:
        """True for the emulated driver: every number from it is modelled."""

    @property
    def profile(self) -> str:
        """The emulated driver's profile; "" for a real driver."""

    def missing_symbols(self) -> list[str]:
        """Optional driver functions that this driver lacks."""

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
        """Make the context current on this thread."""

    def __exit__(self, *exception: object) -> None:
        """Make the previous context current again."""

    def free_memory_bytes(self) -> int:
        """Free device memory, in bytes."""

    def synchronize(self) -> None:
        """Wait until all work of the device is complete, in every stream."""

class Kernels:
    """The project's kernels for one context, compiled on demand."""

    def __init__(self, context: Context, *, nvrtc: str | None = None, cache_folder: str = '') -> None:
        """
        nvrtc: path of libnvrtc, or None to search. cache_folder: "" for no cache.
        """

    @property
    def nvrtc_version(self) -> str:
        """"13.0"; "" on the emulated driver."""

    @property
    def cache_refusal(self) -> str:
        """
        Why compiled kernels aren't cached although they should be; "" if they are.
        """

def kernel_cache_folder() -> str:
    """
    The folder of compiled kernels: $XDG_CACHE_HOME/isthmus/kernels, or below $HOME/.cache; "" (no cache) for a user without a home directory.
    """

class DeviceMemory:
    """Device memory, freed when this object is destroyed."""

    def __init__(self, context: Context, size_bytes: int) -> None: ...

    @property
    def pointer(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    def write(self, data: object, offset: int = 0) -> None:
        """Copy to the device with the driver's copy."""

    def read(self, n: int | None = None, offset: int = 0) -> bytes:
        """Copy from the device with the driver's copy."""

    def free(self) -> None: ...

class Stream:
    """A stream that does not wait for the default stream."""

    def __init__(self, context: Context) -> None: ...

    @property
    def handle(self) -> int:
        """The CUstream, as an integer."""

def synchronize_stream(context: Context, handle: int) -> None:
    """
    Wait until all work now in a CUstream is complete. 1: the legacy default stream; 2: the per-thread default stream.
    """

def pointer_device(driver: Driver, pointer: int) -> int | None:
    """
    The device whose memory is at an address; None if CUDA doesn't know the address.
    """

def device_tensor(pointer: int, shape: Sequence[int], type_code: int, item_bits: int, device: int, owner: object) -> object:
    """
    Wrap device memory in a tensor with __dlpack__(), which keeps `owner` alive. Type codes are DLPack's. UsageError: no tensor can have that shape.
    """

def free_tensor(exported: object) -> None:
    """
    Take over what a DLPack capsule holds, and let go of it while other Python threads run. ValueError: the capsule isn't DLPack's, or its tensor was taken before.
    """

class NumaNode:
    """One NUMA node of the host: CPUs and their local memory."""

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
    """The reserved huge pages of one size."""

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
    """The samples of one quantity."""

    @property
    def metric(self) -> str: ...

    @property
    def seconds(self) -> list[float]:
        """For one copy, in the order of measurement."""

    @property
    def copies_per_sample(self) -> int: ...

    @property
    def stopped_by(self) -> str:
        """"noise", "time" or "max_samples"."""

class Measurement:
    """The results of one call of a measuring loop."""

    @property
    def samples(self) -> list[Samples]: ...

    @property
    def first_call_seconds(self) -> float: ...

    @property
    def waived(self) -> dict[str, str]:
        """Metric -> why it can't be measured here."""

    @property
    def host_pages_by_node(self) -> dict[int, int]:
        """
        NUMA node -> sampled pages of the host's memory; {} if the loop didn't check.
        """

    @property
    def source_pages_by_node(self) -> dict[int, int]:
        """The same of what a copy within the host reads."""

    @property
    def verified_on(self) -> str:
        """"device", "host", or "nobody" if Stopping.verify was False."""

class Stopping:
    """When to stop sampling."""

    def __init__(self, *, min_samples: int = 5, max_samples: int = 1000, max_seconds: float = 0.5, relative_iqr: float = 0.01, verify: bool = True) -> None: ...

class CopyBuffers:
    """One host buffer and one device buffer of the same size."""

    def __init__(self, context: Context, *, host_memory: str, size_bytes: int, numa_node: int | None = None, device_memory: str = 'device', contents: str = 'random', host_offset_bytes: int = 0, device_offset_bytes: int = 0) -> None: ...

    @property
    def host_pages_by_node(self) -> dict[int, int]:
        """NUMA node -> number of sampled pages; {} if the kernel can't tell."""

def run_copy_load(buffers: CopyBuffers, *, direction: str, seconds: float) -> None:
    """Keep the link busy for some seconds."""

MAX_MANAGED_BYTES: int = 536870912

class LoopMetric:
    """A metric of a measuring loop."""

    @property
    def name(self) -> str: ...

    @property
    def clock(self) -> str:
        """
        "device", "host", "either" by the loop's values, or "alone": the host's, and each sample is a time of its own.
        """

class MeasuringLoop:
    """A row of cpp/src/measure/table/loops.inc."""

    @property
    def name(self) -> str: ...

    @property
    def num_buffers(self) -> int:
        """Pairs of pinned buffers that it needs."""

    @property
    def gpus(self) -> str:
        """"none", "named", or "all": the others, too."""

    @property
    def windows(self) -> bool: ...

    @property
    def values(self) -> list[str]: ...

    @property
    def metrics(self) -> list[LoopMetric]: ...

def measuring_loops() -> list[MeasuringLoop]:
    """List the measuring loops, in order."""

class Bench:
    """A device on which loops measure, and what they share."""

    def __init__(self, context: Context) -> None: ...

    def measure(self, loop: str, values: Mapping[str, object], *, kernels: Kernels | None = None, buffers: Sequence[CopyBuffers] = (), gpus: Sequence[tuple[Context, Kernels | None, int | None]] = ()) -> Measurement:
        """
        Run a loop with its row's values. The GIL is released while it measures.
        """

    def check_windows(self) -> None:
        """Raise UsageError if a setting of windows is wrong; none is opened."""

    def describe_windows(self) -> tuple[str, str]:
        """The backend and the instructions that windows use here."""

    def take_notices(self) -> list[str]:
        """
        What the user should be told once, such as an untested driver; empties the list.
        """

class ProfileIdentity:
    """The machine that a profile belongs to."""

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
        """The driver's: 13000 is CUDA 13.0."""

    @property
    def driver_release(self) -> str:
        """"" if unknown."""

    @property
    def cpu_model(self) -> str:
        """"" if unknown."""

    @property
    def num_cores(self) -> float: ...

    @property
    def file(self) -> str:
        """The path of its profile; "" if profiles are off."""

    @property
    def file_name(self) -> str: ...

def profile_identity(driver: Driver, ordinal: int) -> ProfileIdentity:
    """Read the identity that a profile of a device must have."""

class CostProfile:
    """The costs that copies are planned with."""

    @property
    def measured(self) -> bool:
        """False: conservative defaults."""

    @property
    def source(self) -> str:
        """Where its figures come from, and why."""

    @property
    def ring_threads(self) -> tuple[int, int]:
        """For staged uploads and downloads; 0: as many as without a profile."""

    def seconds(self, *, path: str, direction: str, host_memory: str, size_bytes: int) -> float | None:
        """Predict the time of one copy; None if that path wasn't measured."""

def profile_in_use(driver: Driver, ordinal: int) -> CostProfile:
    """
    Load the costs for planning copies with a device: the stored profile, or defaults.
    """

def margin_of(path: str) -> float:
    """The factor on a path's predicted time when paths are compared."""

def parse_profile(text: str, identity: ProfileIdentity) -> CostProfile:
    """
    Read the text of a profile; UsageError if it doesn't match the machine.
    """

class Turns:
    """How often compared items are measured in turn."""

    def __init__(self, *, min_turns: int = 5, max_turns: int = 15, max_seconds: float = 0.1, turn_seconds: float = 0.0001, hopeless: float = 4.0) -> None: ...

class PathTimes:
    """The times of copies by one path."""

    @property
    def path(self) -> str: ...

    @property
    def seconds(self) -> list[float]:
        """For one copy, one figure per turn."""

    @property
    def absence(self) -> str:
        """Why this path isn't possible here; "" if it is."""

class RingTimes:
    """The times of staged copies with one number of threads."""

    @property
    def num_threads(self) -> int: ...

    @property
    def seconds(self) -> list[float]: ...

class PathBench:
    """Measures copies by each path."""

    def __init__(self, context: Context) -> None: ...

    def measure(self, buffers: CopyBuffers, *, paths: Sequence[str], direction: str, size_bytes: int, turns: Turns, pause_seconds: float = 0.0) -> list[PathTimes]:
        """
        Measure copies of one size by several paths in turn, each turn or copy after a pause.
        """

    def measure_ring(self, buffers: CopyBuffers, *, direction: str, size_bytes: int, turns: Turns) -> list[RingTimes]:
        """
        Measure staged copies with several numbers of threads; if only one is possible, it isn't timed.
        """

    def use_ring_threads(self, *, upload: int, download: int) -> None:
        """
        Set the numbers of threads for staged copies; 0: as many as without a profile.
        """

class PagingWorkload:
    """A workload with its memory on the host, to run on a device."""

    def __init__(self, context: Context, kernels: Kernels, workload: str, sizes: Mapping[str, int], seed: int) -> None:
        """Generates its input, and runs it on the host."""

    @property
    def memory_bytes(self) -> int:
        """Of all its arrays."""

    @property
    def uploaded_bytes(self) -> int:
        """That its program copies to the device."""

    def measure(self, *, way: str, unit_bytes: int, budget_bytes: int | None, stopping: Stopping) -> Measurement:
        """
        Sample the time of the whole program (metric "run"), and compare its results.
        """

class HeldMemory:
    """Keeps an array's memory in place for as long as this object lives."""

class OwnArray:
    """What the native module reads of a DeviceArray."""

    def __init__(self, pointer: int, shape: Sequence[int], example: object) -> None:
        """The example is a NumPy array with such items."""

    @property
    def type_code(self) -> int:
        """DLPack's number of the items' type; below 0 if it has none."""

class ArrayReader:
    """Reads arrays from any library."""

    def __init__(self, asked: object) -> None:
        """asked: an isthmus.move.arrays.reading.Answers."""

    def read(self, array: object, *, ordered: bool) -> isthmus.move.arrays.array.Array:
        """
        Find an array's memory, for writing. If ordered, the work in the result's `stream` must be complete before the memory is touched. UsageError: not an array.
        """

    def read_source(self, array: object) -> isthmus.move.arrays.array.Array:
        """
        Find an array's memory, for reading. The work in the result's `stream` must be complete before the memory is read. UsageError: not an array.
        """

    def pair(self, target: object, source: object, stream: object) -> tuple[isthmus.move.arrays.array.Array, isthmus.move.arrays.array.Array, int]:
        """
        Find the memory of both ends of a copy, and a stream for the copy that orders it after all work that uses either. UsageError: one of them isn't an array.
        """

class Window:
    """A CPU mapping of a range of GPU memory. See isthmus.window()."""

    def write(self, data: isthmus.move.arrays.accepted.BytesLike, offset: int = 0) -> None:
        """
        Copy bytes to the device and fence: a kernel or copy that is started afterwards reads them. `data` (anything with contiguous bytes) may be reused on return. Several threads may write different bytes at once. Raises UsageError, with nothing copied, if the range is not inside the window, if the window is closed, read-only or a parent process's, or if its memory was freed. The caller guarantees that `data` stays readable: a mapped file that has become shorter raises SIGBUS.
        """

    def post(self, data: isthmus.move.arrays.accepted.BytesLike, offset: int = 0) -> None:
        """
        Copy bytes to the device without a fence: they are not guaranteed to arrive until this thread's next fence() or write(). Threads and errors: as for write().
        """

    @staticmethod
    def fence() -> None:
        """Order this thread's posts, on all windows, before what it does next."""

    def read(self, n: int | None = None, offset: int = 0) -> bytes:
        """
        Copy n bytes from the device; None: all from the offset on. Complete on return, but not ordered with streams: first wait for the kernel that writes the bytes. Threads and errors: as for write().
        """

    def read_into(self, buffer: isthmus.move.arrays.accepted.BytesLike, offset: int = 0) -> None:
        """Like read(), into a writable, contiguous buffer."""

    def close(self) -> None:
        """
        Unmap, after long copies in other threads have finished. Closing twice is allowed.
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
        """The instructions that it copies with, such as "avx512"."""

    @property
    def is_open(self) -> bool:
        """False once it has been closed."""

    @property
    def is_alive(self) -> bool:
        """False once CUDA has freed the memory, and when the window is closed."""

class WindowBackendReport:
    """What one backend reported when it was tried."""

    def __repr__(self) -> str: ...

    @property
    def backend(self) -> str: ...

    @property
    def usable(self) -> bool: ...

    @property
    def reason(self) -> str:
        """Why it isn't usable; else a description: "driver 580.159.04, tested"."""

class WindowMemoryReport:
    """Whether windows can be opened on one kind of device memory."""

    def __repr__(self) -> str: ...

    @property
    def memory(self) -> str:
        """How it is allocated: "cudaMallocAsync"."""

    @property
    def usable(self) -> bool: ...

    @property
    def reason(self) -> str:
        """Why there are none; else how the memory is found."""

class WindowStep:
    """A step in making or closing mappings."""

    def __repr__(self) -> str: ...

    @property
    def count(self) -> int:
        """How often it was made."""

    @property
    def seconds(self) -> float:
        """The total time of all of these, by the CPU clock."""

class WindowCosts:
    """What the mappings behind windows have cost so far."""

    def __repr__(self) -> str: ...

    @property
    def pin(self) -> WindowStep:
        """
        Getting a reference to the memory: exporting it (dmabuf), PIN_BUFFER (gdrdrv), finding its object and duplicating or importing it (rm).
        """

    @property
    def map(self) -> WindowStep:
        """
        Mapping the memory: mmap, and before it the resource manager's mapping (rm).
        """

    @property
    def unmap(self) -> WindowStep:
        """Undoing `map`."""

    @property
    def unpin(self) -> WindowStep:
        """
        Releasing the reference. dmabuf never has this step: the mapping itself is the last reference.
        """

class Windows:
    """Opens windows on one driver's devices."""

    def __init__(self, driver: Driver, *, backend: str | None = None, bar1_limit_bytes: int | None = None) -> None:
        """None: use ISTHMUS_WINDOW and ISTHMUS_WINDOW_BAR1_MIB."""

    def open(self, pointer: int, size_bytes: int, *, owner: object | None, read_only: bool, num_threads: int, check: bool) -> Window:
        """Map device memory; the window keeps `owner` alive."""

    def backends(self, device: int) -> list[WindowBackendReport]:
        """Try the backends on one device."""

    def memory_kinds(self, device: int) -> list[WindowMemoryReport]:
        """
        Allocate a few MiB of each kind of device memory, and open a window on it.
        """

    def mapped_bytes(self, device: int) -> int:
        """Bytes of the device's BAR1 that windows map now."""

    def bar1_limit_bytes(self, device: int) -> int:
        """The most bytes of the device's BAR1 that windows may map at a time."""

    def take_notices(self) -> list[str]:
        """What the user should be told once; empties the list."""

    def costs(self) -> WindowCosts:
        """What the mappings behind all windows so far have cost."""

class PinnedPoolStats:
    """Counters of a pool: counts, bytes, seconds."""

    def __repr__(self) -> str: ...

    @property
    def num_allocations(self) -> int:
        """All allocations."""

    @property
    def num_from_cache(self) -> int:
        """Allocations that needed no pinning."""

    @property
    def num_pins(self) -> int:
        """Regions pinned."""

    @property
    def num_unpins(self) -> int:
        """Regions unpinned."""

    @property
    def requested_bytes(self) -> int:
        """Requested for blocks in use."""

    @property
    def used_bytes(self) -> int:
        """The size of blocks in use, rounded up."""

    @property
    def pending_bytes(self) -> int:
        """Freed, but work in a stream may still use them."""

    @property
    def pinned_bytes(self) -> int:
        """The size of all regions."""

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

    def __init__(self, driver: Driver, device: int, *, max_bytes: int = 0) -> None:
        """
        max_bytes: the most pinned at a time; 0: half of what the machine allows.
        """

    def trim(self, kept_bytes: int = 0) -> None:
        """Unpin regions that no block uses."""

    def stats(self) -> PinnedPoolStats: ...

    def contains(self, pointer: int, size_bytes: int) -> bool:
        """True if these bytes are in this pool's pinned memory."""

    def array(self, shape: object, dtype: object) -> numpy.typing.NDArray[Any] | None:
        """
        Make a NumPy array of undefined contents in C order, which keeps its block. None, with nothing allocated, unless the shape is an int or a tuple of ints, and the items are numbers or booleans.
        """

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
        """The address, for CuPy's PinnedMemoryPointer."""

    @property
    def size(self) -> int:
        """In bytes, for CuPy."""

    @property
    def __array_interface__(self) -> dict[str, object]: ...

    def __dlpack__(self, *, stream: object | None = None, max_version: object | None = None, dl_device: object | None = None, copy: object | None = None) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...

class Registration:
    """A caller's memory, pinned where it lies."""

    def __init__(self, context: Context, pointer: int, size_bytes: int, *, read_only: bool) -> None: ...

    def end(self) -> None:
        """
        Unpin it, after the devices' work with it. Does nothing the second time.
        """

class CopyFuture:
    """A copy in progress. What the copy needs is kept until it has ended."""

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """
        True once the copy has ended, False after the timeout. Raises the copy's error if it failed.
        """

    def ready(self) -> bool:
        """True once wait() would return or raise at once."""

    def cancel(self) -> bool:
        """Take back a copy that hasn't begun. False if it has; it goes on."""

    def cancelled(self) -> bool:
        """True if cancel() has taken it back."""

    def ordered(self) -> bool:
        """
        True if a stream orders the copy, so that delay() is possible, or it is complete.
        """

    def notify(self, function: object) -> None:
        """
        Have a function called by any thread, without arguments, once the copy has ended. Call this at most once.
        """

    def event(self) -> int:
        """
        The CUevent behind the copy, valid as long as this object; 0 if no event marks its end.
        """

    def delay(self, stream: int) -> None:
        """
        Make later work in a CUstream wait for the copy. Unavailable if a thread makes it.
        """

def end_copies(timeout_seconds: float) -> None:
    """
    Wait for copies in progress. Copies that take longer, or begin later, keep what they need until the process ends.
    """

def keep_forever(object: object) -> None:
    """
    Keep an object alive until the process ends, for a copy that may outlive the interpreter.
    """

class PathCost:
    """What one path would cost."""

    @property
    def path(self) -> str: ...

    @property
    def usable(self) -> bool: ...

    @property
    def seconds(self) -> float:
        """Predicted, if usable, of copies that follow each other."""

    @property
    def pause_seconds(self) -> float:
        """What a copy takes longer after a pause."""

    @property
    def reason(self) -> str:
        """Why it isn't usable, or what the figure is based on."""

class CopyPlan:
    """How a copy would be made."""

    @property
    def path(self) -> str:
        """If copies follow each other."""

    @property
    def path_after_pause(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def target(self) -> str: ...

    @property
    def device(self) -> int: ...

    @property
    def costs(self) -> list[PathCost]:
        """For every path, in the order in which they are preferred."""

    @property
    def measured(self) -> bool: ...

    @property
    def profile(self) -> str: ...

class PathShare:
    """How some of many copies would be made."""

    @property
    def path(self) -> str: ...

    @property
    def num_copies(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

    @property
    def seconds(self) -> float: ...

class PathUse:
    """How one path was used so far."""

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

class Transfers:
    """Copies between the memories of host and devices."""

    def __init__(self, windows: Windows, reader: ArrayReader) -> None: ...

    def copy_arrays(self, target: object, source: object, stream: object) -> tuple[isthmus.move.arrays.array.Array, isthmus.move.arrays.array.Array, int] | ArrayBatch | None:
        """
        Copy an array to another; returns None when it is done. If memory order or types differ, copies nothing and returns what ArrayReader.pair() returns. Of lists, tuples and mappings copies nothing either, and returns the arrays in them.
        """

    def copy_arrays_async(self, target: object, source: object, stream: object, source_order: str) -> CopyFuture | tuple[isthmus.move.arrays.array.Array, isthmus.move.arrays.array.Array, int] | ArrayBatch | None:
        """
        Begin to copy an array to another; otherwise like copy_arrays(). None: it is complete, because making it took less time than beginning it would.
        """

    def copy_batch(self, batch: ArrayBatch) -> None:
        """Make all copies; complete on return."""

    def explain_batch(self, batch: ArrayBatch) -> list[PathShare]:
        """Say how the copies would be made."""

    def read_arrays(self, target: object, source: object, stream: object) -> tuple[isthmus.move.arrays.array.Array, isthmus.move.arrays.array.Array, int] | ArrayBatch:
        """Read two arrays, or those in two structures; copies nothing."""

    def copy_batch_async(self, batch: ArrayBatch, *, source_order: str, follow_up: object | None) -> CopyFuture:
        """
        Begin all copies. `follow_up` as for copy_async(). Call this once for a batch.
        """

    def use_nvrtc(self, library: str) -> None:
        """Name the library that compiles kernels: its path."""

    def copy(self, target: int, source: int, size_bytes: int, *, stream: int = 0, target_kind: str = 'unknown', source_kind: str = 'unknown', path: str = '') -> None:
        """Copy bytes between addresses; complete on return."""

    def copy_async(self, target: int, source: int, size_bytes: int, *, needs: object | None, stream: int = 0, target_kind: str = 'unknown', source_kind: str = 'unknown', path: str = '', source_order: str = 'call', follow_up: object | None = None) -> CopyFuture:
        """
        Begin to copy bytes between addresses. `needs` is kept until the copy has ended. `follow_up` is called from any thread when the bytes have arrived; the future is ready after it.
        """

    def copy_strided(self, target: int, source: int, item_bytes: int, shape: tuple[int, ...], target_strides: tuple[int, ...], source_strides: tuple[int, ...], *, stream: int = 0, target_type: str = 'bytes', source_type: str = 'bytes', check_only: bool = False) -> None:
        """
        Copy items between two layouts, of which one is on a device; strides in bytes; complete on return. If the types differ, the device converts the items; then item_bytes isn't used. With `check_only` copies nothing, and raises what would be raised before the first byte is written.
        """

    def check_host_memory(self, memory: int, size_bytes: int, *, writes: bool) -> None:
        """Raise UsageError if the CPU can't touch all of it."""

    def wait_for_work(self, stream: int) -> None:
        """
        Return when the work that is now in a CUstream is complete. UsageError if it is being captured.
        """

    def copy_file(self, target: int, descriptor: int, offset_bytes: int, size_bytes: int, *, stream: int = 0) -> None:
        """Copy a part of an open file to device memory; complete on return."""

    def explain(self, target: int, source: int, size_bytes: int, *, stream: int = 0, target_kind: str = 'unknown', source_kind: str = 'unknown', path: str = '') -> CopyPlan:
        """Say how such a copy would be made."""

    def copy_blocks(self, target: object | None, source: object | None, target_index: object | None, source_index: object | None, block_bytes: object | None, stream: object | None, sms: int, priority: object | None, way: str = '') -> CopyFuture:
        """Begin to copy blocks."""

    def plan_blocks(self, target: object, source: object, target_index: object, source_index: object, block_bytes: object | None, stream: object | None, sms: int, priority: object, way: str = '') -> PreparedCopy:
        """Prepare a copy of blocks."""

    def plan_many(self, targets: object, sources: object) -> PreparedCopy:
        """Prepare the copies of two structures."""

    def copy_pieces(self, targets: object | None, sources: object | None, sizes: object | None, stream: object | None) -> CopyFuture:
        """Begin to copy between addresses in arrays."""

    def check_blocks(self) -> None:
        """
        Raise UsageError for an index outside its pool of which nobody was told.
        """

    def stats(self) -> list[PathUse]:
        """How every path was used."""

    def trim(self) -> None:
        """Close windows and unpin buffers that no copy uses."""

    def use_profile(self, json: str) -> None:
        """Use the costs in a profile's text."""

class ArrayBatch:
    """The arrays of two structures, in pairs, to be copied."""

    @property
    def unlike(self) -> list[tuple[int, isthmus.move.arrays.array.Array, isthmus.move.arrays.array.Array, int]]:
        """
        The pairs that can't be copied as they are: the pair's number, and what ArrayReader.pair() returns.
        """

    def path(self, pair: int) -> str:
        """Where a pair is: "model.layers.3.bias"."""

    def require_disjoint(self, unlike: list[tuple[int, int, int, bool, int]]) -> None:
        """
        Raise UsageError if a pair writes what another one reads or writes. `unlike` has the memory of pairs that weren't added: pair, first address, bytes, whether it is written, and the address of the bytes that it gets in the same order, or 0.
        """

    def touching(self, begin: int, end: int) -> list[tuple[int, int, int, bool, int]]:
        """
        The memory between two addresses of pairs that can be copied as they are, as require_disjoint() takes it.
        """

    def add(self, pair: int, target: int, source: int, size_bytes: int, stream: int, target_kind: str, source_kind: str, needs: object | None) -> None:
        """
        Add a copy of bytes that belongs to a pair. `needs` is kept until the copy has ended.
        """

class BlockWay:
    """How blocks or pieces are copied, and why."""

    @property
    def way(self) -> str:
        """
        "kernel"; "batch": the driver's copies in one call; "staged": as isthmus.copy copies many arrays.
        """

    @property
    def reason(self) -> str:
        """Why it is taken."""

    @property
    def num_copies(self) -> int:
        """Blocks of all layers, or pieces."""

    @property
    def size_bytes(self) -> int:
        """All of their bytes."""

    @property
    def sms(self) -> int:
        """The most multiprocessors that it uses; 0: none."""

    @property
    def seconds(self) -> float:
        """Predicted; 0: not predicted."""

    def __repr__(self) -> str: ...

class PreparedCopy:
    """A copy that was prepared."""

    def run(self, stream: object) -> CopyFuture:
        """Begin the copy."""

    def explain(self) -> BlockWay:
        """Say how it is made."""

def save_ranges(driver: Driver | None, descriptor: int, ranges: Sequence[tuple[int, int, int, str]], *, staging: object, piece_bytes: int, directly: bool) -> bool:
    """
    Write the bytes of arrays, one after the other, to an empty file that is open for writing. A range is an address, its bytes, a device (-1: the host) and a name for messages. `staging` has page-aligned memory, pinned if a device has ranges; one thread works for every two pieces that fit in it. True if the page cache was bypassed. OSError: the disk is full, or fails. UsageError: memory that can't be read. DriverError: the same, on a device.
    """

class PagedStats:
    """Counts of a paged array's units."""

    def __repr__(self) -> str: ...

    @property
    def unit_bytes(self) -> int:
        """
        The size of what is counted: without a budget, a unit of more than 4 KiB counts as several of 4 KiB.
        """

    @property
    def num_units(self) -> int:
        """All units."""

    @property
    def valid_units(self) -> int:
        """Held by the GPU now."""

    @property
    def dirty_units(self) -> int:
        """Stored to, and not written back yet."""

    @property
    def touched_pages(self) -> int:
        """Pages of 2 MiB with a valid unit."""

    @property
    def valid_ranges(self) -> int:
        """Runs of valid units, counted page by page."""

    @property
    def fetched_units(self) -> int:
        """Read from the host so far."""

    @property
    def overwritten_units(self) -> int:
        """Became valid without a fetch so far."""

    @property
    def written_units(self) -> int:
        """Written back so far."""

    @property
    def num_frames(self) -> int:
        """Units that the GPU has room for, of an array with a budget; else 0."""

    @property
    def in_place_units(self) -> int:
        """
        Found no free frame so far and were read and stored in place, once a launch each.
        """

    @property
    def evicted_units(self) -> int:
        """Lost their frames so far."""

    @property
    def hits(self) -> int:
        """
        Lanes that came to a valid unit, in kernels with ISTHMUS_PAGED_COUNTED.
        """

    @property
    def file_read_bytes(self) -> int:
        """Read from the file so far; 0 without one."""

    @property
    def file_written_bytes(self) -> int:
        """Written to the file so far; 0 without one."""

class PagedFile:
    """A part of a file that a paged array is made of."""

    def __init__(self, path: bytes, *, mapped: int, size_bytes: int, read_only: bool) -> None:
        """`mapped` is the address of a shared mapping of the file."""

    @property
    def offset_bytes(self) -> int:
        """Where the part begins in the file."""

    def load(self, memory: int) -> None:
        """
        Read all bytes to an address that is at `offset_bytes` modulo `block_bytes`, behind which as many bytes are free.
        """

    block_bytes: Final[int] = ...
    """What direct reads are aligned to."""

def kernel_header(name: str) -> str:
    """The text of a header for kernels, such as "isthmus/paged_array.cuh"."""

def is_of_shared_file(address: int) -> bool:
    """
    Whether memory is a shared mapping of a file, of shared memory or of a device; False if the kernel doesn't tell.
    """

class PagedMemory:
    """The host's side of a paged array."""

    def __init__(self, context: Context, kernels: Kernels, pointer: int, size_bytes: int, item_bytes: int, read_only: bool, unit_bytes: int, budget_bytes: int | None, owner: object, file: PagedFile | None) -> None:
        """Flushes when it is destroyed: `owner` keeps the memory until then."""

    @property
    def device_bytes(self) -> int:
        """Of device memory: the items and the maps."""

    def close(self) -> None:
        """
        Write back what was stored, and end the array when no other thread uses it. If that fails the array goes on.
        """

    def give_up(self) -> None:
        """End the array, and lose what was stored and not written back."""

    def settle(self, stream: int) -> int:
        """Give a kernel's argument: the address of its paged_map."""

    def prefetch(self, ranges: Sequence[tuple[int, int]], stream: int) -> None: ...

    def will_overwrite(self, ranges: Sequence[tuple[int, int]], stream: int) -> None: ...

    def flush(self, ranges: Sequence[tuple[int, int]], stream: int) -> None: ...

    def flush_and_wait(self, ranges: Sequence[tuple[int, int]]) -> None: ...

    def refresh(self, ranges: Sequence[tuple[int, int]], stream: int) -> None: ...

    def invalidate(self, ranges: Sequence[tuple[int, int]], discard: bool) -> None: ...

    def stats(self) -> PagedStats: ...

    def gather(self, indices: int, index_bytes: int, count: int, is_signed: bool, target: int, row_items: int) -> None: ...

    def scatter(self, indices: int, index_bytes: int, count: int, is_signed: bool, source: int) -> None: ...

    def write(self, first: int, count: int, source: int) -> None: ...

    def reduce(self, first: int, count: int, kind: int, operation: int) -> float | int: ...

class RowCacheStats:
    """Counts of a row cache, of calls that have ended."""

    def __repr__(self) -> str: ...

    @property
    def calls(self) -> int:
        """Calls of ensure and prefetch, replays included."""

    @property
    def keys(self) -> int:
        """Keys of all calls."""

    @property
    def hits(self) -> int:
        """Keys whose rows were there before their call."""

    @property
    def fetched(self) -> int:
        """Rows read from the table."""

    @property
    def evicted(self) -> int:
        """Rows that made room."""

    @property
    def written(self) -> int:
        """Rows written back to the table."""

    @property
    def without_room(self) -> int:
        """Keys of ensure that found no room."""

    @property
    def beyond_table(self) -> int:
        """Keys that are no rows of the table."""

class RowCache:
    """The host's side of a row cache."""

    def __init__(self, context: Context, kernels: Kernels, table: int, num_rows: int, row_bytes: int, read_only: bool, rows: int, keys: int, num_slots: int, has_clock: bool, write_back: bool, owner: object) -> None:
        """
        Flushes when it is destroyed: `owner` keeps the table and the device's arrays until then.
        """

    @property
    def device_bytes(self) -> int:
        """Of device memory: the maps."""

    def ensure(self, transfers: Transfers, keys: object | None, slots: object | None, stream: object | None) -> int:
        """Give keys their slots; without `slots`, prefetch. Give the CUstream."""

    def update(self, transfers: Transfers, slots: object | None, values: object | None, stream: object | None) -> None:
        """Mark slots as stored to, or store values to them."""

    def flush(self, stream: int) -> None:
        """Write back in a stream."""

    def flush_and_wait(self) -> None:
        """Write back; complete on return."""

    def stats(self) -> RowCacheStats: ...

    def check(self) -> None:
        """Raise UsageError for wrong keys of calls that have ended."""

    def close(self) -> None:
        """
        Write back what was stored, end the cache when no other thread uses it, and raise what check does.
        """

    def give_up(self) -> None:
        """End the cache, and lose what was stored and not written back."""

class MigrationPolicy:
    """
    What moves when the GPU accesses a page: the defaults of a kind, with options by name.
    """

    def __init__(self, kind: str) -> None: ...

    @property
    def kind(self) -> str: ...

    @property
    def overflow(self) -> str: ...

    @overflow.setter
    def overflow(self, arg: str, /) -> None: ...

    @property
    def single_gap(self) -> str: ...

    @single_gap.setter
    def single_gap(self, arg: str, /) -> None: ...

    @property
    def request(self) -> str: ...

    @request.setter
    def request(self, arg: str, /) -> None: ...

    @property
    def write(self) -> str: ...

    @write.setter
    def write(self, arg: str, /) -> None: ...

    @property
    def page_bytes(self) -> int: ...

    @page_bytes.setter
    def page_bytes(self, arg: int, /) -> None: ...

    @property
    def unit_bytes(self) -> int: ...

    @unit_bytes.setter
    def unit_bytes(self, arg: int, /) -> None: ...

    @property
    def line_bytes(self) -> int: ...

    @line_bytes.setter
    def line_bytes(self, arg: int, /) -> None: ...

    @property
    def merge(self) -> bool: ...

    @merge.setter
    def merge(self, arg: bool, /) -> None: ...

    @property
    def gap_bytes(self) -> int: ...

    @gap_bytes.setter
    def gap_bytes(self, arg: int, /) -> None: ...

    @property
    def max_ranges(self) -> int: ...

    @max_ranges.setter
    def max_ranges(self, arg: int, /) -> None: ...

    @property
    def tree_threshold_percent(self) -> int: ...

    @tree_threshold_percent.setter
    def tree_threshold_percent(self, arg: int, /) -> None: ...

    @property
    def grow_bytes(self) -> int: ...

    @grow_bytes.setter
    def grow_bytes(self, arg: int, /) -> None: ...

    @property
    def prefetch_bytes(self) -> int: ...

    @prefetch_bytes.setter
    def prefetch_bytes(self, arg: int, /) -> None: ...

    @property
    def counter_threshold(self) -> int: ...

    @counter_threshold.setter
    def counter_threshold(self, arg: int, /) -> None: ...

    @property
    def counter_bytes(self) -> int: ...

    @counter_bytes.setter
    def counter_bytes(self, arg: int, /) -> None: ...

    @property
    def max_unit_bytes(self) -> int: ...

    @max_unit_bytes.setter
    def max_unit_bytes(self, arg: int, /) -> None: ...

    def check(self) -> None:
        """Raise UsageError if the options are inconsistent."""

class PageTable:
    """What each GPU access finds, and which bytes it makes migrate."""

    def __init__(self, policy: MigrationPolicy) -> None: ...

    def request(self, address: int, length_bytes: int, is_write: bool = False) -> tuple[str, int, int, list[tuple[int, int]]]:
        """
        The outcome (hit, wait, migrate, remote), slot, epoch, and the (offset, length) to migrate.
        """

    def arrived(self, slot: int, epoch: int, transfer: tuple[int, int]) -> bool:
        """False if no bytes have become valid."""

    def cpu_request(self, page_number: int) -> int:
        """
        Give a page back to the CPU; returns the number of bytes that move back.
        """

    def make_resident(self, address: int, size_bytes: int) -> None: ...

    def slot_of(self, page_number: int) -> int: ...

    def state(self, slot: int) -> str:
        """cpu, partial or gpu."""

    def ranges(self, slot: int) -> list[tuple[int, int]]:
        """The valid ranges (offset, length), in order."""

    @property
    def valid_bytes(self) -> int: ...

    @property
    def resident_bytes(self) -> int:
        """Valid bytes, including those in transfer."""

class Eviction:
    """Which pages are evicted when the GPU's memory is full."""

    def __init__(self, table: PageTable, kind: str, limit_bytes: int, *, recency: str = 'migration') -> None: ...

    def started(self, slot: int, transfer: tuple[int, int]) -> None: ...

    def used(self, slot: int, offset_bytes: int) -> None: ...

    def left(self, slot: int) -> None: ...

    def make_room(self, kept_slot: int) -> list[tuple[int, tuple[int, int], int]]:
        """The evicted slot, its (offset, length), and the bytes that move back."""

    @property
    def fits(self) -> bool: ...

    @property
    def framed_bytes(self) -> int: ...

class OwnPolicy:
    """A policy of the user's."""

    @staticmethod
    def load(file: str) -> OwnPolicy:
        """Load a library, which runs its initialisers."""

    @staticmethod
    def of_class(name: str, chosen: object, make_hooks: object) -> OwnPolicy:
        """Use a class; `make_hooks(num_units)` gives the Hooks of a run."""

class SimParameter:
    """A parameter of a simulated machine."""

    @property
    def group(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def quantity(self) -> str: ...

    @property
    def meaning(self) -> str: ...

    @property
    def required(self) -> bool: ...

class SimMachine:
    """The simulated machine; by default that of Zhang 2019."""

    def __init__(self) -> None: ...

    def get(self, parameter: SimParameter) -> int: ...

    def set(self, parameter: SimParameter, value: int) -> None:
        """Raise UsageError for what is out of range."""

    def add_link_cost(self, size_bytes: int, busy_ps: int) -> None:
        """Points of a measured link, by ascending size."""

    @property
    def handling(self) -> str: ...

    @handling.setter
    def handling(self, arg: str, /) -> None: ...

    def check(self) -> None:
        """Raise UsageError for an impossible machine."""

def sim_parameters() -> list[SimParameter]: ...

def sim_parameter_groups() -> list[tuple[str, str]]: ...

class SimOptions:
    """Options beyond machine and policy."""

    def __init__(self) -> None: ...

    @property
    def chunk_bytes(self) -> int: ...

    @chunk_bytes.setter
    def chunk_bytes(self, arg: int, /) -> None: ...

    @property
    def count_downloads(self) -> bool: ...

    @count_downloads.setter
    def count_downloads(self, arg: bool, /) -> None: ...

    @property
    def l1_kept_between_launches(self) -> bool: ...

    @l1_kept_between_launches.setter
    def l1_kept_between_launches(self, arg: bool, /) -> None: ...

    @property
    def eviction_kind(self) -> str: ...

    @eviction_kind.setter
    def eviction_kind(self, arg: str, /) -> None: ...

    @property
    def eviction_recency(self) -> str: ...

    @eviction_recency.setter
    def eviction_recency(self, arg: str, /) -> None: ...

    @property
    def mode(self) -> str: ...

    @mode.setter
    def mode(self, arg: str, /) -> None: ...

    @property
    def buffer_scope(self) -> str: ...

    @buffer_scope.setter
    def buffer_scope(self, arg: str, /) -> None: ...

    @property
    def merged_waiters(self) -> str: ...

    @merged_waiters.setter
    def merged_waiters(self, arg: str, /) -> None: ...

    @property
    def local_memory(self) -> str: ...

    @local_memory.setter
    def local_memory(self, arg: str, /) -> None: ...

    @property
    def programmer_data(self) -> str: ...

    @programmer_data.setter
    def programmer_data(self, arg: str, /) -> None: ...

    @property
    def hints(self) -> str: ...

    @hints.setter
    def hints(self, arg: str, /) -> None: ...

    @property
    def cpu_requests(self) -> str: ...

    @cpu_requests.setter
    def cpu_requests(self, arg: str, /) -> None: ...

    @property
    def chunk_order(self) -> str: ...

    @chunk_order.setter
    def chunk_order(self, arg: str, /) -> None: ...

    @property
    def initially(self) -> str: ...

    @initially.setter
    def initially(self, arg: str, /) -> None: ...

class TraceRecording:
    """A trace in memory, for many concurrent runs."""

    def __init__(self, trace: TraceSource) -> None:
        """Read all of a trace."""

    @property
    def size_bytes(self) -> int:
        """The memory that it takes."""

    @property
    def digest(self) -> int:
        """
        Equal for traces that ask for the same; names and descriptions aren't in it.
        """

    def replay(self) -> TraceSource:
        """A new source, at the first block."""

def simulate(machine: SimMachine, policy: MigrationPolicy, options: SimOptions, trace: TraceSource, *, poll: object | None = None, timeline: SimTimeline | None = None, own: OwnPolicy | None = None) -> SimResult:
    """
    Run a trace from its first block. `poll` is called several times a second with the simulated picoseconds; if it returns False, the run ends with KeyboardInterrupt.
    """

class SimStalls:
    @property
    def issue_ps(self) -> int: ...

    @property
    def memory_ps(self) -> int: ...

    @property
    def translation_ps(self) -> int: ...

    @property
    def migration_ps(self) -> int: ...

    @property
    def barrier_ps(self) -> int: ...

class SimTraffic:
    @property
    def copied_to_gpu(self) -> int: ...

    @property
    def migrated_to_gpu(self) -> int: ...

    @property
    def remote_to_gpu(self) -> int: ...

    @property
    def copied_to_cpu(self) -> int: ...

    @property
    def returned_to_cpu(self) -> int: ...

    @property
    def evicted_to_cpu(self) -> int: ...

    @property
    def remote_to_cpu(self) -> int: ...

class SimTlbCounts:
    @property
    def accesses(self) -> int: ...

    @property
    def misses(self) -> int: ...

    @property
    def misses_or_absent(self) -> int: ...

    @property
    def accesses_after_l1(self) -> int: ...

    @property
    def misses_after_l1(self) -> int: ...

    @property
    def misses_or_absent_after_l1(self) -> int: ...

    @property
    def shared_accesses(self) -> int: ...

    @property
    def shared_misses(self) -> int: ...

class SimCacheCounts:
    @property
    def l1_hits(self) -> int: ...

    @property
    def l1_misses(self) -> int: ...

    @property
    def l2_hits(self) -> int: ...

    @property
    def l2_misses(self) -> int: ...

    @property
    def dram_reads(self) -> int: ...

    @property
    def dram_writes(self) -> int: ...

class SimUtilisation:
    @property
    def bin_ps(self) -> int: ...

    @property
    def to_gpu_ps(self) -> list[int]: ...

    @property
    def to_cpu_ps(self) -> list[int]: ...

class SimResult:
    """The results of a run. All of them are modelled."""

    @property
    def total_ps(self) -> int: ...

    @property
    def least_ps(self) -> int: ...

    @property
    def copy_ps(self) -> int: ...

    @property
    def kernel_ps(self) -> int: ...

    @property
    def launches(self) -> list[tuple[int, int]]:
        """For each launch (start_ps, end_ps)."""

    @property
    def stalls(self) -> SimStalls: ...

    @property
    def traffic(self) -> SimTraffic: ...

    @property
    def tlb(self) -> SimTlbCounts: ...

    @property
    def caches(self) -> SimCacheCounts: ...

    @property
    def migrations(self) -> int: ...

    @property
    def transfers(self) -> int: ...

    @property
    def waits(self) -> int: ...

    @property
    def buffer_waits(self) -> int: ...

    @property
    def fault_batches(self) -> int: ...

    @property
    def fault_blocks(self) -> int: ...

    @property
    def fault_pages(self) -> int: ...

    @property
    def advised_in_place(self) -> int: ...

    @property
    def advised_read_mostly(self) -> int: ...

    @property
    def advised_on_gpu(self) -> int: ...

    @property
    def evictions(self) -> int: ...

    @property
    def cpu_requests(self) -> int: ...

    @property
    def returned_steps(self) -> int: ...

    @property
    def returned_blocks(self) -> int: ...

    @property
    def returned_faults(self) -> int: ...

    @property
    def returned_pages(self) -> int: ...

    @property
    def touched_bytes(self) -> int: ...

    @property
    def accessed_bytes(self) -> int: ...

    @property
    def ranges_per_page(self) -> list[int]: ...

    @property
    def link_to_gpu_busy_ps(self) -> int: ...

    @property
    def link_to_cpu_busy_ps(self) -> int: ...

    @property
    def utilisation(self) -> SimUtilisation: ...

    @property
    def line_requests(self) -> int: ...

    @property
    def warp_instructions(self) -> int: ...

    @property
    def num_ctas(self) -> int: ...

    @property
    def events(self) -> int: ...

    @property
    def event_digest(self) -> int: ...

    @property
    def accessed_share(self) -> float: ...

class SimTimeline:
    """The events of a run, up to a number of rows."""

    def __init__(self, max_rows: int, *, begins: Sequence[int] = []) -> None:
        """`begins`: where parts of the address space begin, ascending."""

    @property
    def uses(self) -> list[list[int]]:
        """
        For what lies before the first part, then for each: the fields of `Use`.
        """

    @property
    def rows(self) -> list[tuple[str, int, int, int, int]]:
        """
        (kind, where, amount, start_ps, end_ps). `where` and `amount` are, for launch: its number and stream; cta: core and number; migration and eviction: address and bytes; to_gpu and to_cpu: 0 and bytes.
        """

    @property
    def samples(self) -> list[list[int]]:
        """
        A time in ps, then what was counted up to it: the fields of SimStalls and SimTraffic, migrations, evictions, line_requests.
        """

    @property
    def launches(self) -> list[list[int]]:
        """
        For each launch, what was counted for it: as `samples`, without the time.
        """

    @property
    def kernels(self) -> list[str]:
        """Names of the launches, by number."""

    @property
    def num_dropped(self) -> int: ...

class TraceAllocation:
    """Memory that a traced program allocated."""

    def __init__(self, name: str, address: int, size_bytes: int) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

class TraceHostStep:
    """What the host does between launches."""

    def __init__(self, kind: str, address: int, size_bytes: int, stream: int | None = None) -> None: ...

    @property
    def kind(self) -> str:
        """"upload", "upload_again", "download", "read" or "write"."""

    @property
    def address(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

    @property
    def stream(self) -> int | None:
        """Of a copy; None: it waits for all streams."""

class TraceLaunch:
    """One kernel of a traced program."""

    def __init__(self, name: str, *, num_ctas: int, warps_per_cta: int, threads_per_cta: int, max_ctas_per_sm: int, local_bytes_per_thread: int, before: Sequence[TraceHostStep], stream: int = 0) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def num_ctas(self) -> int: ...

    @property
    def warps_per_cta(self) -> int: ...

    @property
    def threads_per_cta(self) -> int: ...

    @property
    def max_ctas_per_sm(self) -> int:
        """0: not limited."""

    @property
    def local_bytes_per_thread(self) -> int: ...

    @property
    def before(self) -> list[TraceHostStep]:
        """Host steps before the launch."""

    @property
    def stream(self) -> int: ...

class TraceProgram:
    """What is known before any operation is read."""

    def __init__(self, name: str, *, description: str, synthetic: bool, allocations: Sequence[TraceAllocation], launches: Sequence[TraceLaunch], after: Sequence[TraceHostStep], thread_instructions: int) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def synthetic(self) -> bool: ...

    @property
    def allocations(self) -> list[TraceAllocation]: ...

    @property
    def launches(self) -> list[TraceLaunch]: ...

    @property
    def after(self) -> list[TraceHostStep]:
        """Host steps after the last launch."""

    @property
    def thread_instructions(self) -> int:
        """0: unknown."""

class TraceBlock:
    """
    Whole CTAs of one launch. The arrays are views: while one of them is alive, the trace can't advance.
    """

    @property
    def launch(self) -> int: ...

    @property
    def first_cta(self) -> int: ...

    @property
    def num_ctas(self) -> int: ...

    @property
    def op_begin(self) -> numpy.typing.NDArray[numpy.uint32]: ...

    @property
    def kinds(self) -> numpy.typing.NDArray[numpy.uint8]: ...

    @property
    def compute(self) -> numpy.typing.NDArray[numpy.uint32]: ...

    @property
    def line_begin(self) -> numpy.typing.NDArray[numpy.uint32]: ...

    @property
    def lines(self) -> numpy.typing.NDArray[numpy.uint64]: ...

class TraceSource:
    """A program's operations, block by block."""

    def __init__(self, label: str, program: TraceProgram, num_blocks: int, read_block: Callable[[int], object], *, mapping: object | None = None, descriptor: int = -1) -> None:
        """
        If `mapping` is a mapped file with this descriptor, blocks in it can be read again from the file.
        """

    @staticmethod
    def of_workload(name: str, seed: int = 0, sizes: Mapping[str, int] = {}) -> TraceSource:
        """
        A workload of the registry, with sizes that aren't the usual ones; UsageError for an unknown name or a size that isn't allowed.
        """

    @property
    def program(self) -> TraceProgram: ...

    def next(self) -> TraceBlock | None:
        """The next block; None at the end."""

    def rewind(self) -> None: ...

    def __iter__(self) -> TraceSource: ...

    def __next__(self) -> TraceBlock: ...

    @staticmethod
    def of_managed_read(size_bytes: int, num_cores: int, at_random: bool, num_reads: int) -> TraceSource:
        """
        All of some managed memory, read by one kernel after the other, as `isthmus bench --managed` reads it: in order, or its pages of 4 KiB in a random order.
        """

    @staticmethod
    def of_managed_write(size_bytes: int, num_cores: int) -> TraceSource:
        """
        All of some managed memory, written once by a kernel, then read by the CPU, as `isthmus bench --managed` does it.
        """

    @staticmethod
    def of_page_chase(num_pages: int, then_cpu: bool) -> TraceSource:
        """
        One thread that reads a word in pages 2 MiB apart; then perhaps the CPU.
        """

class ImportCounts:
    """The counters of an import."""

    @property
    def instructions(self) -> int: ...

    @property
    def thread_instructions(self) -> int: ...

    @property
    def memory_operations(self) -> int: ...

    @property
    def local_operations(self) -> int: ...

    @property
    def zero_loads(self) -> int: ...

    @property
    def texture_accesses(self) -> int: ...

    @property
    def constant_accesses(self) -> int: ...

    @property
    def bulk_copies(self) -> int: ...

    @property
    def copies_to_shared(self) -> int: ...

    @property
    def half_copies(self) -> int: ...

    @property
    def unplaced_generic(self) -> int: ...

    @property
    def unplaced_lanes(self) -> int: ...

    @property
    def unknown_accesses(self) -> int: ...

    @property
    def missing_ctas(self) -> int: ...

    @property
    def absent_lines(self) -> int: ...

    @property
    def unknown_gpus(self) -> int: ...

class TouchedLines:
    """Which memory a trace touches."""

    def __init__(self) -> None: ...

    def allocations(self, uploads: Sequence[TraceHostStep]) -> list[TraceAllocation]:
        """The allocations that the trace must have made."""

class AccelSimKernel:
    """An Accel-Sim trace of one kernel, in pieces."""

    def __init__(self, file: str, launch: int, touched: TouchedLines) -> None: ...

    def feed(self, text: object) -> int:
        """Read until a block is full; returns how many bytes were read."""

    def finish(self, *, missing_ctas_do_nothing: bool) -> None: ...

    @property
    def block_full(self) -> bool: ...

    def block(self) -> tuple[int, int, numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.uint8], numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.uint64]]:
        """
        First CTA, number of CTAs, and the arrays, which the next block overwrites.
        """

    def drop_block(self) -> None: ...

    @property
    def launch(self) -> TraceLaunch: ...

    @property
    def stream(self) -> int: ...

    @property
    def tracer_version(self) -> int: ...

    @property
    def counts(self) -> ImportCounts: ...

def watch_layout() -> dict[str, Any]:
    """
    Describe the file in which a watched process counts: its records (size; members with name,
    struct's format, number and offset), its tables (name, record, capacity, offset), where the
    events begin, and the names of kinds and classes. And the bytes up to which pageable uploads
    needn't wait for their stream, up to which downloads are small, and from which uploads are
    compared with those before them.
    """

class WorkloadSize:
    """A size of a workload's input that can be chosen."""

    @property
    def name(self) -> str: ...

    @property
    def meaning(self) -> str: ...

    @property
    def usual(self) -> int:
        """The value if none is chosen."""

    @property
    def in_bytes(self) -> bool:
        """True for a size in bytes; else it is a count."""

    @property
    def least(self) -> int: ...

    @property
    def most(self) -> int: ...

    @property
    def allowed(self) -> str:
        """The values that it can have, in words."""

class WorkloadInfo:
    """A program that the simulator can run."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def synthetic(self) -> str:
        """
        Which input is invented that the original reads from a file; "" if none.
        """

    @property
    def in_paper(self) -> bool:
        """
        True for the ten programs of Zhang 2019: it names seven; three are a guess.
        """

    @property
    def sizes(self) -> list[WorkloadSize]: ...

def workloads() -> list[WorkloadInfo]:
    """All workloads, those of Zhang 2019 first."""

def check_workload(name: str, sizes: Mapping[str, int]) -> None:
    """
    UsageError for an unknown name, or a size that isn't allowed; generates nothing.
    """
