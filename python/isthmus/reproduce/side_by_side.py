"""The page of an experiment: theirs, ours, and ours over theirs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from isthmus.ground.sizes import format_size
from isthmus.ground.spelling import counted
from isthmus.measure.run.model import Run
from isthmus.reproduce.cells import ours_cell, ratio_cell, theirs_cell
from isthmus.reproduce.matching import NOT_THIS_SIZE, Pair, pairs_of
from isthmus.reproduce.publication import Publication, Series
from isthmus.show.heading import about_device, emulated_warning, head_lines
from isthmus.show.numbers import gigabytes_per_second, ratio
from isthmus.show.page import Page, Table
from isthmus.show.tables.sparks import RATIO_HEAD, ratio_dot

_HEADS = ("", "size", "theirs", "ours", "ours / theirs")
_BETWEEN = "* interpolated between two measured sizes (log-log)"
_RANGES = "within, overlaps, below, above: our number against the published range"


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """One experiment, measured again."""

    publication: Publication
    run: Run
    pairs: tuple[Pair, ...]


def reproduced(publication: Publication, run: Run) -> Reproduced:
    """Put a run beside published figures."""
    pairs = tuple(pairs_of(publication, run))
    return Reproduced(publication=publication, run=run, pairs=pairs)


def page_of(one: Reproduced, *, pictures: bool) -> Page:
    """
    Lay out an experiment; pictures are dots for ratios, in characters that need an encoding such as
    UTF-8.
    """
    shown = [pair for pair in one.pairs if pair.ours is not None or not _of_series(pair, one)]
    names = dict.fromkeys(pair.figure.table for pair in shown)
    by_name = {name: [pair for pair in shown if pair.figure.table == name] for name in names}
    tables = [
        *(table for name, pairs in by_name.items() for table in _tables(name, pairs, pictures)),
        _all_sizes(one),
    ]
    return Page(
        warning=emulated_warning(one.run.machine),
        head=(*head_lines(one.run), *source_lines(one.publication)),
        tables=about_device(one.run.machine, tables),
        foot=tuple(_foot(one)),
        problems=tuple(_problems(one)),
    )


def source_lines(publication: Publication) -> list[str]:
    """Say whose figures stand beside ours, and where they were measured."""
    source = publication.source
    address = f", {source.address}" if source.address else ""
    year = f", {source.year}" if source.year else ""
    author = "" if source.author == "not named" else f"{source.author}: "
    # The original's characters may be two columns wide.
    title = source.title_in_english or source.title
    return [
        f"theirs  {author}{title}{year}{address}",
        f"on      {source.hardware}",
    ]


def _of_series(pair: Pair, one: Reproduced) -> bool:
    return any(pair.figure.quantity == series.quantity for series in one.publication.series)


def _tables(title: str, pairs: Sequence[Pair], pictures: bool) -> Iterable[Table]:
    theirs = [pair for pair in pairs if pair.figure.published]
    if theirs:
        yield _table(title, theirs, pictures)
    alone = [pair for pair in pairs if pair not in theirs]
    if alone:
        yield Table(
            title=f"{title}: ours at other sizes",
            heads=("", "size", "ours"),
            rows=tuple(
                (pair.figure.quantity, format_size(pair.figure.bytes or 0), ours_cell(pair))
                for pair in alone
            ),
            num_text_columns=2,
        )


def _table(title: str, pairs: Sequence[Pair], pictures: bool) -> Table:
    sized = any(pair.figure.bytes for pair in pairs)
    dots = pictures and any(pair.ratio for pair in pairs)
    rows = [_row(pair, sized=sized, dots=dots) for pair in pairs]
    heads = (*(_HEADS if sized else (*_HEADS[:1], *_HEADS[2:])), *((RATIO_HEAD,) * dots))
    return Table(title=title, heads=heads, rows=tuple(rows), num_text_columns=2 if sized else 1)


def _row(pair: Pair, *, sized: bool, dots: bool) -> tuple[str, ...]:
    figure = pair.figure
    size = (format_size(figure.bytes) if figure.bytes else "",) if sized else ()
    dot = (ratio_dot(pair.ratio),) if dots else ()
    cells = theirs_cell(figure), ours_cell(pair), ratio_cell(pair)
    return (figure.quantity, *size, *cells, *dot)


def _all_sizes(one: Reproduced) -> Table | None:
    """Compare rates over all sizes: theirs were measured at more sizes than ours."""
    rows = []
    for series in one.publication.series:
        theirs = [figure.scaled(figure.value) or 0.0 for figure in series.figures()]
        ours = [pair.ours.low for pair in _pairs(one, series) if pair.ours]
        if series.unit == "B/s" and ours:
            middle = ratio(median(ours), median(theirs))
            rows.append((series.quantity, _spread(theirs), _spread(ours), middle))
    if not rows:
        return None
    return Table(
        title="All sizes of each, GB/s: median (minimum to maximum)",
        heads=("", "theirs", "ours", "ours / theirs"),
        rows=tuple(rows),
    )


def _spread(rates: Sequence[float]) -> str:
    least, most = gigabytes_per_second(min(rates)), gigabytes_per_second(max(rates))
    return f"{gigabytes_per_second(median(rates))} ({least} to {most})"


def _pairs(one: Reproduced, series: Series) -> list[Pair]:
    return [
        pair
        for pair in one.pairs
        if pair.figure.quantity == series.quantity and pair.figure.published
    ]


def _foot(one: Reproduced) -> Iterable[str]:
    theirs = [pair for pair in one.pairs if pair.figure.published]
    num_found, num_all = sum(pair.ours is not None for pair in theirs), len(theirs)
    if any(pair.ours and pair.ours.between for pair in one.pairs):
        yield _BETWEEN
    if any(pair.ours and (pair.figure.low or pair.figure.high) for pair in one.pairs):
        yield _RANGES
    yield from (f"note: {note}" for note in one.publication.source.notes)
    if num_found < num_all:
        sizes_left_out = any(pair.why_not == NOT_THIS_SIZE for pair in theirs)
        more = "`--sizes all` measures all of their sizes; " if sizes_left_out else ""
        yield (
            f"{num_found} of {counted(num_all, 'published number')} compared; {more}`--format "
            "json` has all"
        )


def _problems(one: Reproduced) -> Iterable[str]:
    """Say for each reason which figures have none of ours, except other sizes of a series."""
    reasons: dict[str, list[str]] = {}
    for pair in one.pairs:
        if pair.ours is None and not (_of_series(pair, one) and pair.why_not == NOT_THIS_SIZE):
            size = f" at {format_size(pair.figure.bytes)}" if pair.figure.bytes else ""
            reasons.setdefault(pair.why_not, []).append(f"{pair.figure.quantity}{size}")
    for reason, figures in reasons.items():
        yield f"not compared: {'; '.join(figures)}: {reason}"
