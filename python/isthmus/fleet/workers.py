"""Workers that come and go, each of which can do any work of one kind."""

from collections.abc import Callable, Collection, Iterable, Mapping

from isthmus.fleet.asking import Asking, OfText
from isthmus.fleet.introductions import introduced, introductions


class AskedWorkers:
    """The workers that are there, and those that come later."""

    def __init__(
        self,
        asking: Asking,
        function: OfText,
        say: Callable[[str], None],
        *,
        refused: Collection[str] = (),
    ) -> None:
        """
        Use the workers, but those whose addresses are refused; `say` gets a line about each that
        comes later and can't be used.
        """
        self._asking = asking
        self._function = function
        self._say = say
        # Of those that can't be used, too: an address never comes back.
        self._usable = dict.fromkeys(refused, False)
        new = sorted(set(asking.threads()) - set(refused))
        self._usable |= dict.fromkeys(introductions(asking, new), True)

    def threads(self) -> Mapping[str, int]:
        """Give the workers that can be asked now, and how many questions each answers at once."""
        here = self._asking.threads()
        for where in sorted(set(here) - set(self._usable)):
            self._usable[where] = self._is_usable(where)
        return {where: number for where, number in here.items() if self._usable[where]}

    def ask(self, worker: str, text: str) -> int:
        """Ask a worker, and return at once; gives a number for the question."""
        return self._asking.ask(worker, self._function, text)

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        """Wait for answers, for so long if there are none; each with its question's number."""
        return self._asking.answers(timeout_s)

    def forget(self, question: int) -> None:
        """Stop waiting for an answer."""
        self._asking.forget(question)

    def _is_usable(self, where: str) -> bool:
        _, refused = introduced(self._asking, {where: where})
        # One that was lost meanwhile has nothing wrong.
        if refused and where in self._asking.threads():
            self._say(f"not used: {refused[where]}")
        return not refused
