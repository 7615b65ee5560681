from dataclasses import replace

from isthmus.measure.doctor.check import Status
from isthmus.measure.doctor.check_driver import (
    check_driver,
    check_gpus_shown,
    check_no_driver,
    check_optional_symbols,
)
from isthmus.measure.doctor.facts import Driver, DriverFailure, NvidiaHardware

ABSENT = DriverFailure(
    reason="libcuda.so.1: cannot open shared object file: No such file or directory",
    needs="an NVIDIA driver for CUDA 12.2 or later (535 or newer)",
    absent=True,
)
NO_HARDWARE = NvidiaHardware()
ONE_GPU = NvidiaHardware(pci_addresses=["0000:ab:00.0"])
NODE_OF_CONTAINER = NvidiaHardware(pci_addresses=["0000:ab:00.0"], kernel_module="580.95.05")


def test_a_driver_that_opened_is_named_with_its_versions_and_its_path(driver: Driver) -> None:
    check = check_driver(driver)
    assert check.status == Status.OK
    assert check.finding == "CUDA 13.0 (driver 580.95.05), /usr/lib/libcuda.so.1"
    assert check.facts["cuda_version"] == "13.0"


def test_a_driver_without_nvml_is_named_without_its_release(driver: Driver) -> None:
    assert check_driver(replace(driver, release=None)).finding == "CUDA 13.0, /usr/lib/libcuda.so.1"


def test_the_emulated_driver_says_that_its_numbers_are_modelled(emulated_driver: Driver) -> None:
    check = check_driver(emulated_driver)
    assert check.status == Status.NOTE
    assert "modelled" in check.finding
    assert "small" in check.finding


def test_no_driver_on_a_machine_without_a_gpu_is_a_note() -> None:
    check = check_no_driver(ABSENT, NO_HARDWARE, container="")
    assert check.status == Status.NOTE
    assert check.finding == "no NVIDIA driver: the emulated driver is used"
    assert check.advice is not None
    assert "install" in check.advice


def test_no_driver_beside_a_gpu_is_a_problem() -> None:
    check = check_no_driver(ABSENT, ONE_GPU, container="")
    assert check.status == Status.PROBLEM
    assert check.finding == "1 NVIDIA GPU on the PCI bus, but no driver"
    assert check.advice is not None
    assert "install" in check.advice


def test_no_driver_library_in_a_container_is_the_containers_affair() -> None:
    check = check_no_driver(ABSENT, NODE_OF_CONTAINER, container="docker")
    assert check.status == Status.PROBLEM
    assert "kernel module 580.95.05 is loaded" in check.finding
    assert check.advice is not None
    assert "--gpus all" in check.advice


def test_a_kernel_module_without_a_library_lacks_a_package() -> None:
    check = check_no_driver(ABSENT, NODE_OF_CONTAINER, container="")
    assert check.advice is not None
    assert "libcuda1" in check.advice


def test_the_toolkits_stub_is_a_problem_even_without_a_gpu() -> None:
    stub = DriverFailure(
        reason="/usr/local/cuda/stubs/libcuda.so is the toolkit's stub, made for linking only",
        needs="an NVIDIA driver, and its library before the stub on the path",
    )
    check = check_no_driver(stub, NO_HARDWARE, container="")
    assert check.status == Status.PROBLEM
    assert "stub" in check.finding
    assert check.advice == "needs an NVIDIA driver, and its library before the stub on the path"


def test_a_driver_too_old_is_a_problem_that_names_what_it_needs() -> None:
    old = DriverFailure(reason="libcuda.so.1 implements CUDA 11.8", needs="CUDA 12.2 or later")
    check = check_no_driver(old, ONE_GPU, container="")
    assert (check.status, check.finding) == (Status.PROBLEM, "libcuda.so.1 implements CUDA 11.8")
    assert check.advice == "needs CUDA 12.2 or later"


def test_a_driver_that_will_not_start_gets_advice_for_its_code() -> None:
    failure = DriverFailure(reason="cuInit failed: (802)", code=802)
    check = check_no_driver(failure, ONE_GPU, container="docker")
    assert check.status == Status.PROBLEM
    assert check.advice is not None
    assert "fabric manager" in check.advice


def test_an_unheard_of_code_gets_the_general_advice() -> None:
    check = check_no_driver(DriverFailure(reason="cuInit failed", code=12345), ONE_GPU, "")
    assert check.advice is not None
    assert "install" in check.advice


def test_nothing_is_said_of_gpus_that_are_all_shown(driver: Driver) -> None:
    assert check_gpus_shown(driver, ONE_GPU) is None


def test_nothing_is_said_of_hidden_gpus_by_the_emulated_driver(emulated_driver: Driver) -> None:
    assert check_gpus_shown(replace(emulated_driver, num_devices=0), ONE_GPU) is None


def test_gpus_hidden_by_the_environment_are_a_note_that_names_the_variable(driver: Driver) -> None:
    two = NvidiaHardware(pci_addresses=["0000:01:00.0", "0000:ab:00.0"], visible_devices="1")
    check = check_gpus_shown(driver, two)
    assert check is not None
    assert check.status == Status.NOTE
    assert check.finding == "the driver shows 1 of 2 GPUs, CUDA_VISIBLE_DEVICES is '1'"
    assert check.advice == "unset CUDA_VISIBLE_DEVICES to see all"


def test_a_gpu_that_no_environment_hides_is_a_problem(driver: Driver) -> None:
    check = check_gpus_shown(replace(driver, num_devices=0), ONE_GPU)
    assert check is not None
    assert check.status == Status.PROBLEM
    assert check.finding == "the driver shows 0 of 1 GPU"


def test_a_container_with_some_of_the_gpus_is_a_note(driver: Driver) -> None:
    two = NvidiaHardware(pci_addresses=["0000:01:00.0", "0000:ab:00.0"])
    check = check_gpus_shown(driver, two)
    assert check is not None
    assert check.status == Status.NOTE


def test_a_driver_on_a_machine_without_a_gpu_is_a_note(driver: Driver) -> None:
    check = check_gpus_shown(replace(driver, num_devices=0), NO_HARDWARE)
    assert check is not None
    assert (check.status, check.finding) == (
        Status.NOTE,
        "the driver works, but there is no GPU",
    )


def test_missing_optional_symbols_are_listed(driver: Driver) -> None:
    assert check_optional_symbols(driver).status == Status.OK
    check = check_optional_symbols(replace(driver, missing_symbols=["cuStreamWaitValue32"]))
    assert check.status == Status.NOTE
    assert "cuStreamWaitValue32" in check.finding
    assert check.facts == {"missing": ["cuStreamWaitValue32"]}
