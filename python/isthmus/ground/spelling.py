"""Writes CPU numbers, CUDA versions and counted things in the same form everywhere."""

from collections.abc import Iterable, Sequence


def cpu_list(cpus: Iterable[int]) -> str:
    """Write CPU numbers the way the kernel does: "0-3,8"."""
    spans: list[list[int]] = []
    for cpu in sorted(cpus):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def cuda_version(version: int) -> str:
    """Write a version as cuDriverGetVersion counts it: 13000 is "13.0"."""
    return f"{version // 1000}.{version % 1000 // 10}"


def cuda_major(version: int) -> int:
    """Give the major version: 13 for 13000."""
    return version // 1000


def listed(words: Sequence[str]) -> str:
    """Write at least one thing after another: "a", "a and b", "a, b and c"."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def counted(number: int, noun: str) -> str:
    """Write how many there are: "1 device", "2 devices"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
