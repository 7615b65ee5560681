"""Advice as text: the answer in words, the ways in their order, and their break-evens."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from isthmus.decide.advice.answer import Advice
from isthmus.decide.advice.break_evens import BreakEven, Range
from isthmus.decide.advice.question import Buffer, Question
from isthmus.decide.advice.sentence import question_text, size_text, time_text
from isthmus.decide.advice.ways import Way
from isthmus.decide.profile.model import Profile
from isthmus.ground.life import LIVES_NOTE, Life
from isthmus.ground.sizes import approximate_size, format_size
from isthmus.ground.spelling import counted
from isthmus.show.fitting import PAGE_WIDTH, blocks_text, table_lines, wrapped, wrapped_lines
from isthmus.show.heading import WHOSE_TIME
from isthmus.show.page import Table

_EMULATED = f"EMULATED GPU: says nothing about a real one. {WHOSE_TIME}"
_INDENT = " " * 10
_BOYER = (
    "On a GTX 280 (M. Boyer, University of Virginia), cudaMallocHost paid from 16 MB on if "
    "the same bytes went up and down, and at no size if only a result came down."
)
_CLASSIC = (
    "Which sizes gain by leaving malloc and cudaMemcpy? The buffer is allocated and freed once"
)
EXTRAPOLATED = (
    "* extrapolated beyond the measured sizes; whether host and GPU have the memory isn't checked"
)
# Ranges of sizes that are no more than so many times apart are told as one.
_SMALL_GAP = 4
_BUFFERS = {
    Buffer.NEW: "the buffer is allocated and freed once",
    Buffer.PAGEABLE: "the buffer exists, pageable",
    Buffer.PINNED: "the buffer exists, pinned",
}
_OF_TABLES = (
    LIVES_NOTE,
    "In parentheses: the range where either may be faster (spreads overlap).",
)


def advice_as_text(advice: Advice, machine: str, *, width: int = PAGE_WIDTH) -> str:
    """Write an answer."""
    question = advice.question
    head = [*profile_head(advice.profile, machine), f"question  {_question(question)}"]
    blocks = [
        wrapped_lines(head, width, indent=_INDENT),
        wrapped(advice.sentence, width),
        table_lines(_ways_table(advice), width),
        table_lines(_pays_table(advice), width) if advice.pays else [],
        wrapped_lines(
            [*_fastest_lines(advice), *_marks(advice.ways), *_refused(advice), *_lives(advice)],
            width,
            indent="  ",
        ),
    ]
    return blocks_text(blocks)


def classic_as_text(both: Advice, reduced: Advice, machine: str, *, width: int = PAGE_WIDTH) -> str:
    """Write the answers to the two classic questions."""
    often = "once" if both.question.uses == 1 else f"{both.question.uses} times"
    first, last = (format_size(size) for size in both.sizes)
    head = [
        *profile_head(both.profile, machine),
        f"question  {_CLASSIC}, and used {often}.",
    ]
    pairs = [(one, two) for one in both.pays for two in reduced.pays if one.name == two.name]
    tables = [
        Table(
            title=f"Sizes at which each is faster than malloc, cudaMemcpy, {life} "
            f"({first} to {last})",
            heads=("way", "the same bytes up and down", "everything up, 4 B down"),
            rows=tuple(
                (
                    pair[0].name.value,
                    *(_sizes_text(one.of(life), both) for one in pair),
                )
                for pair in pairs
            ),
            num_text_columns=3,
        )
        for life in (Life if pairs else ())
    ]
    notes = [
        *_refused(both),
        *(_OF_TABLES if pairs else ("`isthmus profile` on an idle machine measures more",)),
        _BOYER,
        "`isthmus advise SIZE` answers for one size.",
    ]
    return blocks_text(
        [
            wrapped_lines(head, width, indent=_INDENT),
            *(table_lines(table, width) for table in tables),
            wrapped_lines(notes, width, indent="  "),
        ]
    )


def range_as_text(first: Advice, last: Advice, machine: str, *, width: int = PAGE_WIDTH) -> str:
    """
    Write which way is the fastest at which sizes, from the first answer's to that of the last,
    which has break-evens in the range.
    """
    ends = f"{format_size(last.sizes[0])} to {format_size(last.sizes[1])}"
    head = [
        *profile_head(last.profile, machine),
        f"question  {ends}: {_question(last.question, sized=False)}",
    ]
    named = {one.question.size_bytes: one for one in (first, last)}
    answers = [f"{format_size(size)}: {one.sentence}" for size, one in named.items()]
    return blocks_text(
        [
            wrapped_lines(head, width, indent=_INDENT),
            table_lines(_fastest_table(first, last), width),
            table_lines(_pays_table(last), width) if last.pays else [],
            *(wrapped(answer, width) for answer in answers),
            wrapped_lines(
                [*_marks([*first.ways, *last.ways]), *_refused(last), *_lives(last)],
                width,
                indent="  ",
            ),
        ]
    )


def _fastest_table(first: Advice, last: Advice) -> Table:
    break_evens = last.fastest
    names = [
        break_evens[0].before if break_evens else first.best.name,
        *(break_even.after for break_even in break_evens),
    ]
    starts = [
        format_size(last.sizes[0]),
        *(approximate_size(break_even.at) for break_even in break_evens),
    ]
    between = [
        "",
        *(_between(break_even, approximate_size).strip(" ()") for break_even in break_evens),
    ]
    return Table(
        title="The fastest way",
        heads=("way", "from", "tied with the previous way"),
        rows=tuple(zip((name.value for name in names), starts, between, strict=True)),
    )


def profile_head(profile: Profile, machine: str) -> list[str]:
    """Say on which machine the costs were measured, and whether they are modelled."""
    facts, when = profile.machine, profile.measurement.finished_at
    return [
        *([_EMULATED] if facts.emulated else []),
        f"machine   {facts.gpu_name}, {facts.link}, {counted(round(facts.num_cores), 'core')}",
        f"profile   {machine}, measured {when:%Y-%m-%d}",
    ]


def _question(question: Question, *, sized: bool = True) -> str:
    text = question_text(question)
    if not sized:
        text = text.removeprefix(f"{size_text(question.size_bytes)} ")
    wanted = [text, _BUFFERS[question.buffer]]
    if question.cores is not None:
        wanted.append(f"copies may use {question.cores:g} cores")
    if question.asynchronous:
        wanted.append("the program goes on while copies run")
    return "; ".join(wanted)


def _ways_table(advice: Advice) -> Table:
    return Table(
        title="Ways, the fastest first",
        heads=(
            *("way", "total", "x best", "copies alone"),
            *([Life.FIRST_TIME.value] if advice.first_time else []),
        ),
        rows=tuple(_way_row(way, advice) for way in advice.ways),
    )


def _way_row(way: Way, advice: Advice) -> tuple[str, ...]:
    first = {one.name: time_text(one.cost.seconds) for one in advice.first_time}
    return (
        way.name.value,
        f"{time_text(way.cost.seconds)}{'*' if way.extrapolated else ''}",
        f"{way.cost.seconds / advice.best.cost.seconds:.2f}",
        time_text(way.copies.seconds) if way.copies.seconds else "-",
        *([first.get(way.name, "-")] if first else []),
    )


def _pays_table(advice: Advice) -> Table:
    size, uses = size_text(advice.question.size_bytes), counted(advice.question.uses, "use")
    is_new = bool(advice.first_time)
    return Table(
        title=f'When each takes less time than "{advice.plain}"',
        heads=(
            *("way", f"sizes, at {uses}", f"uses, at {size}"),
            *([f"sizes, {Life.FIRST_TIME}"] if is_new else []),
        ),
        rows=tuple(
            (
                *(one.name.value, _sizes_text(one.sizes, advice), _uses_text(one.uses)),
                *([_sizes_text(one.first_time, advice)] if is_new else []),
            )
            for one in advice.pays
        ),
        num_text_columns=3 + is_new,
    )


def _fastest_lines(advice: Advice) -> list[str]:
    """Say which way is the fastest between which sizes."""
    break_evens = advice.fastest
    if not break_evens:
        return []
    parts = [f'"{break_evens[0].before}" below {approximate_size(break_evens[0].at)}']
    parts += [
        f'"{break_even.after}" from {approximate_size(break_even.at)}' for break_even in break_evens
    ]
    return [f"fastest: {', '.join(parts)}"]


def _refused(advice: Advice) -> list[str]:
    return [f"not possible: {name}: {why}" for name, why in advice.refused]


def _lives(advice: Advice) -> list[str]:
    """Say which question each number answers."""
    return [LIVES_NOTE] if advice.first_time else []


def _marks(ways: Iterable[Way]) -> list[str]:
    return [EXTRAPOLATED] if any(way.extrapolated for way in ways) else []


def _sizes_text(ranges: Sequence[Range] | None, asked: Advice) -> str:
    if ranges is None:
        return "-"
    if not ranges:
        return f"not up to {size_text(asked.sizes[1])}"
    return ranges_text(ranges, approximate_size, "always")


def _uses_text(ranges: Sequence[Range]) -> str:
    return ranges_text(ranges, str, "the first use") if ranges else "never"


def ranges_text(ranges: Sequence[Range], text: Callable[[int], str], everywhere: str) -> str:
    """Write ranges: "26 KiB to 1.8 MiB, from 47 MiB (45 MiB to 50 MiB)"."""
    parts = []
    joined = _joined(ranges)
    for one in joined:
        if one.first is None:
            parts.append(
                everywhere if one.last is None else f"up to {_break_even_text(one.last, text)}"
            )
        elif one.last is None:
            parts.append(f"from {_break_even_text(one.first, text)}")
        else:
            parts.append(
                f"{_break_even_text(one.first, text)} to {_break_even_text(one.last, text)}"
            )
    mostly = "mostly " if len(joined) < len(ranges) else ""
    return mostly + ", ".join(parts)


def _joined(ranges: Sequence[Range]) -> list[Range]:
    """Join neighbours with a small gap: JSON has them all."""
    joined = list(ranges[:1])
    for one in ranges[1:]:
        last = joined[-1].last
        if last is not None and one.first is not None and one.first.at <= _SMALL_GAP * last.at:
            joined[-1] = replace(joined[-1], last=one.last)
        else:
            joined.append(one)
    return joined


def _break_even_text(break_even: BreakEven, text: Callable[[int], str]) -> str:
    at, between = text(break_even.at), _between(break_even, text)
    return at + {f" (up to {at})": " or less", f" (from {at})": " or more"}.get(between, between)


def _between(break_even: BreakEven, text: Callable[[int], str]) -> str:
    """Write where the spreads meet, unless that is the break-even; an open end is left out."""
    low, high = (None if end is None else text(end) for end in (break_even.low, break_even.high))
    at = text(break_even.at)
    if (
        (low or at) == (high or at) == at
        and break_even.low is not None
        and break_even.high is not None
    ):
        return ""
    if low is None and high is None:
        return " (spreads meet everywhere)"
    if low is None:
        return f" (up to {high})"
    return f" (from {low})" if high is None else f" ({low} to {high})"
