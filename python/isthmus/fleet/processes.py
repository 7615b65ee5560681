"""
Workers that are processes, here or behind `ssh`: questions and answers go through their pipes.

Nothing listens anywhere, and what comes back is read as JSON. The user's own ~/.ssh/config decides
how hosts are reached; nothing asks for a password.
"""

import json
import os
import selectors
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from isthmus.errors import UsageError
from isthmus.fleet.asking import OfText, WorkerError, answer_in, question_of, read_json
from isthmus.ground.spelling import MOST_SAID, shortened

_JOIN_S = 60.0
_END_S = 5.0
_CHUNK_BYTES = 1 << 20
# A run of all tests has some MB.
_MAX_ANSWER_BYTES = 64 << 20
_MAX_SAID_BYTES = 1 << 16
_MAX_THREADS = 4096
_ANSWERING = ("-P", "-m", "isthmus.fleet.answering")
_SSH = (
    # Without a terminal, and without what a hostile host could use: agent, X11, ports.
    *("ssh", "-T", "-a", "-x", "-o", "ClearAllForwardings=yes", "-o", "BatchMode=yes"),
    # A connection that others share would outlive this command.
    *("-o", "ControlPath=none"),
    # A host that has gone silent is lost, and what it had is done elsewhere.
    *("-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3"),
)


def here(num_threads: int) -> list[str]:
    """Give the command of a worker on this machine."""
    return [sys.executable, *_ANSWERING, str(num_threads)]


def at_host(host: str, python: str, num_threads: int) -> list[str]:
    """Give the command of a worker on a host that `read_hosts` has checked."""
    return [*_SSH, "--", host, shlex.join([python, *_ANSWERING, str(num_threads)])]


@contextmanager
def processes(
    commands: Mapping[str, Sequence[str]], *, restarted: bool = False
) -> Iterator["Processes"]:
    """
    Start workers by the command of each address, wait until each is there or has failed, and end
    them; one that is started again gets another address, "NAME-N".
    """
    found = Processes(restarted=restarted)
    try:
        for name, command in commands.items():
            found.start(name, command)
        found.wait()
        yield found
    finally:
        found.end()


class Processes:
    """Workers that are processes: an `Asking` of one thread, which must call it now and then."""

    def __init__(self, *, restarted: bool) -> None:
        """Start nothing yet."""
        self._restarted = restarted
        self._selector = selectors.DefaultSelector()
        self._workers: dict[str, _Worker] = {}
        self._asked: dict[int, str] = {}
        self._answers: list[tuple[int, str | BaseException]] = []
        self._last = 0

    def start(self, name: str, command: Sequence[str]) -> None:
        """Start a worker."""
        self._workers[name] = _Worker(name, command, self._selector, self._arrived)

    def wait(self) -> None:
        """Wait until each worker is there or has ended."""
        end = time.monotonic() + _JOIN_S
        while any(one.is_awaited for one in self._workers.values()) and time.monotonic() < end:
            self._pump(_END_S)

    def missing(self) -> Mapping[str, str]:
        """Say why workers aren't there."""
        return {name: one.why() for name, one in self._workers.items() if not one.is_here}

    def processes(self) -> Mapping[str, int]:
        """Give the process of each worker that is there."""
        return {name: one.pid for name, one in self._workers.items() if one.is_here}

    def threads(self) -> Mapping[str, int]:
        """Give the workers that are there, and how many questions each answers at once."""
        self._pump(0)
        if self._restarted:
            for name, one in list(self._workers.items()):
                if one.has_ended and one.introduction:
                    del self._workers[name]
                    one.end()
                    self._last += 1
                    self.start(f"{name.partition('-')[0]}-{self._last}", one.command)
        return {name: one.num_threads for name, one in self._workers.items() if one.is_here}

    def introductions(self, addresses: Sequence[str]) -> Mapping[str, str | BaseException]:
        """Give what workers that are there said of themselves when they began."""
        return {name: self._workers[name].introduction for name in addresses}

    def ask(self, address: str, function: OfText, text: str) -> int:
        """Call a function in a worker, and return at once; gives a number for the question."""
        self._last += 1
        worker = self._workers.get(address)
        if worker is None or not worker.is_here:
            self._answers.append((self._last, WorkerError("the worker is gone")))
            return self._last
        self._asked[self._last] = address
        worker.say({"question": self._last, **question_of(function, text)})
        return self._last

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        """Wait for answers, for so long if there are none; each with its question's number."""
        end = time.monotonic() + timeout_s
        self._pump(0)
        while not self._answers and (left_s := end - time.monotonic()) > 0:
            self._pump(left_s)
        found, self._answers = self._answers, []
        return found

    def forget(self, question: int) -> None:
        """Stop waiting for an answer."""
        self._asked.pop(question, None)

    def end(self) -> None:
        """End all workers, and what they have begun."""
        for worker in self._workers.values():
            worker.terminate()
        for worker in self._workers.values():
            worker.end()
        self._selector.close()

    def _pump(self, timeout_s: float) -> None:
        """Read and write what can be read and written, after at most so many seconds."""
        if not self._selector.get_map():
            return
        for key, _ in self._selector.select(timeout_s):
            key.data()
        for question, address in list(self._asked.items()):
            if address not in self._workers or not self._workers[address].is_here:
                self._arrived(address, question, WorkerError("the worker is gone"))

    def _arrived(self, name: str, question: int, answer: str | BaseException) -> None:
        """Keep an answer, if this worker was asked and somebody waits for it."""
        if self._asked.get(question) == name:
            del self._asked[question]
            self._answers.append((question, answer))


