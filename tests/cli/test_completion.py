"""Shell completion: what the program answers a shell, and what a shell makes of it."""

import os
import shutil
from pathlib import Path

import pytest

from program import PROGRAM, Invoke, Outcome, run_process

SCRIPT = str(Path(PROGRAM[0]).with_name("isthmus"))
SHELLS = ("bash", "zsh", "fish")
# Each answer is that of a process.
_ONE_SHELL = ("bash", *(pytest.param(shell, marks=pytest.mark.long) for shell in ("zsh", "fish")))


def asked(shell: str, line: str) -> Outcome:
    """Ask what `line` may become, as the shell's script does; its last word is incomplete."""
    words = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }
    return run_process(PROGRAM, {"_ISTHMUS_COMPLETE": f"complete_{shell}", **words[shell]})


def offered(shell: str, line: str) -> set[str]:
    outcome = asked(shell, line)
    assert (outcome.code, outcome.err) == (0, "")
    text = outcome.out
    if shell == "zsh":
        return {part.split('"')[1] for part in text.splitlines() if '"' in part}
    return {one.split("\t")[0] for one in text.splitlines()}


@pytest.mark.parametrize("shell", _ONE_SHELL)
def test_commands_and_options_are_completed(shell: str) -> None:
    assert {"bench", "compare", "runs"} <= offered(shell, "isthmus ")
    assert offered(shell, "isthmus be") == {"bench"}
    assert "--no-save" in offered(shell, "isthmus bench --no")


@pytest.mark.parametrize("shell", _ONE_SHELL)
def test_names_of_tests_and_suites_are_completed(shell: str) -> None:
    begun = "host_to_device_memcpy_pag"
    assert offered(shell, f"isthmus bench -t {begun}") == {"host_to_device_memcpy_pageable"}
    both = offered(shell, f"isthmus bench -t window_write,{begun}")
    assert both == {"window_write,host_to_device_memcpy_pageable"}
    assert offered(shell, "isthmus bench wi") == {"windows"}
    assert offered(shell, "isthmus reproduce g") == {"gdrcopy"}


def test_stored_runs_are_completed(own_environment: Path) -> None:
    folder = own_environment / "data" / "isthmus" / "runs"
    folder.mkdir(parents=True)
    for name in ("20250101T000000Z-aa11", "20250102T000000Z-ab22"):
        (folder / f"{name}.json").write_text("")
    assert offered("bash", "isthmus runs show a") == {"ab22", "aa11"}
    assert offered("bash", "isthmus compare la") == {"last"}
    assert offered("bash", "isthmus runs rm ab") == {"ab22"}


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_a_script(shell: str) -> None:
    outcome = run_process(PROGRAM, {"_ISTHMUS_COMPLETE": f"source_{shell}"})
    assert (outcome.code, outcome.err) == (0, "")
    assert "_ISTHMUS_COMPLETE" in outcome.out
    assert f"complete_{shell}" in outcome.out


# What a shell does with its script: complete `isthmus be`, and print what it has found.
_IN_A_SHELL = {
    "bash": (
        'source "$1"; COMP_WORDS=(isthmus be); COMP_CWORD=1; '
        '_isthmus_completion isthmus; echo "${COMPREPLY[@]}"'
    ),
    "zsh": (
        # Functions of the completion system print what they are given.
        'compdef() { : }; _arguments() { echo "$@" }; words=(isthmus be); CURRENT=2; source "$1"; '
        "_isthmus_completion"
    ),
    "fish": 'source $argv[1]; complete --do-complete "isthmus be"',
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_a_command_by_its_script(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed here")
    script = tmp_path / "script"
    script.write_text(run_process(PROGRAM, {"_ISTHMUS_COMPLETE": f"source_{shell}"}).out)
    # The script calls the program by its name.
    folder = {"PATH": f"{Path(SCRIPT).parent}:{os.environ['PATH']}"}
    arguments = {
        "bash": ["--norc", "-c", _IN_A_SHELL["bash"], "bash"],
        "zsh": ["--no-rcs", "-c", _IN_A_SHELL["zsh"], "zsh"],
        "fish": ["--no-config", "-c", _IN_A_SHELL["fish"]],
    }
    outcome = run_process([program, *arguments[shell], str(script)], folder)
    assert "bench" in outcome.out, outcome.err


def test_the_scripts_are_offered_by_the_program(invoke: Invoke) -> None:
    text = invoke("--help").out
    assert "--install-completion" in text
    assert "--show-completion" in text
