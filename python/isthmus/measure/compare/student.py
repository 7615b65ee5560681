"""Student's t distribution: tails and quantiles for whole degrees of freedom."""

from math import atan2, cos, inf, pi, sin, sqrt
from statistics import NormalDist

# From here on, the normal distribution's tails differ by less than matters to a verdict.
_NORMAL_FROM = 400
_STEPS = 200


def upper_tail(t: float, freedom: float) -> float:
    """
    Give the probability that a value of Student's distribution is larger than `t` (Abramowitz and
    Stegun, 26.7.3 and 26.7.4). A part of a degree of freedom is cut off, which makes it larger.
    """
    if t < 0:
        return 1 - upper_tail(-t, freedom)
    if freedom >= _NORMAL_FROM:
        return NormalDist().cdf(-t)
    n = max(1, int(freedom))
    angle = atan2(t, sqrt(n))
    return max(0.0, (1 - _two_sided(angle, n)) / 2)


def quantile(tail: float, freedom: float) -> float:
    """Give the value above which `tail`, at most one half, of the distribution lies."""
    low, high = 0.0, 1.0
    while upper_tail(high, freedom) > tail:
        low, high = high, 2 * high
        if high == inf:
            return inf
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if upper_tail(middle, freedom) > tail else (low, middle)
    return high


def _two_sided(angle: float, n: int) -> float:
    """Give the probability between -t and t, where `angle` is atan(t / sqrt(n))."""
    squared = cos(angle) ** 2
    if n % 2 == 0:
        return sin(angle) * _series(squared, range(1, n - 2, 2))
    if n == 1:
        return 2 * angle / pi
    return 2 / pi * (angle + sin(angle) * cos(angle) * _series(squared, range(2, n - 2, 2)))


def _series(squared: float, factors: range) -> float:
    """Add 1 + f/(f+1) c + f(f+2)/((f+1)(f+3)) c^2 + ..., for the factors f, f+2, ..."""
    total = term = 1.0
    for factor in factors:
        term *= squared * factor / (factor + 1)
        total += term
    return total
