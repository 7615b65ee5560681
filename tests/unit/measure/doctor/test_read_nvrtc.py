import ctypes
from pathlib import Path
from types import SimpleNamespace
from typing import Protocol

import pytest

from isthmus.ground.extras import find_nvrtc
from isthmus.measure.doctor.read_software import read_nvrtc


class DescribedBy:
    """nvrtcGetErrorString, whose result type is set before it is called."""

    restype: type | None = None

    def __init__(self, text: bytes | None) -> None:
        self._text = text

    def __call__(self, code: int) -> bytes | None:
        assert self.restype is ctypes.c_char_p
        del code
        return self._text


class IntPointer(Protocol):
    """What ctypes.pointer gives for an int."""

    contents: ctypes.c_int


def fake_nvrtc(**codes: int) -> SimpleNamespace:
    """Make libnvrtc as ctypes shows it, with the codes that its functions return."""
    library = SimpleNamespace(num_destroyed=0)

    def version(major: IntPointer, minor: IntPointer) -> int:
        major.contents.value, minor.contents.value = 13, 0
        return codes.get("version", 0)

    def num_architectures(count: IntPointer) -> int:
        count.contents.value = 2
        return codes.get("num_archs", 0)

    def architectures(known: ctypes.Array[ctypes.c_int]) -> int:
        known[:] = [75, 90]
        return codes.get("archs", 0)

    def destroy(_program: object) -> None:
        library.num_destroyed += 1

    library.nvrtcVersion = version
    library.nvrtcGetNumSupportedArchs = num_architectures
    library.nvrtcGetSupportedArchs = architectures
    library.nvrtcCreateProgram = lambda *_arguments: codes.get("create", 0)
    library.nvrtcCompileProgram = lambda *_arguments: codes.get("compile", 0)
    library.nvrtcDestroyProgram = destroy
    library.nvrtcGetErrorString = DescribedBy(b"NVRTC_ERROR_BUILTIN_OPERATION_FAILURE")
    return library


def test_no_nvrtc_is_nothing() -> None:
    assert read_nvrtc(lambda: None) is None


def test_an_nvrtc_that_works_is_told_with_what_it_compiles_for() -> None:
    library = fake_nvrtc()
    nvrtc = read_nvrtc(lambda: "/x/libnvrtc.so.13", lambda _path: library)
    assert nvrtc is not None
    assert nvrtc.version == (13, 0)
    assert nvrtc.architectures == [75, 90]
    assert nvrtc.compile_error is None
    assert library.num_destroyed == 1


def test_the_builtins_beside_it_are_opened_before_it(tmp_path: Path) -> None:
    (tmp_path / "libnvrtc-builtins.so.13.0").touch()
    order: list[str] = []

    def load(path: str) -> SimpleNamespace:
        order.append(Path(path).name)
        return fake_nvrtc()

    read_nvrtc(lambda: str(tmp_path / "libnvrtc.so.13"), load)
    assert order == ["libnvrtc-builtins.so.13.0", "libnvrtc.so.13"]


def test_a_kernel_that_does_not_compile_is_told_with_the_code() -> None:
    library = fake_nvrtc(compile=7)
    nvrtc = read_nvrtc(lambda: "/x/libnvrtc.so.13", lambda _path: library)
    assert nvrtc is not None
    assert nvrtc.compile_error == "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, code 7"
    assert library.num_destroyed == 1


def test_a_program_that_was_not_made_is_not_destroyed() -> None:
    library = fake_nvrtc(create=1)
    library.nvrtcGetErrorString = DescribedBy(None)
    nvrtc = read_nvrtc(lambda: "/x/libnvrtc.so.13", lambda _path: library)
    assert nvrtc is not None
    assert nvrtc.compile_error == "NVRTC error, code 1"
    assert library.num_destroyed == 0


@pytest.mark.parametrize("failing", ["num_archs", "archs"])
def test_an_nvrtc_that_hides_its_architectures_has_none_known(failing: str) -> None:
    nvrtc = read_nvrtc(lambda: "/x/libnvrtc.so.13", lambda _path: fake_nvrtc(**{failing: 1}))
    assert nvrtc is not None
    assert nvrtc.architectures == []


def test_an_nvrtc_that_hides_its_version_has_none() -> None:
    nvrtc = read_nvrtc(lambda: "/x/libnvrtc.so.13", lambda _path: fake_nvrtc(version=1))
    assert nvrtc is not None
    assert nvrtc.version is None


def test_a_library_that_does_not_load_is_told_with_the_reason() -> None:
    def load(path: str) -> SimpleNamespace:
        raise OSError(f"{path}: file too short")

    nvrtc = read_nvrtc(lambda: "/x/libnvrtc.so.13", load)
    assert nvrtc is not None
    assert nvrtc.compile_error == "/x/libnvrtc.so.13: file too short"


def test_a_library_that_lacks_a_function_is_told_with_the_reason() -> None:
    nvrtc = read_nvrtc(lambda: "/x/libnvrtc.so.13", lambda _path: object())
    assert nvrtc is not None
    assert nvrtc.compile_error is not None
    assert "nvrtcVersion" in nvrtc.compile_error


def test_the_nvrtc_that_is_installed_compiles() -> None:
    nvrtc = read_nvrtc(find_nvrtc)
    if nvrtc is None:
        pytest.skip("no NVRTC here")
    assert nvrtc.version is not None
    assert nvrtc.compile_error is None
    assert 90 in nvrtc.architectures
