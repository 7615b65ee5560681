from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from isthmus.errors import DriverError, NoDevice, Unavailable, UsageError
from isthmus.measure.bench.choice import choose_device


@dataclass
class FakeDevice:
    ordinal: int
    uuid: str
    pci_address: str
    name: str = "Test GPU"


@dataclass
class FakeDriver:
    source: str
    devices: list[FakeDevice] = field(default_factory=list)

    def device_count(self) -> int:
        return len(self.devices)

    def device(self, ordinal: int) -> FakeDevice:
        return self.devices[ordinal]


TWO = [
    FakeDevice(0, "GPU-aaaa0000-1111-2222-3333-444444444444", "0000:01:00.0"),
    FakeDevice(1, "GPU-aaaa9999-1111-2222-3333-444444444444", "0000:c1:00.0"),
]


ABSENT = "libcuda.so.1: cannot open shared object file: No such file or directory"


def opener(devices: list[FakeDevice]) -> Callable[[str], FakeDriver]:
    return lambda source: FakeDriver(source, devices)


def no_driver(source: str) -> FakeDriver:
    if source.startswith("emulated"):
        return FakeDriver(source, TWO[:1])
    raise Unavailable(capability="CUDA driver", reason=ABSENT, needs="a driver")


def dead_driver(source: str) -> FakeDriver:
    if source.startswith("emulated"):
        return FakeDriver(source, TWO[:1])
    raise DriverError("cuInit", code=100, code_name="CUDA_ERROR_NO_DEVICE", symbol="cuInit")


@pytest.mark.parametrize(
    ("wanted", "ordinal"),
    [
        ("0", 0),
        ("1", 1),
        ("GPU-aaaa9999-1111-2222-3333-444444444444", 1),
        ("gpu-AAAA9", 1),
        ("0000:c1:00.0", 1),
        ("00000000:C1:00.0", 1),
        ("c1:00.0", 1),
        (None, 0),
    ],
)
def test_a_device_is_found_by_number_uuid_or_pci_address(wanted: str | None, ordinal: int) -> None:
    choice = choose_device(wanted, opener(TWO))
    assert (choice.ordinal, choice.driver.source, choice.emulated_because) == (ordinal, "", None)


@pytest.mark.parametrize("wanted", ["2", "GPU-bbbb", "0001:01:00.0", "02:00.0"])
def test_a_device_that_is_not_there_is_answered_with_those_that_are(wanted: str) -> None:
    with pytest.raises(NoDevice, match=f"no device '{wanted}'") as caught:
        choose_device(wanted, opener(TWO))
    for device in TWO:
        assert device.uuid in caught.value.hint
        assert device.pci_address in caught.value.hint


def test_the_beginning_of_a_uuid_that_fits_two_devices_is_refused() -> None:
    with pytest.raises(NoDevice, match="more than one device fits 'GPU-aaaa'"):
        choose_device("GPU-aaaa", opener(TWO))


@pytest.mark.parametrize("wanted", ["", "-1", "gpu0", "cuda:0", "0000:01:00", "1.0", "emulatedx"])
def test_what_names_no_device_is_a_usage_error_that_lists_the_forms(wanted: str) -> None:
    with pytest.raises(UsageError, match=f"'{wanted}' is not a device") as caught:
        choose_device(wanted, opener(TWO))
    assert "emulated:PROFILE" in caught.value.hint


@pytest.mark.parametrize("wanted", ["emulated", "emulated:h100"])
def test_the_emulated_device_is_opened_as_it_was_asked_for(wanted: str) -> None:
    choice = choose_device(wanted, no_driver)
    assert (choice.driver.source, choice.emulated_because) == (wanted, None)


@pytest.mark.parametrize(
    ("open_driver", "reason"),
    [
        (no_driver, ABSENT),
        (dead_driver, "CUDA_ERROR_NO_DEVICE"),
        (lambda source: FakeDriver(source, TWO if source else []), "no device"),
    ],
)
def test_without_a_gpu_the_emulated_device_is_taken_and_says_why(
    open_driver: Callable[[str], FakeDriver], reason: str
) -> None:
    choice = choose_device(None, open_driver)
    assert choice.driver.source == "emulated"
    assert choice.emulated_because is not None
    assert reason in choice.emulated_because


@pytest.mark.parametrize("open_driver", [no_driver, dead_driver, opener([])])
@pytest.mark.parametrize("wanted", ["0", "GPU-aaaa", "01:00.0"])
def test_a_gpu_that_was_asked_for_is_never_replaced_by_an_emulated_one(
    wanted: str, open_driver: Callable[[str], FakeDriver]
) -> None:
    with pytest.raises(NoDevice) as caught:
        choose_device(wanted, open_driver)
    assert "--device emulated" in caught.value.hint


def test_a_driver_named_in_the_environment_is_not_replaced_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ISTHMUS_DRIVER", "/opt/libcuda.so.1")
    with pytest.raises(NoDevice, match=r"ISTHMUS_DRIVER=/opt/libcuda\.so\.1"):
        choose_device(None, no_driver)


def broken(error: Exception) -> Callable[[str], FakeDriver]:
    def open_driver(source: str) -> FakeDriver:
        if source.startswith("emulated"):
            return FakeDriver(source, TWO[:1])
        raise error

    return open_driver


def unavailable(reason: str) -> Unavailable:
    return Unavailable(capability="CUDA driver", reason=reason, needs="a driver")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (unavailable("/usr/lib/libcuda.so.1 implements CUDA 11.8"), "CUDA 11.8"),
        (unavailable("/stubs/libcuda.so.1 is the toolkit's stub"), "stub"),
        (unavailable("libcuda.so.1: file too short"), "too short"),
        (
            unavailable("libnvidia-x.so.1: cannot open shared object file: No such file"),
            "libnvidia-x",
        ),
        (
            unavailable("libcuda.so.1: cannot open shared object file: Permission denied"),
            "Permission",
        ),
        (
            DriverError("no", code=999, code_name="CUDA_ERROR_UNKNOWN", symbol="cuInit"),
            r"cuInit failed with CUDA_ERROR_UNKNOWN \(999\)",
        ),
    ],
)
def test_a_driver_that_is_there_but_broken_is_never_replaced_by_the_emulated_one(
    error: Exception, reason: str
) -> None:
    with pytest.raises(NoDevice, match=reason) as caught:
        choose_device(None, broken(error))
    assert "isthmus doctor" in caught.value.hint
    assert "--device emulated" in caught.value.hint


def test_an_emulated_driver_without_a_device_or_too_old_has_no_device() -> None:
    with pytest.raises(NoDevice, match="no device 'emulated:no-gpu'"):
        choose_device("emulated:no-gpu", opener([]))

    def too_old(source: str) -> FakeDriver:
        raise unavailable(f"{source} implements CUDA 11.8")

    with pytest.raises(NoDevice, match=r"CUDA 11\.8"):
        choose_device("emulated:old-driver", too_old)


def test_a_number_of_thousands_of_digits_is_a_usage_error_and_cut_short() -> None:
    with pytest.raises(UsageError, match=r"'9{40}\.\.\. \(5000 characters\)' is not a device"):
        choose_device("9" * 5000, opener(TWO))
