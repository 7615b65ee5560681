"""
Policies of users: libraries and classes in Python.

A path is code. Only what a user names is loaded; a setup that comes from a file or another process
holds a name, which says the contents, and is refused unless this process has loaded them.
"""

import hashlib
import inspect
import os
import struct
import sys
import threading
import uuid
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from isthmus.errors import UsageError
from isthmus.files.regular import open_regular
from isthmus.ground.extras import packages_for
from isthmus.ground.spelling import did_you_mean, raised, said, shortened, writable
from isthmus.sim.policy import Kind, Policy, default_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from isthmus import _native
    from isthmus.sim.settings import Setup

    Loaded = dict[str, object] | _native.OwnPolicy

_DIGITS = 12
_OF_PYTHON = ".py:"
_HINT = "docs/own-policies.md says how to write one"
_ELF_HEADER = struct.Struct("<4sB35xQ10xHH")
"""The mark, 2 for 64 bits, and where the sections' table begins; its entries' size and number."""
_lock = threading.RLock()
"""A file in Python may load others while it is loaded."""
_files: "dict[Path, tuple[str, Loaded | None]]" = {}
"""Files that were loaded: their digests, and a module's names or a library; none while it loads."""
_policies: "dict[str, type | _native.OwnPolicy]" = {}
"""By name with digest."""


def is_own(text: str) -> bool:
    """Whether a text names a policy of the user's: ./mine.so, or mine.py:Mine."""
    return "/" in text or text.endswith((".so", ".py")) or _OF_PYTHON in text


def policy_of(chosen: object) -> Policy:
    """Give a policy by its name, by a file, whose code is run, or by a class."""
    if isinstance(chosen, Policy):
        return chosen
    if isinstance(chosen, type):
        return _of_class(chosen)
    if not isinstance(chosen, str | Path):
        hint = "give the class, of which each run makes its object" * hasattr(chosen, "on_access")
        raise UsageError(f"{said(chosen)} is no policy: a name, a file or a class is", hint=hint)
    chosen = str(chosen)
    if not is_own(chosen):
        return default_policy(chosen)
    if chosen.endswith(".py"):
        raise UsageError(f"{chosen} names no class", hint=f"name one in it: {chosen}:CLASS")
    file, colon, name = chosen.rpartition(":") if _OF_PYTHON in chosen else (chosen, "", "")
    path = Path(file)
    with _lock:
        digest, loaded = _load(path, _names_in if colon else _library)
    if isinstance(loaded, dict):
        found = loaded.get(name)
        if not isinstance(found, type):
            classes = [key for key, value in loaded.items() if isinstance(value, type)]
            hint = did_you_mean(name, classes) or _HINT
            raise UsageError(f"{path} has no class '{shortened(name)}'", hint=hint)
        return _own(f"{path.name}:{name}", digest, found)
    return _own(path.name, digest, loaded)


def check_own(policy: Policy) -> None:
    """Refuse an own policy that nobody has loaded into this process."""
    if policy.kind is Kind.OWN and policy.own not in _policies:
        what = f"the policy {shortened(policy.own, most=80)} isn't loaded in this process"
        raise UsageError(f"{what}: a name loads no code", hint="name its file, as in -p ./mine.so")


def native_own(setup: "Setup") -> "_native.OwnPolicy | None":
    """Give the simulator's form of a setup's own policy; none for other kinds."""
    if setup.policy.kind is not Kind.OWN:
        return None
    found = _policies[setup.policy.own]
    if not isinstance(found, type):
        return found
    with packages_for("policies in Python", "pip install 'isthmus[sim]'"):
        from isthmus.sim.own_class import native_class

    return native_class(found, setup)


@cache
def _of_class(chosen: type) -> Policy:
    """Give a class's policy. Classes that a function makes share their name and their source."""
    digest = _digest_of_class(chosen)
    policy = _own(chosen.__qualname__, digest, chosen)
    if _policies[policy.own] is chosen:
        return policy
    return _own(chosen.__qualname__, _digest_of_nothing(), chosen)


def _own(name: str, digest: str, policy: "type | _native.OwnPolicy") -> Policy:
    if isinstance(policy, type) and not hasattr(policy, "on_access"):
        raise UsageError(f"{policy.__qualname__} is no policy: it has no on_access", hint=_HINT)
    label = f"{writable(name)}@{digest}"
    _policies.setdefault(label, policy)
    return Policy(kind=Kind.OWN, own=label)


def _load(path: Path, load: "Callable[[Path], Loaded]") -> "tuple[str, Loaded]":
    """Load a file once; a process can't load another one in its place."""
    try:
        with open_regular(path) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:_DIGITS]
            file.seek(0)
            is_whole = _holds_its_sections(file.read(_ELF_HEADER.size), os.fstat(file.fileno()))
    except OSError as cause:
        what = f"{shortened(str(path), most=80)}: {cause.strerror or cause}"
        raise UsageError(f"can't read the policy {what}", hint=_HINT) from cause
    if not is_whole:
        raise UsageError(f"{path} is truncated", hint="build it again")
    place = path.resolve()
    if place not in _files:
        _files[place] = digest, None
        try:
            _files[place] = digest, load(path)
        except BaseException:
            del _files[place]
            raise
    known, loaded = _files[place]
    if known != digest:
        raise UsageError(
            f"{path} has changed since this process has loaded it",
            hint="start a new process, or give the new one another name",
        )
    if loaded is None:
        raise UsageError(
            f"{path} uses its own policy while it is loaded: "
            "put what does so under `if __name__ == '__main__':`"
        )
    return digest, loaded


def _holds_its_sections(header: bytes, status: os.stat_result) -> bool:
    """Whether a library isn't cut off, which would end the process that loads it."""
    if len(header) < _ELF_HEADER.size:
        return True
    mark, bits, begin, size, count = _ELF_HEADER.unpack(header)
    return (mark, bits) != (b"\x7fELF", 2) or begin + size * count <= status.st_size


def _library(path: Path) -> "_native.OwnPolicy":
    from isthmus import _native

    return _native.OwnPolicy.load(str(path))


def _names_in(path: Path) -> dict[str, object]:
    """Run a file in Python."""
    name = f"isthmus_own_policy_{len(_files)}"
    module = sys.modules[name] = ModuleType(name)
    module.__file__ = str(path)
    try:
        exec(compile(path.read_bytes(), path, "exec"), vars(module))  # noqa: S102 - what -p asks for
    except BaseException as cause:
        del sys.modules[name]
        if isinstance(cause, KeyboardInterrupt):
            raise
        raise UsageError(f"{path} can't be loaded: {raised(cause)}", hint=_HINT) from cause
    return vars(module)


def _digest_of_class(chosen: type) -> str:
    """Digest the file of a class; a class without a source is like no other."""
    try:
        file = Path(inspect.getsourcefile(chosen) or "")
        source = file.read_bytes() if file.is_file() else inspect.getsource(chosen).encode()
    except (OSError, TypeError):
        return _digest_of_nothing()
    return hashlib.sha256(source).hexdigest()[:_DIGITS]


def _digest_of_nothing() -> str:
    return uuid.uuid4().hex[:_DIGITS]
