"""A healthy machine: tests change one fact of it and look at one check."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from fakes.settling_links import links_that_settle_soon  # noqa: F401 - for all tests here
from isthmus.decide.profile.store import age_text, load_profile
from isthmus.errors import DriverError
from isthmus.measure.bench.choice import choose_device
from isthmus.measure.doctor.facts import Driver, Gpu, Host, HugePagePool, IommuGroup
from isthmus.measure.doctor.sources import Sources
from isthmus.measure.machine.link import LinkFacts
from isthmus.measure.machine.link_errors import AerCounts, LinkErrorCounts
from isthmus.measure.run.machine import GpuState, Link, LinkErrors

GIB = 1 << 30
CLEAN = AerCounts(correctable=0, nonfatal=0, fatal=0)


@pytest.fixture
def driver() -> Driver:
    return Driver(version=13000, path="/usr/lib/libcuda.so.1", release="580.95.05", num_devices=1)


@pytest.fixture
def emulated_driver() -> Driver:
    return Driver(version=13000, path="/x/libisthmus_emulator.so", profile="small", num_devices=1)


@pytest.fixture
def link() -> Link:
    return Link(
        generation=5,
        generation_max=5,
        width=16,
        width_max=16,
        read_under_load=True,
        bar1_bytes=128 * GIB,
    )


@pytest.fixture
def state() -> GpuState:
    return GpuState(
        performance_state="P0",
        sm_clock_hz=1_980_000_000,
        memory_clock_hz=2_619_000_000,
        throttle_reasons=[],
        persistence_mode=True,
    )


@pytest.fixture
def gpu(link: Link, state: GpuState) -> Gpu:
    return Gpu(
        ordinal=0,
        name="NVIDIA H100 80GB HBM3",
        uuid="GPU-11111111-2222-3333-4444-555555555555",
        pci_address="0000:ab:00.0",
        compute_capability=(9, 0),
        total_memory_bytes=80 * GIB,
        link=LinkFacts(link=link, state=state, driver_version="580.95.05"),
        link_generation_of_gpu=5,
        link_errors=LinkErrorCounts(replays=0, aer={"0000:ab:00.0": CLEAN, "0000:aa:01.0": CLEAN}),
        new_link_errors=LinkErrors(replays=0, correctable=0, nonfatal=0, fatal=0),
        c2c=False,
        numa_node=1,
        near_cpus=[4, 5, 6, 7],
        iommu_group=IommuGroup(id=17, type="identity"),
    )


@pytest.fixture
def host() -> Host:
    return Host(
        num_nodes=2,
        allowed_cpus=list(range(8)),
        quota_cores=None,
        effective_cores=8.0,
        copy_instructions=["sse4_1", "avx2", "avx512f", "movdir64b"],
        timer_overhead_ns=22.0,
        clock_source="tsc",
        total_bytes=64 * GIB,
        available_bytes=60 * GIB,
        cgroup_limit_bytes=None,
        memlock_bytes=None,
        transparent_huge_pages="madvise",
        huge_page_pools=[HugePagePool(page_bytes=2 << 20, num_pages=0, num_free_pages=0)],
        num_iommu_groups=40,
        virtual_machine=False,
        hypervisor="",
        system_vendor="Supermicro",
        product_name="SYS-821GE",
        container="",
    )


class FakeDevice:
    """What the native module's DeviceFacts tells."""

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.name = "NVIDIA H100 80GB HBM3"
        self.uuid = f"GPU-{ordinal}1111111-2222-3333-4444-555555555555"
        self.pci_address = f"0000:0{ordinal + 1}:00.0"
        self.compute_capability = (9, 0)
        self.total_memory_bytes = 80 * GIB


class FakeDriver:
    """What the native module's Driver tells."""

    def __init__(self, *, profile: str = "", num_devices: int = 1) -> None:
        self.version = 13000
        self.path = "/usr/lib/libcuda.so.1"
        self.profile = profile
        self.emulated = bool(profile)
        self.num_devices = num_devices
        self.lost: set[int] = set()

    def missing_symbols(self) -> list[str]:
        return []

    def device_count(self) -> int:
        return self.num_devices

    def device(self, ordinal: int) -> FakeDevice:
        if ordinal in self.lost:
            raise DriverError(
                "cuDeviceGetName failed", code=46, code_name="CUDA_ERROR", symbol="cuDeviceGetName"
            )
        return FakeDevice(ordinal)


class FakeWindows:
    """What the native module's Windows tells: GDRCopy's kernel module is there."""

    def __init__(self, driver: FakeDriver) -> None:
        self._driver = driver

    def backends(self, device: int) -> list[SimpleNamespace]:
        assert device < self._driver.num_devices
        return [
            SimpleNamespace(backend="dmabuf", usable=False, reason="needs CUDA 13.3"),
            SimpleNamespace(backend="gdrdrv", usable=True, reason="gdrdrv 2.6"),
            SimpleNamespace(backend="rm", usable=True, reason="driver 580.95.05, tested"),
        ]

    def memory_kinds(self, device: int) -> list[SimpleNamespace]:
        assert device < self._driver.num_devices
        return [
            SimpleNamespace(memory="cudaMalloc", usable=True, reason="found by its addresses"),
            SimpleNamespace(memory="cudaMallocAsync", usable=False, reason="it is a pool's"),
        ]

    def bar1_limit_bytes(self, device: int) -> int:
        return 64 * GIB * (device + 1)