class _Worker:
    """A process, and what goes through its pipes."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        selector: selectors.BaseSelector,
        arrived: Callable[[str, int, str | BaseException], None],
    ) -> None:
        self.command = command
        self.introduction = ""
        self.num_threads = 0
        self._name = name
        self._selector = selector
        self._arrived = arrived
        self._to_write = bytearray()
        self._partial = bytearray()
        self._said = b""
        self._fault = ""
        self._process = _started(command)
        self.pid = self._process.pid
        for pipe in filter(None, (self._process.stdin, self._stdout, self._stderr)):
            os.set_blocking(pipe.fileno(), False)
        selector.register(self._stdout, selectors.EVENT_READ, self._read_answers)
        selector.register(self._stderr, selectors.EVENT_READ, self._read_errors)

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None  # noqa: S101 - for mypy
        return self._process.stdin

    @property
    def _stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None  # noqa: S101 - for mypy
        return self._process.stdout

    @property
    def _stderr(self) -> IO[bytes]:
        assert self._process.stderr is not None  # noqa: S101 - for mypy
        return self._process.stderr

    @property
    def has_ended(self) -> bool:
        return self._stdout.closed

    @property
    def is_here(self) -> bool:
        return bool(self.introduction) and not self.has_ended

    @property
    def is_awaited(self) -> bool:
        return not self.introduction and not self.has_ended

    def say(self, message: Mapping[str, object]) -> None:
        if not self._to_write:
            self._selector.register(self._stdin, selectors.EVENT_WRITE, self._write)
        self._to_write += f"{json.dumps(message)}\n".encode()

    def why(self) -> str:
        """Say why no worker came."""
        if self._fault:
            return self._fault
        if not self.has_ended:
            return f"no worker within {_JOIN_S:g} s"
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        if not self._stderr.closed:
            self._read_errors()
        lines = self._said.decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "nothing was said")
        program = Path(self.command[0]).name
        code = self._process.returncode
        return f"{program} ended with exit code {code}: {shortened(last.strip(), most=MOST_SAID)}"

    def terminate(self) -> None:
        self._process.terminate()

    def end(self) -> None:
        self.terminate()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._stdin, self._stdout, self._stderr):
            self._close(pipe)

    def _close(self, pipe: IO[bytes]) -> None:
        if not pipe.closed:
            with suppress(KeyError):
                self._selector.unregister(pipe)
            pipe.close()

    def _write(self) -> None:
        try:
            written = os.write(self._stdin.fileno(), self._to_write[:_CHUNK_BYTES])
        except BlockingIOError:
            return
        except OSError:
            written = len(self._to_write)
        del self._to_write[:written]
        if not self._to_write:
            self._selector.unregister(self._stdin)

    def _read(self, pipe: IO[bytes]) -> bytes:
        """Read what is there; at the end of a pipe, close it."""
        try:
            data = os.read(pipe.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return b""
        if not data:
            self._close(pipe)
        return data

    def _read_errors(self) -> None:
        while data := self._read(self._stderr):
            self._said = (self._said + data)[-_MAX_SAID_BYTES:]

    def _read_answers(self) -> None:
        data = self._read(self._stdout)
        self._partial += data
        if b"\n" in data:
            *lines, self._partial = self._partial.split(b"\n")
            for line in lines:
                self._understand(bytes(line))
        if len(self._partial) > _MAX_ANSWER_BYTES:
            self._refuse("what came back is too long")

    def _understand(self, line: bytes) -> None:
        message = read_json(line)
        answer = answer_in(message)
        match message:
            case {"question": int(number)} if self.introduction and answer is not None:
                self._arrived(self._name, number, answer)
            case {"introduction": str(said), "threads": int(number)} if not self.introduction:
                self.introduction, self.num_threads = said, max(1, min(number, _MAX_THREADS))
            case _ if self.introduction:
                self._refuse("what came back is no answer")
            # Before, it is what the shell of a host says to everyone who comes.

    def _refuse(self, fault: str) -> None:
        self._fault = fault
        self._process.kill()
        self._partial.clear()
        self._close(self._stdout)


def _started(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start a process that Ctrl-C doesn't reach: its starter decides what that means."""
    try:
        return subprocess.Popen(  # noqa: S603 - commands of `here` and `at_host`
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as cause:
        raise UsageError(
            f"can't start {command[0]}: {cause.strerror or cause}",
            hint="--hosts needs OpenSSH's client, and three open files a host (ulimit -n)",
        ) from cause
