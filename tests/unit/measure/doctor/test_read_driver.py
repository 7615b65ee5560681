from dataclasses import replace
from types import SimpleNamespace

import pytest

from isthmus.errors import DriverError, Unavailable, UsageError
from isthmus.measure.doctor.facts import DriverFailure, IommuGroup
from isthmus.measure.doctor.read_driver import OpenDriver, open_driver, read_gpu
from isthmus.measure.doctor.sources import Sources


def opened(sources: Sources, source: str = "") -> OpenDriver:
    driver = open_driver(sources, source)
    assert isinstance(driver, OpenDriver)
    return driver


def test_a_drivers_facts_are_its_own_and_nvmls(sources: Sources) -> None:
    facts = opened(sources).facts
    assert facts.version == 13000
    assert facts.release == "580.95.05"
    assert facts.num_devices == 1
    assert not facts.emulated


def test_the_release_is_unknown_where_nvml_fails(sources: Sources, nvml: SimpleNamespace) -> None:
    def refuse() -> None:
        raise RuntimeError("Driver/library version mismatch")

    nvml.nvmlInit = refuse
    assert opened(sources).facts.release is None


def test_an_emulated_driver_is_of_no_release(sources: Sources) -> None:
    facts = opened(sources, "emulated").facts
    assert facts.emulated
    assert facts.release is None


def test_a_missing_library_is_absent(sources: Sources, native: SimpleNamespace) -> None:
    native.real = Unavailable(
        capability="CUDA driver",
        reason="libcuda.so.1: cannot open shared object file: No such file or directory",
        needs="a driver",
    )
    failure = open_driver(sources, "")
    assert isinstance(failure, DriverFailure)
    assert failure.absent
    assert failure.needs == "a driver"


def test_a_library_that_is_no_good_is_not_absent(sources: Sources, native: SimpleNamespace) -> None:
    native.real = Unavailable(capability="CUDA driver", reason="x is a stub", needs="a driver")
    failure = open_driver(sources, "")
    assert failure == DriverFailure(reason="x is a stub", needs="a driver", absent=False)


def test_a_driver_that_will_not_start_is_a_failure_with_a_code(
    sources: Sources, native: SimpleNamespace
) -> None:
    native.real = DriverError("cuInit failed", code=999, code_name="X", symbol="cuInit")
    assert open_driver(sources, "") == DriverFailure(reason="cuInit failed", code=999)


def test_a_source_without_meaning_is_the_callers_mistake(
    sources: Sources, native: SimpleNamespace
) -> None:
    native.real = UsageError("unknown driver 'x'")
    with pytest.raises(UsageError):
        open_driver(sources, "x")


def test_a_gpu_is_read_with_its_place_and_its_link_under_load(
    sources: Sources, native: SimpleNamespace
) -> None:
    gpu = read_gpu(sources, opened(sources), 0)
    assert gpu.link.link.generation == 5
    assert gpu.link.link.read_under_load is True
    assert gpu.link_generation_of_gpu == 5
    assert gpu.numa_node == 1
    assert list(gpu.near_cpus) == [4, 5, 6, 7]
    assert gpu.iommu_group == IommuGroup(id=17, type="DMA")
    assert set(native.loads) == {("pinned", "h2d")}


def test_a_gpu_of_unknown_node_has_no_near_cpus(sources: Sources, native: SimpleNamespace) -> None:
    native.real.num_devices = 2
    gpu = read_gpu(sources, opened(sources), 1)
    assert gpu.numa_node is None
    assert list(gpu.near_cpus) == []
    assert gpu.iommu_group is None


@pytest.mark.parametrize(
    "error",
    [
        DriverError("out of memory", code=2, code_name="X", symbol="cuMemAlloc"),
        RuntimeError("mmap failed"),
    ],
)
def test_a_link_that_no_load_can_be_put_on_is_read_idle(
    sources: Sources, native: SimpleNamespace, error: Exception
) -> None:
    native.load_error = error
    link = read_gpu(sources, opened(sources), 0).link
    assert link.link.read_under_load is False
    assert any(str(error) in note for note in link.notes)


def test_a_load_that_breaks_off_leaves_a_link_read_idle(
    sources: Sources, native: SimpleNamespace
) -> None:
    def break_off(*_: object, **__: object) -> None:
        raise RuntimeError("the GPU has fallen off the bus")

    native.run_copy_load = break_off
    link = read_gpu(sources, opened(sources), 0).link
    assert link.link.read_under_load is False
    assert link.notes[-1] == "the link was read idle: the GPU has fallen off the bus"


def test_a_link_may_be_read_as_it_is(sources: Sources, native: SimpleNamespace) -> None:
    gpu = read_gpu(sources, opened(sources), 0, under_load=False)
    assert gpu.link.link.read_under_load is False
    assert native.loads == []


def test_c2c_is_told_by_an_nvml_that_knows_it(sources: Sources, nvml: SimpleNamespace) -> None:
    assert read_gpu(sources, opened(sources), 0).c2c is None
    nvml.nvmlDeviceGetC2cModeInfoV = lambda _gpu: SimpleNamespace(isC2cEnabled=1)
    assert read_gpu(sources, opened(sources), 0).c2c is True


def test_errors_of_the_link_are_read_before_and_after_its_load(
    sources: Sources, native: SimpleNamespace, nvml: SimpleNamespace
) -> None:
    device = sources.root / "sys/bus/pci/devices/0000:01:00.0"
    device.mkdir(parents=True)
    (device / "aer_dev_correctable").write_text("Bad TLP 7\nTOTAL_ERR_COR 7\n")
    nvml.replays = 40

    def copy(*_: object, **__: object) -> None:
        nvml.replays = 42

    native.run_copy_load = copy
    gpu = read_gpu(sources, opened(sources), 0)
    assert gpu.link_errors.replays == 42
    assert gpu.link_errors.aer["0000:01:00.0"].correctable == 7
    assert gpu.new_link_errors is not None
    assert gpu.new_link_errors.in_words == "2 replays"


def test_an_emulated_device_has_no_place_and_puts_no_load_on(
    sources: Sources, native: SimpleNamespace
) -> None:
    gpu = read_gpu(sources, opened(sources, "emulated"), 0)
    assert gpu.emulated
    assert gpu.numa_node is None
    assert gpu.link.link.generation is None
    assert native.loads == []


def test_nvml_is_imported_where_none_is_given(sources: Sources) -> None:
    # On a machine without a driver the real one fails, which costs this one fact.
    release = opened(replace(sources, nvml=None)).facts.release
    assert release is None or release[0].isdigit()
