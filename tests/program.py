"""How tests name what they are given: the program, what it left behind, golden files."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

# Finds no GPU on any machine: with a driver there are no visible devices, elsewhere no driver.
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}
EMULATED = {"ISTHMUS_DRIVER": "emulated"}
# By the names that new and older PyTorch know.
EXPANDABLE_SEGMENTS = {
    "PYTORCH_ALLOC_CONF": "expandable_segments:True",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
}
PROGRAM = [sys.executable, "-m", "isthmus"]


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


def libcuda_replaced(folder: Path) -> dict[str, str]:
    """
    Give what lets programs load the emulated driver as libcuda.so.1, whoever loads it in them.

    The dynamic linker reads it when a process starts: it is for processes of their own.
    """
    from isthmus import _native

    (folder / "libcuda.so.1").symlink_to(_native.Driver.open("emulated").path)
    return {"LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")}


def run_process(
    command: Sequence[str],
    environment: Mapping[str, str] = MappingProxyType({}),
    *,
    max_seconds: float = 60,
    cwd: Path | None = None,
) -> Outcome:
    """Run a command, with pipes for its output and more variables than here."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=max_seconds,
        env=os.environ | environment,
        cwd=cwd,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def interruptible(
    command: Sequence[str],
    environment: Mapping[str, str] = MappingProxyType({}),
    **more: Any,  # noqa: ANN401 - as subprocess.Popen takes it
) -> subprocess.Popen[str]:
    """Start a command that finds no GPU, with pipes for its output, and that Ctrl-C ends."""
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **NO_GPU, **environment},
        # Tests that run in the background of a shell ignore it, and their children would.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        **more,
    )


def run_code(
    code: str, environment: Mapping[str, str] = MappingProxyType({}), *, max_seconds: float = 60
) -> Outcome:
    """Run a Python program of its own."""
    return run_process([sys.executable, "-c", code], environment, max_seconds=max_seconds)


Invoke = Callable[..., Outcome]
Shell = Callable[..., Outcome]
Golden = Callable[[str, str], None]
