"""A test's results as nvbandwidth's matrix: rows are the CPU or GPUs, columns GPUs."""

from dataclasses import dataclass
from statistics import fmean

from isthmus.measure.run.model import Result, Run, Status
from isthmus.show.formats.nvbandwidth_tests import LATENCIES

_BYTES_PER_GB, _NS_PER_S = 1e9, 1e9
_METRICS = frozenset({"bandwidth", "access_latency"})
_BOTH_WAYS = "device_to_device_bidirectional"
# The axis that names a result's GPU in a run with several; the other end of a copy between two.
GPU, PEER = "gpu", "peer"


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """
    One test.

    Attributes:
        cells: The results, by row and column.
    """

    test: str
    cells: dict[tuple[int, int], Result]
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def value(self, row: int, column: int) -> float | None:
        """Give a cell's number in GB/s or ns; None if it wasn't measured."""
        places = [(row, column), *([(column, row)] if self.is_total else [])]
        numbers = [self._number(self.cells[place]) for place in places if place in self.cells]
        known = [number for number in numbers if number is not None]
        return sum(known) * self.factor if len(known) == len(places) else None

    @property
    def is_total(self) -> bool:
        """Whether a cell is the sum of both directions between two GPUs."""
        return self.test.startswith(_BOTH_WAYS)

    @property
    def factor(self) -> float:
        """The factor from bytes and seconds to the matrix's unit."""
        return _NS_PER_S if self.test in LATENCIES else 1 / _BYTES_PER_GB

    @property
    def values(self) -> list[float]:
        """All numbers that were measured."""
        found = (self.value(row, column) for row in self.rows for column in self.columns)
        return [value for value in found if value is not None]

    @property
    def variation(self) -> float:
        """The coefficient of variation of a cell's samples, averaged over the cells."""
        covs = [result.cov for result in self.cells.values() if result.cov is not None]
        return fmean(covs) if covs else 0.0

    def samples(self) -> list[tuple[int, int, list[float]]]:
        """List each cell's raw samples in the matrix's unit, if they were kept."""
        return [
            (row, column, [sample * self.factor for sample in result.samples])
            for (row, column), result in self.cells.items()
            if result.samples
        ]

    def _number(self, result: Result) -> float | None:
        return result.median


def matrix_of(run: Run, test: str) -> Matrix | None:
    """
    Collect a test's matrix: for each pair, the largest size in plain circumstances; None if nothing
    fills a cell.
    """
    cells: dict[tuple[int, int], Result] = {}
    for result in run.results:
        if result.test == test and result.status == Status.PASSED and _plain(result):
            place = _place(run, result)
            if place not in cells or cells[place].bytes < result.bytes:
                cells[place] = result
    if not cells:
        return None
    places = cells.keys()
    columns = tuple(sorted({column for _, column in places}))
    rows = tuple(sorted({row for row, _ in places}))
    if any(PEER in result.axes for result in cells.values()):
        rows = columns = tuple(sorted({*rows, *columns}))
    matrix = Matrix(test=test, cells=cells, rows=rows, columns=columns)
    return matrix if matrix.values else None


def _plain(result: Result) -> bool:
    near = result.cpu_node in {None, "near"}
    alone = not result.axes.keys() - {GPU, PEER}
    usual = result.cpu_cache == "warm" and result.num_threads == 1
    return result.metric in _METRICS and near and alone and usual


def _place(run: Run, result: Result) -> tuple[int, int]:
    gpu = int(result.axes.get(GPU, run.machine.device.ordinal))
    if PEER in result.axes:
        return gpu, int(result.axes[PEER])
    return 0, gpu
