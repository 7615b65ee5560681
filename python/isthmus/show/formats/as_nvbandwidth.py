"""
A run in nvbandwidth's format: matrix, SUM and COEFFICIENT_OF_VARIATION, or its JSON.

Programs that read nvbandwidth's output can read this one. It has only the tests of nvbandwidth.
"""

import json
import re
from itertools import groupby
from typing import Any

from isthmus.ground.spelling import one_line
from isthmus.measure.run.model import Result, Run, Status
from isthmus.show.formats.nvbandwidth_matrix import Matrix, matrix_of
from isthmus.show.formats.nvbandwidth_tests import LATENCIES, NVBANDWIDTH_TESTS, description
from isthmus.show.heading import emulated_warning

_COLUMN_WIDTH = 10
_NOT_MEASURED = "N/A"
_CUDA_VERSION = re.compile(r"(?P<major>[0-9]{1,4})(?:\.(?P<minor>[0-9]{1,4}))?")
_NOTE = (
    "NOTE: measured by isthmus, whose own report (--format text) has more tests, sizes and "
    "statistics."
)


def as_nvbandwidth(run: Run, *, verbose: bool = False) -> str:
    """Write a run the way nvbandwidth prints one, with its -v (`verbose`)."""
    warning = emulated_warning(run.machine)
    head = [
        f"isthmus Version: {run.run.isthmus_version}, in nvbandwidth's format",
        *([f"NOTE: {warning}"] if warning else []),
        "",
        f"CUDA Runtime Version: {_cuda_number(run)}",
        f"CUDA Driver Version: {_cuda_number(run)}",
        f"Driver Version: {run.machine.driver.driver_version or _NOT_MEASURED}",
        "",
        f"Device {_device(run)}",
        "",
    ]
    body = [line for test in _tests(run) for line in _test_lines(run, test, verbose=verbose)]
    return "\n".join([*head, *body, _NOTE]) + "\n"


def as_nvbandwidth_json(run: Run, *, verbose: bool = False) -> str:
    """Write a run as nvbandwidth's JSON, with cells as text and "N/A"; arguments as above."""
    warning = emulated_warning(run.machine)
    document: dict[str, Any] = {
        "version": f"isthmus {run.run.isthmus_version}",
        "git_version": f"isthmus {run.run.isthmus_version}",
        "CUDA Runtime Version": _cuda_number(run),
        "Driver Version": run.machine.driver.driver_version or _NOT_MEASURED,
        "GPU Device list": [_device(run)],
        **({"warning": warning} if warning else {}),
        "testcases": [_test_object(run, test, verbose=verbose) for test in _tests(run)],
    }
    return json.dumps({"nvbandwidth": document}, indent=3) + "\n"


def _tests(run: Run) -> list[str]:
    names = {result.test for result in run.results}
    return [test for test in NVBANDWIDTH_TESTS if test in names]


def _device(run: Run) -> str:
    """Write a device as nvbandwidth does: its PCI address without the function."""
    device = run.machine.device
    domain, _, rest = device.pci_address.partition(":")
    return f"{device.ordinal}: {device.name} ({domain:0>8}:{rest.partition('.')[0]})"


def _cuda_number(run: Run) -> int:
    """Write CUDA's version as its drivers do: 13.0 is 13000; 0 if it is none."""
    version = _CUDA_VERSION.fullmatch(run.machine.driver.cuda_version)
    return int(version["major"]) * 1000 + int(version["minor"] or 0) * 10 if version else 0


def _test_lines(run: Run, test: str, *, verbose: bool) -> list[str]:
    matrix = matrix_of(run, test)
    if matrix is None:
        status, why = _trouble(run, test)
        return [f"Running {test}.", f"{status}: {one_line(why)}", ""]
    lines = [f"Running {test}.", *(_sample_lines(matrix) if verbose else []), description(test)]
    lines.append("  " + "".join(f"{column:>{_COLUMN_WIDTH}}" for column in matrix.columns))
    lines += [
        f"{row:>2}" + "".join(_cell(matrix, row, column) for column in matrix.columns)
        for row in matrix.rows
    ]
    key = f"{test}_total" if matrix.is_total else test
    values = matrix.values
    lines += ["", f"SUM {key} {sum(values):.2f}"]
    if verbose:
        mean = sum(values) / len(values)
        extremes = {"MIN": min(values), "MAX": max(values), "AVG": mean}
        lines += [f"{name} {key} {value:.2f}" for name, value in extremes.items()]
    return [*lines, f"COEFFICIENT_OF_VARIATION {key} {matrix.variation:.2f}", ""]


def _test_object(run: Run, test: str, *, verbose: bool) -> dict[str, Any]:
    matrix = matrix_of(run, test)
    if matrix is None:
        status, why = _trouble(run, test)
        return {"name": test, "status": status, "error" if status == "Error" else "reason": why}
    values = matrix.values
    mean = sum(values) / len(values)
    extremes = {"min": min(values), "max": max(values), "average": mean} if verbose else {}
    return {
        "name": test,
        "status": "Passed",
        "bandwidth_description": description(test),
        "bandwidth_matrix": [
            [_cell_text(matrix, row, column) for column in matrix.columns] for row in matrix.rows
        ],
        "sum": sum(values),
        "coefficient_of_variation": matrix.variation,
        **extremes,
    }


def _cell(matrix: Matrix, row: int, column: int) -> str:
    value = matrix.value(row, column)
    text = _NOT_MEASURED if value is None else f"{value:.2f}"
    return f"{text:>{_COLUMN_WIDTH}}"


def _cell_text(matrix: Matrix, row: int, column: int) -> str:
    value = matrix.value(row, column)
    return _NOT_MEASURED if value is None else f"{value:.6g}"


def _sample_lines(matrix: Matrix) -> list[str]:
    unit = "ns" if matrix.test in LATENCIES else "GB/s"
    lines = []
    for row, column, samples in matrix.samples():
        ends = _ends(matrix.test, row, column)
        lines += [f"\tSample {n}: {ends}: {value:.2f} {unit}" for n, value in enumerate(samples)]
    return lines


def _ends(test: str, row: int, column: int) -> str:
    if "host" not in test:
        return f"Device {row} -> Device {column}"
    to_host = test.startswith(("device_to_host", "all_to_host"))
    return f"Device {column} -> Host" if to_host else f"Host -> Device {column}"


def _trouble(run: Run, test: str) -> tuple[str, str]:
    """Say why a test has no matrix: the most frequent reason."""
    results = sorted((r for r in run.results if r.test == test), key=_reason)
    groups = [list(group) for _, group in groupby(results, key=_reason)]
    failed = [group for group in groups if group[0].status == Status.ERROR]
    worst = max(failed or groups, key=len)[0]
    return ("Error" if failed else "Waived"), _reason(worst)


def _reason(result: Result) -> str:
    return result.error.message if result.error else result.reason or "not in this format"
