"""`isthmus watch` and `isthmus exec` around real programs; what these count is written by them."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from fakes.counters import MIB, MS, CounterFile, upload
from fakes.watched_programs import compiled, needs_a_compiler, with_libraries
from isthmus.watching import environment
from program import NO_GPU, Invoke, Outcome, run_process

pytestmark = needs_a_compiler
# The program `isthmus`, with libraries that stand for those that aren't built.
_ISTHMUS = """
import sys
from pathlib import Path
from isthmus.watching import environment
real = environment.package_folders()
environment.package_folders = lambda: [Path(sys.argv[1]), *real]
from isthmus.cli.app import main
sys.exit(main(sys.argv[2:]))
"""
Watched = Callable[..., Outcome]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    folder = tmp_path / "libraries"
    folder.mkdir()
    with_libraries(folder, monkeypatch)
    return [sys.executable, "-c", _ISTHMUS, str(folder)]


@pytest.fixture
def isthmus(command: list[str]) -> Watched:
    def run(*arguments: str, **variables: str) -> Outcome:
        return run_process([*command, *arguments], NO_GPU | variables)

    return run


@pytest.fixture
def counting(tmp_path: Path) -> Callable[[CounterFile], str]:
    """Give a shell's command that leaves counters where the library would."""

    def make(file: CounterFile) -> str:
        path = shlex.quote(str(file.write(tmp_path / "made")))
        return f"cp {path} $ISTHMUS_WATCH_FOLDER/"

    return make


def slow(pid: int = 100, **header: object) -> CounterFile:
    file = CounterFile(pid=pid, **header)
    members = {"calls": 10, "hidden": 10, "hidden_ns": 80 * MS, "site": "/src/train.py:30 step"}
    return upload(file, 64 * MIB, 80 * MS, **members)


def test_the_programs_output_and_exit_code_are_its_own(isthmus: Watched) -> None:
    done = isthmus("watch", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.code, done.out) == (7, "out\n")
    assert done.err == "err\nisthmus watch: no call of the CUDA driver was seen\n"


def test_the_report_is_on_stderr_and_the_verdict_comes_first(
    isthmus: Watched, counting: Callable[[CounterFile], str]
) -> None:
    done = isthmus("watch", "--", "sh", "-c", f"{counting(slow())}; echo data")
    assert (done.code, done.out) == (0, "data\n")
    assert done.err.split("\n\n")[1].startswith("Copies took 80.0 ms")
    assert "/src/train.py:30 step" in done.err
    assert "as there is no GPU here" in done.err


def test_a_program_that_was_killed_gives_a_shells_exit_code_and_the_report(
    isthmus: Watched, counting: Callable[[CounterFile], str]
) -> None:
    done = isthmus("watch", "--", "sh", "-c", f"{counting(slow(end_ns=0))}; kill -9 $$")
    assert done.code == 128 + signal.SIGKILL
    assert "Copies took 80.0 ms" in done.err


@pytest.mark.parametrize(
    ("program", "code", "what"),
    [
        ("no-such-program", 127, "not found"),
        ("/nowhere/program", 127, "No such file or directory"),
        ("/etc/passwd", 126, "not executable"),
        ("/", 126, "a folder"),
    ],
)
def test_what_cant_be_run_ends_as_in_a_shell(
    isthmus: Watched, program: str, code: int, what: str
) -> None:
    done = isthmus("watch", "--", program)
    assert (done.code, done.out) == (code, "")
    assert done.err == f"isthmus watch: {program}: {what}\n"


def test_a_static_program_runs_unwatched(isthmus: Watched, tmp_path: Path) -> None:
    code = '#include <stdio.h>\nint main(void) { puts("ran"); return 5; }'
    program = compiled(tmp_path / "static", code, ["-static"])
    done = isthmus("watch", "--", str(program))
    assert (done.code, done.out) == (5, "ran\n")
    assert done.err.replace("\n  ", " ") == (
        f"isthmus watch: {program} isn't watched: it is linked statically\n"
    )
    quiet = compiled(tmp_path / "quiet", "int main(void) { return 0; }", ["-static"])
    assert isthmus("watch", "--", str(quiet)).code == 0
    assert isthmus("watch", "--fail-on", "copy-wait", "--", str(quiet)).code == 5


