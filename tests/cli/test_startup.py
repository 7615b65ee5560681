"""
Ctrl-C while the program still loads, in processes of their own.

A process stands still where a module is about to be imported, until it has been interrupted: a
finder that `sitecustomize` puts before all others says that it is there, and waits. No test sleeps.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from isthmus.cli import INTERRUPTED, MESSAGE
from program import Outcome, interruptible, run_process

ENTRIES = {
    "script": [str(Path(sys.executable).with_name("isthmus"))],
    "module": [sys.executable, "-m", "isthmus"],
}
# What is loaded for every command, in the order in which it comes.
FOR_EVERY_COMMAND = ("isthmus.cli.app", "typer", "isthmus.errors", "isthmus.cli.sim.trace")
# Command -> what it loads beside.
FOR_ONE_COMMAND = {
    ("bench", "--device", "emulated", "--quick"): ("isthmus.measure.bench.opening",),
    ("compare", "a.json", "b.json"): ("pydantic",),
    ("doctor",): ("isthmus._native", "isthmus.measure.doctor.diagnose"),
    ("profile", "--device", "emulated"): ("isthmus._native",),
    ("sim", "list"): ("isthmus.sim.catalogue", "pydantic"),
    ("sim", "run", "cp"): ("isthmus.sim.as_text",),
    ("sim", "sweep", "cp", "-a", "seed=0,1", "-o", "s.parquet"): ("pyarrow", "numpy"),
    ("sim", "trace", "info", "t.arrow"): ("isthmus.sim.trace.file",),
}

_STOPPING = """
import os, sys

class Stopping:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {name!r}:
            sys.meta_path.remove(Stopping)
            os.write({there}, b"x")
            os.read({go_on}, 1)

sys.meta_path.insert(0, Stopping)
"""


def interrupted_at(name: str, command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command up to an import, and interrupt it there."""
    there, is_there = os.pipe()
    waits, go_on = os.pipe()
    code = _STOPPING.format(name=name, there=is_there, go_on=waits)
    (folder / "sitecustomize.py").write_text(code, "utf-8")
    environment = {"PYTHONPATH": str(folder)}
    passed = (is_there, waits)
    with interruptible(command, environment, cwd=folder, pass_fds=passed) as process:
        os.close(is_there)
        os.close(waits)
        stands = os.read(there, 1)
        process.send_signal(signal.SIGINT)
        # Whoever doesn't end by it goes on, and fails the test.
        os.close(go_on)
        out, err = process.communicate(timeout=60)
    os.close(there)
    assert stands == b"x", f"{name} is never imported: {err}"
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.mark.parametrize("name", FOR_EVERY_COMMAND)
@pytest.mark.parametrize("entry", ENTRIES)
def test_ctrl_c_while_the_program_loads_says_so_and_is_130(
    entry: str, name: str, tmp_path: Path
) -> None:
    done = interrupted_at(name, [*ENTRIES[entry], "--version"], tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", f"{MESSAGE}\n")


@pytest.mark.native
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        pytest.param(arguments, name, marks=pytest.mark.long if number else ())
        for arguments, names in FOR_ONE_COMMAND.items()
        for number, name in enumerate(names)
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_ctrl_c_while_a_command_loads_says_so_and_is_130(
    arguments: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    done = interrupted_at(name, [*ENTRIES["module"], *arguments], tmp_path)
    assert (done.returncode, done.stdout) == (INTERRUPTED, "")
    assert done.stderr.endswith(f"{MESSAGE}\n")
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == [
        "sitecustomize.py"
    ]


def test_an_interrupt_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """As shells have it for what runs in their background."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "class Interrupting:\n"
        "    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        "        if name == 'typer':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting)\n"
    )
    done = run_process([*ENTRIES["module"], "--version"], {"PYTHONPATH": str(tmp_path)})
    assert (done.code, done.err) == (0, "")


def test_next_to_nothing_is_loaded_before_interrupts_are_awaited() -> None:
    code = "import sys, isthmus.cli.startup; print(*sorted(sys.modules))"
    loaded = run_process([sys.executable, "-c", code]).out.split()
    ours = [name for name in loaded if name.startswith("isthmus")]
    assert ours == ["isthmus", "isthmus.cli", "isthmus.cli.startup"]
    assert not {"enum", "re", "signal", "typing"} & set(loaded)


def run_guarded(main: str) -> Outcome:
    """Run a `main` in place of the program's, with Ctrl-C as it is in a terminal."""
    code = (
        "import os, signal, sys, isthmus.cli.app as app, isthmus.cli.startup as startup\n"
        "def interrupt(): os.kill(os.getpid(), signal.SIGINT)\n"
        f"{main}\n"
        "app.main = main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "raise SystemExit(startup.main())"
    )
    return run_process([sys.executable, "-c", code])


def test_ctrl_c_in_a_command_is_an_exception_so_that_it_cleans_up() -> None:
    done = run_guarded(
        "def main():\n"
        "    try: interrupt()\n"
        "    except KeyboardInterrupt: print('cleaned up')\n"
        "    return 7"
    )
    assert (done.code, done.out, done.err) == (7, "cleaned up\n", "")


def test_a_second_ctrl_c_ends_a_command_that_is_cleaning_up() -> None:
    done = run_guarded(
        "def main():\n"
        "    try: interrupt()\n"
        "    finally:\n"
        "        interrupt()\n"
        "        print('too late')"
    )
    assert (done.code, done.out, done.err) == (INTERRUPTED, "", f"{MESSAGE}\n")


def test_ctrl_c_when_the_command_is_over_shows_no_trace_of_the_interpreter() -> None:
    done = run_guarded(
        "def main():\n    import atexit\n    atexit.register(interrupt)\n    return 0"
    )
    assert (done.code, done.out, done.err) == (INTERRUPTED, "", f"{MESSAGE}\n")


def test_an_interrupt_that_nobody_has_caught_is_told_of_too() -> None:
    code = (
        "import isthmus.cli.app as app, isthmus.cli.startup as startup\n"
        "def main(): raise KeyboardInterrupt\n"
        "app.main = main\n"
        "raise SystemExit(startup.main())"
    )
    done = run_process([sys.executable, "-c", code])
    assert (done.code, done.out, done.err) == (INTERRUPTED, "", f"{MESSAGE}\n")
