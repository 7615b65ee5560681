"""
Every command in the documentation exists, and has the options that are shown.

Commands that take less than a moment are run on the emulated device.
"""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from documents.snippets import ROOT, Snippet, snippets
from isthmus.cli.app import app
from program import EMULATED, PROGRAM, run_process

_QUIET = EMULATED | {"ISTHMUS_PROFILE": "off"}
# Run as they are, where no other command of their block has to come first.
_RUN = (
    "sim list",
    "sim run bfs -p",
    "sim trace record",
    "sim trace info",
    "doctor",
    "bench --list",
)
# Of other packages, or of the shell: nothing to check here.
_FOREIGN = {"c++", "cc", "cmake", "export", "git", "cd", "sh", "torchrun"}
_ASSIGNMENT = re.compile(r"^\w+=(?:\$\(.*\)|\S*)\s*")


def commands_of(snippet: Snippet) -> list[list[str]]:
    """Split a block into commands, without comments and assignments before them."""
    text = snippet.text.replace("\\\n", " ")
    code = (re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines())
    lines = (_ASSIGNMENT.sub("", line) for line in code)
    parts = (part for line in lines for part in re.split(r"\s&&\s|;\s", line))
    return [words for part in parts if (words := shlex.split(part))]


def require_command(words: list[str]) -> None:
    """Refuse a command that there isn't, or that doesn't take these arguments."""
    name = Path(words[0]).name
    if name == "isthmus":
        require_options(words[1:])
    elif name == "make":
        require_targets([word for word in words[1:] if "=" not in word])
    elif name == "pip":
        require_extras(words)
    elif name.startswith("python"):
        assert words[1] in {"-c", "-m"} or (ROOT / words[1]).exists(), words
    else:
        assert name in _FOREIGN, f"what is {name}?"


def require_options(arguments: list[str]) -> None:
    """Let the program parse its arguments, and do nothing."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("isthmus", list(arguments), resilient_parsing=False)
    rest = [*context._protected_args, *context.args]
    while rest:
        name, found, rest = command.resolve_command(context, rest)
        command = found
        context = command.make_context(name, list(rest), parent=context)
        group = hasattr(command, "resolve_command")
        rest = [*context._protected_args, *context.args] if group else []


def require_targets(targets: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in targets:
        assert re.search(rf"^([\w-]+ )*{target}\b[\w -]*:", makefile, re.MULTILINE), target


def require_extras(words: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert words[1] == "install"
    for package in (word for word in words[2:] if not word.startswith("-")):
        name, _, extras = package.rstrip("]").partition("[")
        if name in {".", "isthmus"}:
            known = project["optional-dependencies"]
            assert all(extra in known for extra in filter(None, extras.split(","))), package


@pytest.mark.native
@pytest.mark.parametrize("snippet", snippets("sh"), ids=str)
def test_every_command_exists_and_has_the_options_that_are_shown(snippet: Snippet) -> None:
    commands = commands_of(snippet)
    assert commands
    for words in commands:
        require_command(words)


@pytest.mark.long
@pytest.mark.native
@pytest.mark.parametrize("snippet", snippets("sh"), ids=str)
def test_a_command_that_takes_a_moment_runs_as_it_is(snippet: Snippet, tmp_path: Path) -> None:
    for words in commands_of(snippet):
        arguments = " ".join(words[1:])
        if words[0] != "isthmus" or not arguments.startswith(_RUN) or "mine.arrow" in words:
            continue
        done = run_process([*PROGRAM, *words[1:]], _QUIET, cwd=tmp_path, max_seconds=120)
        assert done.code == 0, f"{snippet}: {arguments}:\n{done.err}"


@pytest.mark.native
@pytest.mark.parametrize(
    "line",
    ["isthmus bench --sizess 4", "isthmus bnch", "make benhc", "pip install '.[cuda99]'", "ist x"],
)
def test_a_command_that_there_is_not_is_noticed(line: str) -> None:
    (words,) = commands_of(Snippet("page.md", 1, "sh", f"{line}    # a comment\n"))
    with pytest.raises(Exception):  # noqa: B017, PT011 - by typer or by assert
        require_command(words)


def test_the_commands_within_sentences_exist() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob(".github/**/*.md")]
    for page in pages:
        for said in re.findall(r"`isthmus ([a-z][^`]*)`", page.read_text("utf-8")):
            # Behind -- is another program.
            words, command = said.split(" -- ")[0].split(), typer.main.get_command(app)
            while words and (inner := getattr(command, "commands", {}).get(words[0])):
                command, words = inner, words[1:]
            assert command.name != "isthmus", f"{page}: isthmus {said}"
            options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
            options |= {"-h", "--help"}
            assert options >= {it for it in words if it.startswith("-")}, f"{page}: isthmus {said}"