def test_a_program_runs_unwatched_if_there_is_no_folder_for_counters(command: list[str]) -> None:
    nowhere = command.copy()
    nowhere[2] = "import os, types; os.statvfs = lambda _: types.SimpleNamespace(\n" + (
        "  f_bavail=1, f_frsize=1)\n" + command[2]
    )
    done = run_process([*nowhere, "watch", "--", "sh", "-c", "exit 3"], NO_GPU)
    assert done.code == 3
    assert "no folder for temporary files has room" in done.err


def test_a_program_gets_the_library_first_and_its_folder_is_gone_afterwards(
    isthmus: Watched,
) -> None:
    script = (
        "stat -c %a $ISTHMUS_WATCH_FOLDER; for i in ISTHMUS_WATCH_FOLDER LD_PRELOAD ISTHMUS_WATCH"
    )
    script += "; do printenv $i || echo; done"
    done = isthmus("watch", "--", "sh", "-c", script, LD_PRELOAD="libc.so.6", ISTHMUS_WATCH="1")
    mode, folder, preloaded, variable = done.out.split("\n")[:4]
    assert (mode, variable) == ("700", "")
    assert not Path(folder).exists()
    assert preloaded.endswith("/libisthmus_watch.so:libc.so.6")


def test_a_condition_that_is_met_ends_with_3_and_names_the_lines(
    isthmus: Watched, counting: Callable[[CounterFile], str]
) -> None:
    program = ("--", "sh", "-c", f"{counting(slow())}; exit 7")
    done = isthmus("watch", "--fail-on", "hidden-sync,seconds>9", *program)
    assert done.code == 3
    assert "FAILED hidden-sync: 10 calls, 0.08 s\n    /src/train.py:30 step\n" in done.err
    assert isthmus("watch", "--fail-on", "seconds>9", *program).code == 7


def test_a_check_that_saw_nothing_fails_unless_the_program_did(isthmus: Watched) -> None:
    done = isthmus("watch", "--fail-on", "hidden-sync", "--", "true")
    assert done.code == 5
    assert done.err == (
        "isthmus watch: no call of the CUDA driver was seen: --fail-on judges nothing\n"
    )
    assert isthmus("watch", "--fail-on", "hidden-sync", "--", "sh", "-c", "exit 9").code == 9


def test_conditions_are_named_on_stderr_even_if_the_report_is_in_a_file(
    isthmus: Watched, counting: Callable[[CounterFile], str], tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    program = ("--", "sh", "-c", counting(slow()))
    done = isthmus("watch", "-o", str(path), "--fail-on", "hidden-sync", *program)
    assert done.code == 3
    assert done.err.startswith("FAILED hidden-sync")
    assert json.loads(path.read_text())["violations"][0]["condition"] == "hidden-sync"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--fail-on", "nothing", "--", "touch"), "'nothing' is no condition"),
        (
            (
                "--fail-on",
                "hidden-sync",
            ),
            "the program and its arguments follow --",
        ),
        (("touch",), "the program and its arguments follow --"),
        (("--output", "/nowhere/x", "--", "touch"), "there is no folder /nowhere"),
        (("--timeline", "/nowhere/x", "--", "touch"), "there is no folder /nowhere"),
        (("--python-sites", "-1", "--", "touch"), "--python-sites"),
        (("--read", "/nowhere", "--", "touch"), "--read runs no program"),
    ],
)
def test_a_wrong_command_line_is_refused_before_the_program_starts(
    isthmus: Watched, tmp_path: Path, arguments: tuple[str, ...], what: str
) -> None:
    done = isthmus("watch", *arguments, str(tmp_path / "ran"))
    assert done.code == 2
    assert what in done.err
    assert not (tmp_path / "ran").exists()


def test_options_of_the_program_are_its_own(isthmus: Watched) -> None:
    done = isthmus("watch", "--", "echo", "--debug", "--help", "--", "-o")
    assert (done.code, done.out) == (0, "--debug --help -- -o\n")


def test_a_timeline_is_written(
    isthmus: Watched, counting: Callable[[CounterFile], str], tmp_path: Path
) -> None:
    file = slow().event("cuMemcpyHtoDAsync_v2", "copy", begin_ns=3, ns=5)
    script = f"{counting(file)}; echo $ISTHMUS_WATCH_EVENTS"
    done = isthmus("watch", "--timeline", f"{tmp_path}/t.json", "--", "sh", "-c", script)
    assert (done.code, done.out) == (0, "1000000\n")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert "cuMemcpyHtoDAsync_v2" in {one["name"] for one in events}


