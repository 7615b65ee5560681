"""Workers of Dask that come and go, each of which can do any work of one kind."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from isthmus.fleet.introductions import introduced, introductions
from isthmus.fleet.questions import OfText, Questions

if TYPE_CHECKING:
    from distributed import Client


class DaskWorkers:
    """The workers of a scheduler, and those that join it later; only text crosses the network."""

    def __init__(
        self,
        client: "Client",
        function: OfText,
        say: Callable[[str], None],
        *,
        names: Mapping[str, str] | None = None,
        refused: Collection[str] = (),
    ) -> None:
        """
        Use the workers.

        Args:
            client: A client of their scheduler.
            function: What they are to call.
            say: Gets a line about each worker that comes later and can't be used.
            names: What workers are called, by address; the others are called by it.
            refused: The addresses of those that are known to be of no use.

        Raises:
            UsageError: One has another version of Isthmus, or none.
        """
        self._client = client
        self._function = function
        self._say = say
        self._questions = Questions(client)
        self._names = dict(names or {})
        self._addresses = {name: where for where, name in self._names.items()}
        # Of those that can't be used, too: an address never comes back.
        self._usable = dict.fromkeys(refused, False)
        new = sorted(set(client.nthreads()) - set(refused))
        self._usable |= dict.fromkeys(introductions(client, new), True)

    def threads(self) -> Mapping[str, int]:
        """Give the workers that can be asked now, and how many questions each answers at once."""
        try:
            here = self._client.nthreads()
            for where in sorted(set(here) - set(self._usable)):
                self._usable[where] = self._is_usable(where)
        except OSError:
            # The scheduler is gone.
            return {}
        return {
            self._names.get(where, where): number
            for where, number in here.items()
            if self._usable[where]
        }

    def ask(self, worker: str, text: str) -> int:
        """Ask a worker, and return at once; gives a number for the question."""
        address = self._addresses.get(worker, worker)
        return self._questions.ask(address, self._function, text)

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        """Wait for answers, for so long if there are none; each with its question's number."""
        return self._questions.answers(timeout_s)

    def forget(self, question: int) -> None:
        """Stop waiting for an answer."""
        self._questions.forget(question)

    def _is_usable(self, where: str) -> bool:
        _, refused = introduced(self._client, {where: self._names.get(where, where)})
        # One that was lost meanwhile has nothing wrong.
        if refused and where in self._client.nthreads():
            self._say(f"not used: {refused[where]}")
        return not refused