def fake_native() -> SimpleNamespace:
    """Make the native module of a machine with two nodes; tests change its attributes."""
    native = SimpleNamespace(
        real=FakeDriver(), emulated=FakeDriver(profile="small"), loads=[], load_error=None
    )

    def open_driver(source: str = "") -> FakeDriver:
        found: FakeDriver | Exception
        found = native.emulated if source.startswith("emulated") else native.real
        if isinstance(found, Exception):
            raise found
        return found

    def allocate(context: object, *, host_memory: str, size_bytes: int) -> str:
        del context, size_bytes
        if native.load_error is not None:
            raise native.load_error
        return host_memory

    def load(buffers: str, *, direction: str, seconds: float) -> None:
        del seconds
        native.loads.append((buffers, direction))

    native.Driver = SimpleNamespace(open=open_driver)
    native.Context = lambda driver, ordinal: (driver, ordinal)
    native.CopyBuffers = allocate
    native.run_copy_load = load
    native.Windows = FakeWindows
    native.profile_identity = lambda _driver, _ordinal: SimpleNamespace(file="")
    native.profile_in_use = lambda _driver, _ordinal: SimpleNamespace(
        measured=False, source="defaults for PCIe Gen5 x16"
    )
    return native


def add_host_functions(native: SimpleNamespace) -> None:
    nodes = [
        SimpleNamespace(node=0, cpus=[0, 1, 2, 3], memory_bytes=32 * GIB),
        SimpleNamespace(node=1, cpus=[4, 5, 6, 7], memory_bytes=32 * GIB),
    ]
    limits = SimpleNamespace(
        total_bytes=64 * GIB,
        available_bytes=60 * GIB,
        cgroup_limit_bytes=None,
        memlock_bytes=8 << 20,
    )
    pool = SimpleNamespace(page_bytes=2 << 20, num_pages=4, num_free_pages=3)
    virtual = SimpleNamespace(
        virtual_machine=True,
        hypervisor="KVMKVMKVM",
        system_vendor="",
        product_name="",
        container="docker",
    )
    group = SimpleNamespace(id=17, type="DMA")
    native.numa_nodes = lambda: nodes
    native.pci_numa_node = {"0000:01:00.0": 1}.get
    native.num_iommu_groups = lambda: 40
    native.iommu_group = {"0000:01:00.0": group}.get
    native.allowed_cpus = lambda: list(range(8))
    native.cpu_quota_cores = lambda: None
    native.effective_cores = lambda: 8.0
    native.copy_instructions = lambda: ["avx2"]
    native.timer_overhead_ns = lambda: 22.0
    native.memory_limits = lambda: limits
    native.huge_pages = lambda: SimpleNamespace(transparent="madvise", pools=[pool])
    native.virtualization = lambda: virtual


@pytest.fixture
def native() -> SimpleNamespace:
    module = fake_native()
    add_host_functions(module)
    return module


@pytest.fixture
def nvml() -> SimpleNamespace:
    """The functions of pynvml that are asked about a link; what is missing, NVML doesn't know."""
    module = SimpleNamespace(generation=5, replays=0)
    module.nvmlInit = lambda: None
    module.nvmlShutdown = lambda: None
    module.nvmlSystemGetDriverVersion = lambda: b"580.95.05"
    module.nvmlDeviceGetHandleByPciBusId = lambda address: address
    module.nvmlDeviceGetCurrPcieLinkGeneration = lambda _gpu: module.generation
    module.nvmlDeviceGetMaxPcieLinkGeneration = lambda _gpu: 5
    module.nvmlDeviceGetGpuMaxPcieLinkGeneration = lambda _gpu: 5
    module.nvmlDeviceGetCurrPcieLinkWidth = lambda _gpu: 16
    module.nvmlDeviceGetMaxPcieLinkWidth = lambda _gpu: 16
    module.nvmlDeviceGetPcieReplayCounter = lambda _gpu: module.replays
    module.nvmlDeviceGetBAR1MemoryInfo = lambda _gpu: SimpleNamespace(bar1Total=128 * GIB)
    return module


@pytest.fixture
def sources(
    native: SimpleNamespace,
    nvml: SimpleNamespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Sources:
    monkeypatch.setattr("isthmus.measure.machine.link._SETTLE_SECONDS", 0.0)
    monkeypatch.delenv("ISTHMUS_DRIVER", raising=False)
    return Sources(
        native=native,
        choose_device=choose_device,
        nvml=nvml,
        root=tmp_path,
        environment={},
        find_nvrtc=lambda _major: None,
        profile_age=lambda path: age_text(load_profile(path)),
    )