def test_the_page_is_one_html_file(
    isthmus: Watched, counting: Callable[[CounterFile], str], tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    done = isthmus("watch", "-o", str(page), "--", "sh", "-c", counting(slow()))
    assert done.code == 0
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_counters_of_ranks_are_read_each_and_together(isthmus: Watched, tmp_path: Path) -> None:
    for rank in "01":
        slow(pid=100 + int(rank), rank=rank).write(tmp_path / "job")
    done = isthmus("watch", "--read", f"{tmp_path}/job", "--format", "json")
    found = json.loads(done.err)
    assert (done.code, [one["rank"] for one in found["ranks"]]) == (0, ["0", "1"])
    assert isthmus("watch", "--read", f"{tmp_path}/job", "--fail-on", "hidden-sync").code == 3


def test_a_damaged_file_among_counters_is_refused(isthmus: Watched, tmp_path: Path) -> None:
    slow().write(tmp_path / "job")
    slow(pid=7, magic="nonsense").write(tmp_path / "job")
    done = isthmus("watch", "--read", f"{tmp_path}/job")
    assert done.code == 2
    assert "header: it isn't a file of counters" in done.err
    assert isthmus("watch", "--read", f"{tmp_path}/none").code == 1
    (tmp_path / "empty").mkdir()
    assert "has no counters" in isthmus("watch", "--read", f"{tmp_path}/empty").err


def test_a_damaged_file_costs_no_exit_code_of_a_program(
    isthmus: Watched, counting: Callable[[CounterFile], str]
) -> None:
    both = f"{counting(slow(pid=7, magic='nonsense'))}; {counting(slow())}; "
    both += ">$ISTHMUS_WATCH_FOLDER/1-1.counters; exit 6"
    done = isthmus("watch", "--", "sh", "-c", both)
    assert done.code == 6
    assert "left out:" in done.err
    assert re.search(r"left out: \S+/1-1\.counters: that process had no room", done.err)
    assert "Copies took 80.0 ms" in done.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_for_the_launcher_reaches_the_program_once(
    command: list[str], counting: Callable[[CounterFile], str], number: signal.Signals
) -> None:
    name = number.name.removeprefix("SIG")
    trap = f"trap 'echo got; exit 9' {name}; echo ready; while :; do sleep 0.05; done"
    script = f"{counting(slow())}; {trap}"
    program = subprocess.Popen(
        [*command, "watch", "--", "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | NO_GPU,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    program.send_signal(number)
    out, err = program.communicate(timeout=60)
    assert (program.returncode, out) == (9, "got\n")
    assert "Copies took 80.0 ms" in err


def on_a_terminal(command: list[str]) -> tuple[int, int]:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command[0], command, os.environ | NO_GPU)  # noqa: S606
    return pid, terminal


def read_out(terminal: int) -> bytes:
    """Read until the terminal ends with its last user, which is an error on Linux."""
    text = b""
    with suppress(OSError):
        while piece := os.read(terminal, 1000):
            text += piece
    return text


def test_ctrl_c_of_a_terminal_reaches_the_program_once(
    command: list[str], counting: Callable[[CounterFile], str]
) -> None:
    trap = "n=0; trap 'n=$((n+1))' INT; echo ready; sleep 1; echo $n times; exit 4"
    script = f"{counting(slow())}; {trap}"
    pid, terminal = on_a_terminal([*command, "watch", "--", "sh", "-c", script])
    text = b""
    while b"ready" not in text:
        text += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    text += read_out(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4
    assert b"1 times" in text
    assert b"Copies took 80.0 ms" in text


def test_the_live_line_is_for_terminals_alone(
    command: list[str], isthmus: Watched, counting: Callable[[CounterFile], str]
) -> None:
    script = f"{counting(slow())}; sleep 1.5"
    assert "\r" not in isthmus("watch", "--live", "--", "sh", "-c", script).err
    pid, terminal = on_a_terminal([*command, "watch", "--live", "--", "sh", "-c", script])
    text = read_out(terminal)
    os.waitpid(pid, 0)
    assert b"\risthmus watch: 0.080 s in copies, 0.67 GB" in text


def test_a_watch_around_another_is_told_what_it_does_not_see(command: list[str]) -> None:
    inner = [*command, "exec", "--", "sh", "-c", "exit 4"]
    done = run_process([*command, "watch", "--", *inner], NO_GPU)
    assert done.code == 4
    assert "isthmus exec: sh is counted here; the watch around it doesn't see it" in done.err


def test_a_report_has_a_name_of_its_format_or_the_format_is_said(
    isthmus: Watched, tmp_path: Path
) -> None:
    path = tmp_path / "report.pdf"
    done = isthmus("watch", "-o", str(path), "--", "touch", str(tmp_path / "ran"))
    assert done.code == 2
    assert "ends with .txt, .json or .html, or has no suffix" in " ".join(done.err.split())
    assert not (tmp_path / "ran").exists()
    assert isthmus("watch", "-o", str(path), "--format", "text", "--", "true").code == 0
    assert path.exists()


def test_exec_says_in_one_line_what_it_saved(
    isthmus: Watched, counting: Callable[[CounterFile], str]
) -> None:
    made = {"replaced": 10, "replaced_bytes": 640 * MIB, "replaced_ns": 12 * MS}
    file = upload(CounterFile(exec_mode=1), 64 * MIB, 12 * MS, calls=10, **made)
    script = f"{counting(file)}; echo $ISTHMUS_EXEC $ISTHMUS_EXEC_UP $ISTHMUS_EXEC_DOWN; exit 2"
    done = isthmus("exec", "--min-bytes", "1MiB", "--", "sh", "-c", script)
    assert (done.code, done.out) == (2, "on 1048576 1048576\n")
    assert done.err.startswith(
        "isthmus exec: 10 copies replaced, 640.0 MiB in 12.0 ms; predicted without:"
    )
    assert "saved" in done.err


def test_exec_takes_its_sizes_from_the_profile_and_can_be_turned_off(isthmus: Watched) -> None:
    script = "echo $ISTHMUS_EXEC $ISTHMUS_EXEC_UP $ISTHMUS_EXEC_PIN; ls $ISTHMUS_EXEC_LIBRARY"
    done = isthmus("exec", "--pin", "--", "sh", "-c", script, ISTHMUS_EXEC="off")
    first, library = done.out.splitlines()
    assert first.split()[0] == "off"
    assert 64 << 10 <= int(first.split()[1]) <= 4 << 20
    assert first.split()[2] == "1"
    assert library.endswith(environment.EXEC_LIBRARY)
    assert "no copy replaced: no call of the CUDA driver was seen" in done.err


def test_exec_that_replaced_nothing_says_which_copies_it_looked_for(
    isthmus: Watched, counting: Callable[[CounterFile], str]
) -> None:
    program = ("--", "sh", "-c", counting(slow(exec_mode=1)))
    done = isthmus("exec", "--only", "a.py:1", "--min-bytes", "1", *program)
    said = " ".join(done.err.split())
    assert "no upload from pageable memory at 'a.py:1' had more than 2.0 MiB, and no" in said
    assert "no download to pageable memory at 'a.py:1' had more than 64.0 KiB" in said
    done = isthmus("exec", "--min-bytes", "3MiB", *program)
    assert "download to pageable memory had 3.0 MiB or more" in " ".join(done.err.split())


def test_python_m_isthmus_watch_runs_a_script_or_a_module(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys; print(sys.argv[1:], sys.flags.optimize); sys.exit(5)\n")
    module = [sys.executable, "-O", "-m", "isthmus.watch"]
    options = ["--fail-on", "hidden-sync", "--python-sites=4"]
    done = run_process([*module, *options, str(script), "--fail-on", "x"], NO_GPU)
    assert (done.code, done.out) == (5, "['--fail-on', 'x'] 1\n")
    done = run_process([*module, "-m", "platform", "terse"], NO_GPU)
    assert (done.code, done.out.count("\n")) == (0, 1)
    assert run_process([*module, "--", str(script)], NO_GPU).code == 5
    assert run_process(module, NO_GPU).code == 2


def test_help_needs_no_program(invoke: Invoke) -> None:
    for name in ("watch", "exec"):
        assert invoke(name, "--help").code == 0
        assert invoke(name).code == 2
