"""How long a run may take: what its measurements share, and what the user is promised."""

from dataclasses import dataclass, replace

from isthmus.measure.bench.request import Request

# The end of a time that the user gives is a reserve for the last point and for what follows it:
# this part, at least so many seconds (an H200 needed 1.3: benchmarks/frontdoor), and at most half
# of the time. Points share a part of what is before it.
_RESERVE, _MIN_RESERVE_S, _PLANNED = 0.15, 1.5, 0.82


@dataclass(frozen=True, kw_only=True)
class TimeLimits:
    """
    The time of a run, in seconds.

    Attributes:
        budget_s: What all points share. Allocations and large copies overrun it.
        latest_s: So long after the first point began, no further one begins. None sets no limit:
            the user gave a number of samples.
        promised_s: From the start of the program, when it has ended. None if nothing is promised.
    """

    budget_s: float
    latest_s: float | None
    promised_s: float | None

    def left_s(self, spent_s: float) -> float | None:
        """Give the promised time that is left when so much is spent; None without a promise."""
        return None if self.promised_s is None else max(0.0, self.promised_s - spent_s)

    @property
    def words(self) -> str:
        """Say how long the run will take."""
        if self.promised_s is None:
            return "with the given number of samples, however long it takes"
        return f"at most {self.promised_s:g} s"


REAL = TimeLimits(budget_s=180.0, latest_s=220.0, promised_s=240.0)
EMULATED = TimeLimits(budget_s=12.0, latest_s=26.0, promised_s=30.0)
QUICK = TimeLimits(budget_s=8.0, latest_s=12.0, promised_s=15.0)
# More samples of a modelled link show nothing new.
_QUICK_EMULATED = replace(QUICK, budget_s=4.0)


def time_limits(request: Request, *, emulated: bool) -> TimeLimits:
    """Choose the time of a run: the user's, or the default of its device."""
    usual = _usual(quick=request.quick, emulated=emulated)
    if request.num_samples is not None:
        return TimeLimits(budget_s=usual.budget_s, latest_s=None, promised_s=None)
    if request.budget_s is not None:
        usual = _limits_within(request.budget_s)
    return _without(usual, request.spent_s)


def _usual(*, quick: bool, emulated: bool) -> TimeLimits:
    if quick:
        return _QUICK_EMULATED if emulated else QUICK
    return EMULATED if emulated else REAL


def _limits_within(seconds: float) -> TimeLimits:
    reserve_s = min(max(_RESERVE * seconds, _MIN_RESERVE_S), 0.5 * seconds)
    latest_s = seconds - reserve_s
    return TimeLimits(budget_s=_PLANNED * latest_s, latest_s=latest_s, promised_s=seconds)


def _without(limits: TimeLimits, spent_s: float) -> TimeLimits:
    """Take the start of the program off the time of the measurements, but at most half of it."""
    if limits.latest_s is None:
        return limits
    spent = min(spent_s, 0.5 * limits.latest_s)
    part = 1 - spent / limits.latest_s
    return replace(limits, budget_s=part * limits.budget_s, latest_s=limits.latest_s - spent)
