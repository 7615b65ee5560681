"""Calls functions of text on workers of Dask. Only text crosses the network, beside their names."""

import queue
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Client

_FETCH_S = 20

OfText = Callable[[str], str]
"""A function of a module that the workers have, too: its name crosses, and not its code."""


class Questions:
    """Calls that have been made, each with a number, until their answers were given."""

    def __init__(self, client: "Client") -> None:
        """Use the workers of a client's scheduler."""
        self._client = client
        self._futures: dict[int, Any] = {}
        self._done: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._last = 0

    def ask(self, address: str, function: OfText, text: str) -> int:
        """Call a function in the worker at an address, and in no other; return at once."""
        self._last += 1
        question = self._last
        future = self._client.submit(
            function,
            text,
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
            # Of another worker it may be anything.
            return str(future.result(timeout=_FETCH_S))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this worker's answer
            return error
