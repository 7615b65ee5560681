import os
import shutil
import sys
from pathlib import Path

import pytest

from fakes.watched_programs import compiled, needs_a_compiler
from isthmus.watching.executable import find_program, why_not_watched

RETURN_0 = "int main(void) { return 0; }"


@needs_a_compiler
def test_a_dynamic_program_can_be_watched(tmp_path: Path) -> None:
    assert why_not_watched(compiled(tmp_path / "a", RETURN_0)) == ""


@needs_a_compiler
def test_a_static_program_cant_be_watched(tmp_path: Path) -> None:
    program = compiled(tmp_path / "a", RETURN_0, ["-static"])
    assert why_not_watched(program) == "it is linked statically"


@needs_a_compiler
def test_a_program_of_another_c_library_cant_be_watched(tmp_path: Path) -> None:
    linker = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"
    program = compiled(tmp_path / "a", RETURN_0, [linker])
    assert why_not_watched(program) == "it uses musl's linker"


def changed(folder: Path, place: int, value: bytes) -> Path:
    path = folder / "changed"
    data = bytearray(Path(sys.executable).resolve().read_bytes()[: 64 << 10])
    data[place : place + len(value)] = value
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (4, b"\x01", "it is a 32-bit program"),
        (18, b"\xb7\0", "it isn't an x86-64 program"),
        (0, b"MZ", "it is neither an ELF file nor a script"),
        (32, b"\xff" * 8, "its ELF header is damaged"),
    ],
)
def test_other_machines_programs_cant_be_watched(
    tmp_path: Path, place: int, value: bytes, reason: str
) -> None:
    assert why_not_watched(changed(tmp_path, place, value)) == reason


def test_a_script_is_as_its_interpreter(tmp_path: Path) -> None:
    for interpreter, reason in ((sys.executable, ""), (changed(tmp_path, 4, b"\x01"), "32-bit")):
        script = tmp_path / "script"
        script.write_text(f"#! {interpreter} -u\n")
        assert reason in why_not_watched(script)
    script.write_text(f"#!{script}\n")
    assert why_not_watched(script) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a program to another user")
def test_a_program_with_more_rights_than_its_user_cant_be_watched(tmp_path: Path) -> None:
    program = tmp_path / "a"
    shutil.copy("/bin/true", program)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    assert why_not_watched(program) == "it is setuid"
    program.chmod(0o2755)
    assert why_not_watched(program) == "it is setgid"


def test_what_a_shell_would_run_is_found(tmp_path: Path) -> None:
    assert find_program("sh", os.environ).name == "sh"
    assert find_program("/bin/sh", {}) == Path("/bin/sh")
    with pytest.raises(FileNotFoundError):
        find_program("no-such-program", os.environ)
    with pytest.raises(FileNotFoundError):
        find_program(f"{tmp_path}/none", os.environ)
    with pytest.raises(PermissionError):
        find_program(str(tmp_path), os.environ)
    (tmp_path / "plain").touch()
    with pytest.raises(PermissionError):
        find_program(f"{tmp_path}/plain", os.environ)
