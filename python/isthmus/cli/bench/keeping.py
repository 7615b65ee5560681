"""Keeps a run among the user's runs: its points while it is measured, and all of it at the end."""

from collections.abc import Sequence

from isthmus.cli.stderr import say, say_lines
from isthmus.errors import WriteError
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.store import RunJournal, check_runs_folder, place_of_runs, save_run


class Keeping:
    """
    Keeps one run. A folder that can't be written never fails a measurement: a warning says so, and
    the results still go to stdout and to --output.
    """

    def __init__(self, *, wanted: bool) -> None:
        """Prepare; nothing is written yet."""
        self._wanted = wanted
        self._journal: RunJournal | None = None
        self._writing = True

    def warn_early(self) -> None:
        """Warn if the run can't be kept, before anything is measured."""
        if not self._wanted:
            return
        try:
            check_runs_folder()
        except WriteError as error:
            self._give_up(error)

    def begin(self, begun: Run) -> None:
        """Begin the run's journal, from which `isthmus runs` reads it if this process is killed."""
        if not self._wanted:
            return
        try:
            self._journal = RunJournal(place_of_runs(), begun)
        except WriteError as error:
            self._give_up(error)

    def add(self, results: Sequence[Result]) -> None:
        """Add a finished point to the journal."""
        if self._journal is None or not self._writing:
            return
        try:
            self._journal.add(results)
        except WriteError as error:
            # There may be room again at the end, and until then the earlier points are kept.
            say(f"warning: this point and later ones are not kept yet: {error}")
            self._writing = False

    def end(self, run: Run) -> None:
        """Write the run's file, and remove the journal when the file is durable."""
        if not self._wanted:
            return
        if run.run.interrupted and not run.results:
            say("no point was finished: nothing is stored")
        else:
            try:
                say_lines(f"run saved: {save_run(run)}")
            except WriteError as error:
                self._warn_at_the_end(error)
                return
        if self._journal is not None:
            self._journal.remove()

    def _warn_at_the_end(self, error: WriteError) -> None:
        if self._journal is None:
            say(f"warning: this run is not kept: {error}")
        else:
            self._journal.close()
            say(f"warning: this run is kept unfinished: {error}")
        say(f"hint: {error.hint}")

    def _give_up(self, error: WriteError) -> None:
        self._wanted = False
        say(f"warning: this run will not be kept: {error}")
        say(f"hint: {error.hint}")
