"""Workers of Dask that come and go, each of which can do any work of one kind."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from isthmus.errors import UsageError
from isthmus.fleet.introductions import introductions
from isthmus.fleet.questions import OfText, Questions

if TYPE_CHECKING:
    from distributed import Client


class DaskWorkers:
    """The workers of a scheduler, and those that join it later; only text crosses the network."""

    def __init__(self, client: "Client", function: OfText, say: Callable[[str], None]) -> None:
        """
        Use the workers.

        Args:
            client: A client of their scheduler.
            function: What they are to call.
            say: Gets a line about each worker that comes later and can't be used.

        Raises:
            UsageError: One has another version of Isthmus, or none.
        """
        self._client = client
        self._function = function
        self._say = say
        self._questions = Questions(client)
        # Of those that can't be used, too: an address never comes back.
        self._usable = dict.fromkeys(introductions(client, sorted(client.nthreads())), True)

    def threads(self) -> Mapping[str, int]:
        """Give the workers that can be asked now, and how many questions each answers at once."""
        try:
            here = self._client.nthreads()
            for where in sorted(set(here) - set(self._usable)):
                self._usable[where] = self._is_usable(where)
        except OSError:
            # The scheduler is gone.
            return {}
        return {where: number for where, number in here.items() if self._usable[where]}

    def ask(self, worker: str, text: str) -> int:
        """Ask a worker, and return at once; gives a number for the question."""
        return self._questions.ask(worker, self._function, text)

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        """Wait for answers, for so long if there are none; each with its question's number."""
        return self._questions.answers(timeout_s)

    def forget(self, question: int) -> None:
        """Stop waiting for an answer."""
        self._questions.forget(question)

    def _is_usable(self, where: str) -> bool:
        try:
            introductions(self._client, [where])
        except UsageError as error:
            # One that was lost meanwhile has nothing wrong.
            if where in self._client.nthreads():
                self._say(f"not used: {error}")
            return False
        return True
