"""What a run knows about the machine it ran on. `null` means: not known here."""

from isthmus.ground.spelling import counted
from isthmus.measure.run.record import Integer, Name, Record, SmallNumber


class Device(Record):
    """The GPU, or the emulated one."""

    ordinal: Integer
    """Its number among the devices of the driver."""
    name: Name
    uuid: Name
    pci_address: Name
    """Lower case, as in "0000:01:00.0"."""
    compute_capability: tuple[Integer, Integer]
    total_memory_bytes: Integer
    num_multiprocessors: Integer
    num_copy_engines: Integer
    l2_cache_bytes: Integer
    stream_memory_operations: bool
    """Whether streams can wait for a value in memory."""
    numa_node: Integer | None
    """The node of the host to which the device is attached."""


class Link(Record):
    """The PCIe link between host and device, as NVML reports it."""

    generation: SmallNumber | None
    generation_max: SmallNumber | None
    """The maximum of this device and its slot together."""
    width: SmallNumber | None
    """Lanes in use."""
    width_max: SmallNumber | None
    read_under_load: bool | None
    """Whether copies were running: an idle link trains down."""
    bar1_bytes: Integer | None
    """How much of the device's memory the CPU can map at once."""

    @property
    def below(self) -> dict[str, bool]:
        """Whether generation and width are below their maximum, as far as the numbers are known."""
        pairs = {
            "width": (self.width, self.width_max),
            "generation": (self.generation, self.generation_max),
        }
        known = {name: pair for name, pair in pairs.items() if None not in pair}
        return {name: (now or 0) < (most or 0) for name, (now, most) in known.items()}

    @property
    def is_downtrained(self) -> bool | None:
        """Whether it is below its maximum; None if no known number is, and one isn't known."""
        below = [self.below.get(name) for name in ("width", "generation")]
        return True if True in below else None if None in below else False


_MOST_ERRORS = 8


class LinkErrors(Record):
    """
    Errors on the PCIe link. `null`: this driver, kernel or virtual machine doesn't count them.

    Replays are NVML's; the others are AER messages of the GPU and of the port above it, together.
    """

    replays: Integer | None
    """How often packets were sent again."""
    correctable: Integer | None
    """Errors that the hardware corrected."""
    nonfatal: Integer | None
    """Errors that cost a transaction."""
    fatal: Integer | None
    """Errors that made the link unreliable."""

    @property
    def are_many(self) -> bool:
        """Whether so many packets were sent again that it is no chance: more than eight."""
        # From this number on, DCGM's health watch warns. It counts over a minute.
        # Source: NVIDIA DCGM 4, dcgmlib/dcgm_errors.h and its health tests.
        return any((count or 0) > _MOST_ERRORS for count in (self.replays, self.correctable))

    @property
    def in_words(self) -> str:
        """The errors, such as "3 replays, 2 correctable AER errors"; "" if there were none."""
        counts = {
            "replay": self.replays,
            "correctable AER error": self.correctable,
            "nonfatal AER error": self.nonfatal,
            "fatal AER error": self.fatal,
        }
        return ", ".join(counted(count, name) for name, count in counts.items() if count)


class GpuState(Record):
    """The GPU's clocks and the reasons for reduced ones, read under load."""

    performance_state: str | None
    """"P0" is the fastest."""
    sm_clock_hz: Integer | None
    memory_clock_hz: Integer | None
    throttle_reasons: list[str] | None
    """Empty if nothing reduces the clocks."""
    persistence_mode: bool | None


class Driver(Record):
    """The CUDA driver in use."""

    cuda_version: str
    """The CUDA version it implements: "13.0"."""
    driver_version: str | None
    """The version of its release: "580.159.04"."""
    path: str
    missing_symbols: list[str]
    """Optional functions that it lacks."""


class NumaNode(Record):
    """One node of the host: CPUs and the memory next to them."""

    node: Integer
    cpus: list[Integer]
    memory_bytes: Integer


class Host(Record):
    """The host's CPUs and memory."""

    cpu_model: str | None
    num_cpus: Integer
    """Logical CPUs that this process may use."""
    memory_bytes: Integer | None
    kernel: str
    transparent_huge_pages: str | None
    """"always", "madvise" or "never"."""
    numa_nodes: list[NumaNode]
    measured_on_node: Integer | None
    """The node to which the measuring thread and its memory were bound; null if not bound."""


class Software(Record):
    """Versions of the software that measured."""

    python: str
    nvrtc: str | None
    """Null if the kernels were not compiled at run time."""
    libraries: dict[str, str]


class WindowFacts(Record):
    """How windows, CPU mappings of the GPU's memory, were opened."""

    backend: str
    """"dmabuf", "gdrdrv" or "rm"."""
    instructions: str
    """The copy instructions: "avx512"."""


class Machine(Record):
    """Everything about the machine that the numbers depend on."""

    emulated: bool
    """True: the device is emulated, and every number is modelled, not measured."""
    profile: str | None
    """The emulated device's profile."""
    emulated_because: str | None
    """Why the emulated device was chosen by default; null if it was requested."""
    device: Device
    link: Link
    gpu_state: GpuState
    driver: Driver
    host: Host
    software: Software
    windows: WindowFacts | None = None
    """Null if none was measured, or there are none here."""
    link_errors: LinkErrors | None = None
    """Errors on the link while it was measured; null if the device is emulated."""
    notes: list[str]
    """What is not known, and why."""
