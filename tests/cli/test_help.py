from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from isthmus.cli.app import app
from program import PROGRAM, Golden, Invoke, run_code, run_process

PLAIN = ("bench", "compare", "report", "doctor", "profile", "reproduce", "watch", "exec")
ADVISE = ("advise", "advise offload")
RUNS = ("runs", "runs list", "runs show", "runs expect", "runs rm", "runs prune", "runs query")
FLEET = ("fleet", "fleet bench", "fleet check", "fleet export")


@pytest.mark.parametrize("command", ["", *PLAIN, *ADVISE, *RUNS, *FLEET])
def test_help_is_as_reviewed(invoke: Invoke, golden: Golden, command: str) -> None:
    outcome = invoke(*command.split(), "--help")
    assert (outcome.code, outcome.err) == (0, "")
    golden("_".join(["help", *command.split()]) + ".text", outcome.out)


@pytest.mark.parametrize("group", ["", "fleet", "runs", "sim"])
def test_what_a_command_does_is_said_whole_on_a_terminal_of_80_columns(group: str) -> None:
    done = run_process([*PROGRAM, *group.split(), "--help"], {"COLUMNS": "80"})
    assert done.code == 0, done.err
    _usage, commands = done.out.split("\nCommands:\n")
    assert "..." not in commands


def test_the_bare_program_shows_its_help(invoke: Invoke) -> None:
    assert invoke() == invoke("--help")


def test_a_short_option_d_is_the_device_in_every_command() -> None:
    def commands(command: Any) -> Iterator[Any]:  # noqa: ANN401 - typer's private type
        yield command
        for one in getattr(command, "commands", {}).values():
            yield from commands(one)

    names = [set(p.opts) for one in commands(get_command(app)) for p in one.params]
    assert {"-d", "--device"} in names
    assert all(("-d" in one) == ("--device" in one) for one in names)


def test_no_help_shows_a_type_of_python_or_double_brackets(invoke: Invoke) -> None:
    def names(command: Any, *path: str) -> Iterator[tuple[str, ...]]:  # noqa: ANN401 - as above
        yield path
        for name, one in getattr(command, "commands", {}).items():
            yield from names(one, *path, name)

    for path in names(get_command(app)):
        text = invoke(*path, "--help").out
        assert text.startswith("Usage: isthmus"), path
        leaks = ("<int range>", "]...", "[[", "<str>", "<path>", "list[")
        assert [leak for leak in leaks if leak in text] == [], path


def test_the_help_of_advise_lists_its_other_command(invoke: Invoke) -> None:
    usage, commands = invoke("advise", "--help").out.split("\nCommands:\n")
    assert usage.startswith("Usage: isthmus advise [OPTIONS] [SIZE]\n")
    assert commands.split()[0] == "offload"
    assert "see `isthmus advise --help`" in invoke("advise", "--nothing").err


def test_short_and_long_help_are_the_same(invoke: Invoke) -> None:
    assert invoke("bench", "-h") == invoke("bench", "--help")


@pytest.mark.parametrize("command", [*PLAIN, "advise", "fleet", "runs", "sim"])
def test_a_command_whose_module_is_missing_is_an_error_and_not_left_out(command: str) -> None:
    alone = command in {"advise", "doctor", "runs"}
    module = f"isthmus.cli.{command}" if alone else f"isthmus.cli.{command}.command"
    done = run_code(f"import sys; sys.modules[{module!r}] = None; import isthmus.cli.app")
    assert done.code == 1
    assert f"ModuleNotFoundError: import of {module} halted" in done.err


def test_the_version_is_on_stdout(invoke: Invoke) -> None:
    outcome = invoke("--version")
    assert (outcome.code, outcome.out, outcome.err) == (0, "isthmus 0.1.0\n", "")


@pytest.mark.parametrize("wanted", ["text", "json", "csv"])
def test_the_list_of_tests_is_as_reviewed(invoke: Invoke, golden: Golden, wanted: str) -> None:
    outcome = invoke("bench", "--list", "--format", wanted)
    assert (outcome.code, outcome.err) == (0, "")
    golden(f"list.{wanted}", outcome.out)


def test_the_list_can_be_narrowed(invoke: Invoke) -> None:
    outcome = invoke("bench", "-l", "-t", "device_to_host_memcpy_pag*", "--format", "csv")
    assert [line.split(",")[1] for line in outcome.out.splitlines()] == [
        "test",
        "device_to_host_memcpy_pageable",
    ]
