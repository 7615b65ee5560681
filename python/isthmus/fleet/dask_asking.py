"""
Workers of a scheduler of Dask. Only text crosses the network, beside names of functions.

Dask unpickles results, errors and their types in the process that asks, whatever serializers its
client is given. A pickle that runs code has to name it, and Python tells its audit hooks each name.
"""

import builtins
import ipaddress
import json
import logging
import queue
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from isthmus.errors import Error, UsageError
from isthmus.fleet import worker
from isthmus.fleet.answering import answer_text
from isthmus.fleet.asking import OfText, WorkerError, answer_in, question_of, read_json
from isthmus.ground.extras import packages_for
from isthmus.ground.spelling import one_line

if TYPE_CHECKING:
    from distributed import Client

# A hook stays as long as the process: it counts how often it is wanted.
_wanted = 0
_lock = threading.Lock()
_TEXT = {"str", "bytes"}


class RefusedPickleError(AttributeError):
    """A pickle names something else. Dask takes what it can't find for a plain error."""


@contextmanager
def nothing_unpickled() -> Iterator[None]:
    """Refuse, in all threads, pickles that name anything but text and Python's own errors."""
    global _wanted  # noqa: PLW0603 - a hook is the process's
    _hooked()
    with _lock:
        _wanted += 1
    try:
        yield
    finally:
        with _lock:
            _wanted -= 1


@cache
def _hooked() -> None:
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event != "pickle.find_class" or not _wanted:
        return
    module, name = map(str, arguments)
    if not _is_harmless(module, name):
        raise RefusedPickleError(f"what came back is no text: it names {module}.{name}")


def _is_harmless(module: str, name: str) -> bool:
    if module != "builtins":
        return False
    found = getattr(builtins, name, None)
    return name in _TEXT or (isinstance(found, type) and issubclass(found, Exception))


_CONNECT_S = 20
_FETCH_S = 20
_LOCAL = {"localhost"}
_NEEDS_TLS = "; its certificates must be in Dask's configuration here: see docs/fleet.md"


class DaskAsking:
    """The workers of a scheduler: an `Asking`."""

    def __init__(self, client: "Client") -> None:
        """Use the workers of a client's scheduler."""
        self._client = client
        self._futures: dict[int, Any] = {}
        self._done: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._last = 0

    def threads(self) -> Mapping[str, int]:
        """Give the workers that are there, none if the scheduler is gone, and their threads."""
        try:
            found: Mapping[str, int] = self._client.nthreads()
        except OSError:
            return {}
        return found

    def introductions(self, addresses: Sequence[str]) -> Mapping[str, str | BaseException]:
        """Ask workers who they are, all at once."""
        try:
            found: Mapping[str, object] = self._client.run(
                worker.introduce, "", workers=list(addresses), on_error="return"
            )
        except (OSError, RefusedPickleError) as error:
            if isinstance(error, OSError) or len(addresses) == 1:
                return dict.fromkeys(addresses, _readable(error))
            # Of which of them it is isn't said.
            return {where: self.introductions([where])[where] for where in addresses}
        return {where: _readable(answer) for where, answer in found.items()}

    def ask(self, address: str, function: OfText, text: str) -> int:
        """Call a function in the worker at an address, and in no other; return at once."""
        self._last += 1
        question = self._last
        future = self._client.submit(
            answer_text,
            json.dumps(question_of(function, text)),
            workers=[address],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )
        self._futures[question] = future
        future.add_done_callback(lambda _: self._done.put(question))
        return question

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        """Wait for answers, for so long if there are none; each with its question's number."""
        try:
            questions = [self._done.get(timeout=timeout_s)]
            while not self._done.empty():
                questions.append(self._done.get_nowait())
        except queue.Empty:
            return []
        return [(question, self._answer(question)) for question in questions]

    def forget(self, question: int) -> None:
        """Stop waiting for an answer."""
        future = self._futures.pop(question, None)
        if future is not None:
            future.cancel()

    def _answer(self, question: int) -> str | BaseException:
        future = self._futures.pop(question, None)
        if future is None:
            return RuntimeError("nobody waits for this answer")
        try:
            found = _readable(future.result(timeout=_FETCH_S))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this worker's answer
            found = _readable(error)
        if isinstance(found, BaseException):
            return found
        answer = answer_in(read_json(found))
        return WorkerError("what came back is no answer") if answer is None else answer


def _readable(answer: object) -> str | BaseException:
    """Give text or an error, whatever another worker answers."""
    if not isinstance(answer, BaseException):
        return str(answer)
    if isinstance(answer, RefusedPickleError):
        return WorkerError(str(answer))
    if any(isinstance(one, bytes) for one in answer.args):
        # Dask makes it of an error whose pickle was refused, as it is of most.
        return WorkerError("an error, and its log has it")
    return answer


@contextmanager
def scheduler_workers(address: str) -> Iterator[DaskAsking]:
    """
    Connect to a scheduler at "tls://HOST:PORT", with Dask's own configuration, or "tcp://HOST:PORT"
    of this machine alone. Raises Error, and the connection has ended, if what came back could have
    run code here.
    """
    check_dask()
    check_address(address)
    from distributed import Client

    with nothing_unpickled(), _nothing_logged():
        try:
            client = Client(address, timeout=_CONNECT_S)
        except (OSError, ValueError, RuntimeError, TypeError) as cause:
            raise UsageError(
                f"no scheduler answers at {address}: {one_line(str(cause))}",
                hint="`dask scheduler` starts one and prints its address"
                + (_NEEDS_TLS if address.startswith("tls:") else ""),
            ) from None
        try:
            with client:
                yield DaskAsking(client)
        except RefusedPickleError as cause:
            # It has ended the client's connection.
            raise Error(
                f"lost the scheduler at {address}: {cause}",
                hint="one of its workers isn't isthmus, or is hostile",
            ) from None


@contextmanager
def _nothing_logged() -> Iterator[None]:
    """Keep back what Dask logs: what matters is raised, too."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)


def check_dask() -> None:
    """Check early whether Dask is there."""
    with packages_for("a scheduler of Dask", "pip install 'isthmus[scale]'"):
        import distributed  # noqa: F401 - only whether it is there


def check_address(address: str) -> None:
    """Refuse an address whose traffic others could read or change."""
    hint = "write tls://HOST:PORT, and give Dask its certificates: see docs/fleet.md"
    try:
        parts = urlsplit(address)
        known = parts.scheme in {"tls", "tcp"} and parts.hostname and parts.port
    except ValueError:
        known = None
    if not known:
        raise UsageError(f"'{one_line(address)}' is no address of a scheduler", hint=hint)
    if parts.scheme == "tcp" and not _is_loopback(parts.hostname or ""):
        raise UsageError(
            f"{address} isn't encrypted: whoever reaches it can run programs on all nodes",
            hint=hint,
        )


def _is_loopback(host: str) -> bool:
    try:
        return host in _LOCAL or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
