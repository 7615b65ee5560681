"""Which file a command runs, and whether a library can be preloaded into it."""

import os
import shutil
import stat
import struct
from collections.abc import Mapping
from pathlib import Path

_ELF = b"\x7fELF"
_X86_64 = 62
_CLASS_64 = b"\x02"
_PT_INTERP = 3
_MOST_BYTES = 64 << 10


def find_program(name: str, environment: Mapping[str, str]) -> Path:
    """Find what a shell would run; FileNotFoundError or PermissionError if it would run nothing."""
    if "/" not in name:
        found = shutil.which(name, path=environment.get("PATH", os.defpath))
        if found is None:
            raise FileNotFoundError(2, "not found", name)
        return Path(found)
    mode = os.stat(name).st_mode  # noqa: PTH116 - any name
    if not stat.S_ISREG(mode) or not os.access(name, os.X_OK):
        raise PermissionError(13, "a folder" if stat.S_ISDIR(mode) else "not executable", name)
    return Path(name)


def why_not_watched(program: Path, *, depth: int = 4) -> str:
    """Say why no library can be preloaded into a program; "" if one can."""
    try:
        with program.open("rb") as file:
            head = file.read(_MOST_BYTES)
        facts = program.stat()
    except OSError as cause:
        # It may be executed without being readable; then nothing is known.
        return f"it can't be read: {cause.strerror}"
    if head.startswith(b"#!"):
        words = os.fsdecode(head[2:].split(b"\n", 1)[0]).split()
        return why_not_watched(Path(words[0]), depth=depth - 1) if words and depth else ""
    return _rights(program, facts) or _format(head)


def _rights(program: Path, facts: os.stat_result) -> str:
    """Name the rights that a program has beyond its user's: the linker then preloads nothing."""
    if facts.st_mode & stat.S_ISUID and facts.st_uid != os.geteuid():
        return "it is setuid"
    if facts.st_mode & stat.S_ISGID and facts.st_gid != os.getegid():
        return "it is setgid"
    try:
        has_capabilities = bool(os.getxattr(program, "security.capability"))
    except OSError:
        has_capabilities = False
    return "it has file capabilities" if has_capabilities and os.geteuid() else ""


def _format(head: bytes) -> str:
    # At the places of Elf64_Ehdr and Elf64_Phdr in elf.h.
    if not head.startswith(_ELF):
        return "it is neither an ELF file nor a script"
    if head[4:5] != _CLASS_64:
        return "it is a 32-bit program"
    try:
        (machine,) = struct.unpack_from("<H", head, 18)
        (table,) = struct.unpack_from("<Q", head, 32)
        size, number = struct.unpack_from("<HH", head, 54)
        interpreter = ""
        for index in range(number):
            kind, _, offset, _, _, length = struct.unpack_from(
                "<IIQQQQ", head, table + index * size
            )
            if kind == _PT_INTERP:
                interpreter = os.fsdecode(head[offset : offset + length].rstrip(b"\0"))
    except (struct.error, OverflowError):
        return "its ELF header is damaged"
    if machine != _X86_64:
        return "it isn't an x86-64 program"
    if not interpreter:
        return "it is linked statically"
    return "it uses musl's linker" if "ld-musl" in interpreter else ""
