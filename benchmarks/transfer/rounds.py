"""Times of tasks that take turns, so that slow drifts affect all alike."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_MAX_ROUNDS, _MIN_ROUNDS = 31, 5
_SAMPLE_SECONDS = 200e-6


def nothing() -> None:
    """Prepare nothing."""


@dataclass(frozen=True)
class Task:
    """
    A timed task.

    Attributes:
        run: The timed function; its argument is the result of `prepare`.
        prepare: Called before each run, untimed.
        finish: Called after each run with its result, untimed.
        repeatable: Several runs may be timed as one, if they are short.
    """

    run: Callable[[Any], Any]
    prepare: Callable[[], Any] = nothing
    finish: Callable[[Any], None] = field(default=lambda _result: None)
    repeatable: bool = True


@dataclass
class Times:
    """The seconds of one task's runs."""

    seconds: list[float] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """Summarise them."""
        ordered = sorted(self.seconds)
        return {
            "median_s": statistics.median(ordered),
            "min_s": ordered[0],
            "max_s": ordered[-1],
            "n": len(ordered),
        }


def sample(task: Task, num_repeats: int) -> float:
    """Time some runs; give the seconds of one."""
    prepared, run, result = task.prepare(), task.run, None
    start = time.perf_counter_ns()
    for _ in range(num_repeats):
        result = run(prepared)
    end = time.perf_counter_ns()
    task.finish(result)
    return (end - start) * 1e-9 / num_repeats


def by_turns(
    tasks: Mapping[str, Task],
    *,
    max_seconds: float = 1.0,
    max_rounds: int = _MAX_ROUNDS,
    min_rounds: int = _MIN_ROUNDS,
) -> dict[str, Times]:
    """
    Run tasks in turns, beginning each round with another one, after a warm-up run of each.

    Args:
        tasks: By name.
        max_seconds: About the time that all may take, once `min_rounds` were made.
        max_rounds: The most rounds.
        min_rounds: The fewest rounds.
    """
    repeats: dict[str, int] = {}
    round_seconds = 0.0
    for name, task in tasks.items():
        sample(task, 1)
        once = sample(task, 1)
        repeats[name] = max(1, int(_SAMPLE_SECONDS / max(once, 1e-9))) if task.repeatable else 1
        round_seconds += once * repeats[name]
    affordable = int(max_seconds / max(round_seconds, 1e-9))
    num_rounds = min(max_rounds, max(min_rounds, affordable))
    times = {name: Times() for name in tasks}
    names = list(tasks)
    for number in range(num_rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            times[name].seconds.append(sample(tasks[name], repeats[name]))
    return times
