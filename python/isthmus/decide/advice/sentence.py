"""Says an answer as a colleague would."""

from collections.abc import Sequence

from isthmus.decide.advice.question import Buffer, Direction, Question
from isthmus.decide.advice.ways import Name, Way
from isthmus.decide.profile.model import Path
from isthmus.ground.sizes import approximate_size, format_size

_DIRECTIONS = {
    Direction.TO_DEVICE: "to the device",
    Direction.FROM_DEVICE: "from the device",
    Direction.ROUND_TRIP: "to the device and back",
    Direction.REDUCE: "to the device, and {result} back",
}
# What a program does for a way.
_DOINGS = {
    Name.PAGEABLE: "Keep malloc and cudaMemcpy",
    Name.PINNED: "Allocate with cudaMallocHost, and copy with cudaMemcpy",
    Name.REGISTERED: "Register malloc's memory with cudaHostRegister, and copy with cudaMemcpy",
    Name.ISTHMUS: "Keep malloc, and copy with isthmus.copy",
    Name.NEW_PINNED: "Allocate with isthmus.pinned, and copy with isthmus.copy",
    Name.POOL: "Take the buffer from isthmus.pinned's pool, and copy with isthmus.copy",
    Name.KEPT_PAGEABLE: "Copy the buffer as it is, with cudaMemcpy",
    Name.KEPT_REGISTERED: "Register the buffer with cudaHostRegister, and copy with cudaMemcpy",
    Name.KEPT_ISTHMUS: "Copy the buffer as it is, with isthmus.copy",
}
# What most programs do.
PLAIN = {
    Buffer.NEW: Name.PAGEABLE,
    Buffer.PAGEABLE: Name.KEPT_PAGEABLE,
    Buffer.PINNED: Name.KEPT_PAGEABLE,
}


def sentence_of(question: Question, ways: Sequence[Way], first_time: Sequence[Way] = ()) -> str:
    """
    Say what to do, what it takes, and what it gains; of both lists the fastest comes first, and
    `first_time` is for memory whose pages are new.
    """
    best = ways[0]
    done = f"{_DOINGS[best.name]}{_path_words(question, best)}"
    said = f"{done}: {time_text(best.cost.seconds)} for {question_text(question)}."
    first = [_first_time(first_time)] if first_time else []
    return " ".join([said, *_comparisons(question, ways), *first])


def question_text(question: Question) -> str:
    """Write what is copied, and how often: "64 MiB to the device, once"."""
    size = size_text(question.size_bytes)
    where = _DIRECTIONS[question.direction].format(result=format_size(question.result_bytes))
    often = "once" if question.uses == 1 else f"{question.uses} times"
    return f"{size} {where}, {often}"


def size_text(size_bytes: int) -> str:
    """Write a size exactly if that is short: "64 MiB", but "931.3 GiB" for 1 TB."""
    exact = format_size(size_bytes)
    return exact if len(exact) <= len("1000 KiB") else approximate_size(size_bytes)


def _comparisons(question: Question, ways: Sequence[Way]) -> list[str]:
    best, plain = ways[0], next((w for w in ways if w.name == PLAIN[question.buffer]), None)
    found = []
    if plain is not None and plain is not best:
        times = plain.cost.seconds / best.cost.seconds
        apart = plain.copies.seconds / best.copies.seconds
        differs = question.buffer == Buffer.NEW and f"{apart:.2g}" != f"{times:.2g}"
        copies = f" (its copies alone {apart:.3g} times)" if differs else ""
        took = time_text(plain.cost.seconds)
        found.append(f'"{plain.name}" takes {took}, {times:.3g} times as long{copies}.')
    equal = [way for way in ways[1:] if way.cost.overlaps(best.cost)]
    if equal:
        names = " and ".join(f'"{way.name}"' for way in equal)
        found.append(f"{names} {'are' if equal[1:] else 'is'} as fast, within the measured spread.")
    if best.extrapolated:
        found.append("The size is beyond what was measured: times are extrapolated.")
    return found


def _first_time(ways: Sequence[Way]) -> str:
    best, plain = ways[0], next((w for w in ways if w.name == PLAIN[Buffer.NEW]), ways[0])
    took, other = (time_text(way.cost.seconds) for way in (best, plain))
    than = f'; "{plain.name}" takes {other}' if plain != best else ""
    return f'These times are steady. The first time, "{best.name}" is the fastest: {took}{than}.'


def _path_words(question: Question, way: Way) -> str:
    """Name the paths of the directions in which most bytes cross."""
    words = {
        Path.STAGED: "staged",
        Path.WINDOW: "through a window",
        Path.WINDOW_THREADS: "through a window, by several threads",
    }
    most = max(question.crossings.values())
    paths = [way.paths[direction] for direction, size in question.crossings.items() if size == most]
    said = dict.fromkeys(words[path] for path in paths if path in words)
    return f" ({'; '.join(said)})" if said else ""


def time_text(seconds: float) -> str:
    """Write a time with three digits, in the unit that suits it."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            value = seconds * factor
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"  # noqa: PLR2004
    return f"{seconds * 1e9:.3g} ns"
