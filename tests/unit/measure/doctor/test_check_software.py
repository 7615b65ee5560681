from dataclasses import replace

from isthmus.measure.doctor.check import Status
from isthmus.measure.doctor.check_software import check_nvrtc
from isthmus.measure.doctor.facts import Driver, Gpu, Nvrtc

NVRTC = Nvrtc(path="/x/libnvrtc.so.13", version=(13, 0), architectures=[75, 80, 90, 100])


def test_an_nvrtc_that_fits_driver_and_gpu_is_ok(driver: Driver, gpu: Gpu) -> None:
    check = check_nvrtc(NVRTC, driver, [gpu])
    assert (check.status, check.finding) == (Status.OK, "13.0, /x/libnvrtc.so.13")


def test_no_nvrtc_is_a_note_with_the_extra_for_this_driver(driver: Driver, gpu: Gpu) -> None:
    check = check_nvrtc(None, driver, [gpu])
    assert check.status == Status.NOTE
    assert "`visible` is waived" in check.finding
    assert check.advice == 'pip install "isthmus[cuda13]"'
    older = check_nvrtc(None, replace(driver, version=12020), [gpu])
    assert older.advice == 'pip install "isthmus[cuda12]"'


def test_the_emulated_driver_needs_no_nvrtc(emulated_driver: Driver) -> None:
    for driver in (emulated_driver, None):
        check = check_nvrtc(None, driver, [])
        assert check.status == Status.NOTE
        assert "needs none" in check.finding


def test_an_nvrtc_newer_than_the_driver_is_a_problem(driver: Driver, gpu: Gpu) -> None:
    check = check_nvrtc(NVRTC, replace(driver, version=12080), [gpu])
    assert check.status == Status.PROBLEM
    assert "too new for a driver of CUDA 12.8" in check.finding
    assert check.advice is not None
    assert check.advice.startswith('pip install "isthmus[cuda12]"')


def test_an_nvrtc_older_than_the_driver_is_ok(driver: Driver, gpu: Gpu) -> None:
    assert check_nvrtc(replace(NVRTC, version=(12, 9)), driver, [gpu]).status == Status.OK


def test_the_driver_of_the_emulator_is_no_limit(emulated_driver: Driver) -> None:
    old = replace(emulated_driver, version=12020)
    assert check_nvrtc(NVRTC, old, []).status == Status.OK


def test_an_nvrtc_without_its_builtins_is_a_problem(driver: Driver, gpu: Gpu) -> None:
    broken = replace(NVRTC, compile_error="NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, code 7")
    check = check_nvrtc(broken, driver, [gpu])
    assert check.status == Status.PROBLEM
    assert "code 7" in check.finding
    assert check.advice is not None
    assert "libnvrtc-builtins" in check.advice


def test_an_nvrtc_that_dropped_this_gpu_is_a_problem(driver: Driver, gpu: Gpu) -> None:
    volta = replace(gpu, compute_capability=(7, 0))
    check = check_nvrtc(NVRTC, driver, [volta])
    assert check.status == Status.PROBLEM
    assert "no longer compiles for gpu 0" in check.finding
    assert check.advice == 'pip install "isthmus[cuda12]"'


def test_an_nvrtc_of_unknown_version_that_compiles_is_ok(driver: Driver, gpu: Gpu) -> None:
    check = check_nvrtc(replace(NVRTC, version=None, architectures=[]), driver, [gpu])
    assert check.status == Status.OK
    assert check.facts["version"] is None
