"""Runs the program: in this process where that is enough, as a process of its own elsewhere."""

import ctypes
import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakes.settling_links import links_that_settle_soon  # noqa: F401 - for all tests here
from isthmus import _native
from isthmus.cli.app import main
from program import NO_GPU, PROGRAM, Invoke, Outcome, Shell, run_process


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Run a command in this process."""

    def run(*arguments: str) -> Outcome:
        # The emulator's profile changes only while no context is alive. An error's traceback may
        # keep one, and so may what any earlier test has left in a circle.
        gc.collect()
        code = main(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def spawn() -> Invoke:
    """Run a command as a process without a GPU, with pipes for its output."""

    def run(*arguments: str, **environment: str) -> Outcome:
        return run_process([*PROGRAM, *arguments], NO_GPU | environment)

    return run


@pytest.fixture
def shell() -> Shell:
    """Run a command with a redirection, as a shell does it."""

    def run(redirection: str, *arguments: str) -> Outcome:
        return run_process(
            ["/bin/sh", "-c", f'"$@" {redirection}', "sh", *PROGRAM, *arguments], NO_GPU
        )

    return run


@pytest.fixture
def saved_runs(own_environment: Path) -> Callable[[], list[Path]]:
    """List the runs that were kept."""
    return lambda: sorted((own_environment / "data" / "isthmus" / "runs").glob("*"))


@pytest.fixture
def emulator() -> Iterator[ctypes.CDLL]:
    """The emulated driver's own controls; what was injected is forgotten afterwards."""
    library = ctypes.CDLL(_native.Driver.open("emulated").path)
    library.isthmus_emulator_reset()
    yield library
    library.isthmus_emulator_reset()
