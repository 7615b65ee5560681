"""Runs in the formats of nvbandwidth and of GDRCopy's tests, parsed as other programs do."""

import json
import re

import pytest

from fakes import runs
from isthmus.errors import UsageError
from isthmus.measure.run.model import Result, Run, Status
from isthmus.show.format import RunFormat, TableLayout
from isthmus.show.formats.as_gdrcopy import as_gdrcopy
from isthmus.show.formats.as_nvbandwidth import as_nvbandwidth, as_nvbandwidth_json
from isthmus.show.formats.nvbandwidth_tests import NVBANDWIDTH_TESTS, description, listing_text
from isthmus.show.formats.render import render_as

_H2D, _D2H = "host_to_device_memcpy_ce", "device_to_host_memcpy_ce"
_PEERS = "device_to_device_memcpy_read_ce"


def passed(run: Run, test: str, size_bytes: int = 1 << 30) -> Result:
    return next(
        r for r in run.results if (r.test, r.bytes, r.status) == (test, size_bytes, Status.PASSED)
    )


def with_results(*results: Result, emulated: bool = False) -> Run:
    return runs.run(emulated=emulated).model_copy(update={"results": list(results)})


def copy(test: str, gb_per_s: float, **fields: object) -> Result:
    result = passed(runs.run(), _H2D)
    return result.model_copy(update={"test": test, "median": gb_per_s * 1e9, **fields})


def parsed(text: str) -> dict[str, list[list[str]]]:
    """Read matrices as health checks do: after "Running", a line of columns, rows up to SUM."""
    found: dict[str, list[list[str]]] = {}
    for block in text.split("Running ")[1:]:
        name = block.partition(".\n")[0]
        rows = block.partition("bandwidth (GB/s)\n")[2].partition("\n\nSUM")[0].splitlines()
        found[name] = [row.split() for row in rows]
    return found


def test_a_matrix_has_its_description_columns_rows_sum_and_variation() -> None:
    run = with_results(copy(_H2D, 55.344, cov=0.0012), copy(_D2H, 55.2))
    lines = as_nvbandwidth(run).splitlines()
    start = lines.index(f"Running {_H2D}.")
    assert lines[start + 1 : start + 7] == [
        "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
        "           0",
        " 0     55.34",
        "",
        f"SUM {_H2D} 55.34",
        f"COEFFICIENT_OF_VARIATION {_H2D} 0.00",
    ]
    assert "Device 0: Test GPU (00000000:01:00)" in lines
    assert "CUDA Driver Version: 13000" in lines
    assert parsed(as_nvbandwidth(run))[_D2H] == [["0"], ["0", "55.20"]]


def test_several_gpus_are_columns_and_pairs_of_gpus_a_square_without_its_diagonal() -> None:
    cells = [copy("all_to_host_memcpy_ce", 40.0 + gpu, axes={"gpu": gpu}) for gpu in (0, 1)]
    pairs = [
        copy(_PEERS, 100.0 + row, axes={"gpu": row, "peer": column})
        for row, column in ((0, 1), (1, 0))
    ]
    text = as_nvbandwidth(with_results(*cells, *pairs))
    matrices = parsed(text)
    assert matrices["all_to_host_memcpy_ce"] == [["0", "1"], ["0", "40.00", "41.00"]]
    assert matrices[_PEERS] == [["0", "1"], ["0", "N/A", "100.00"], ["1", "101.00", "N/A"]]
    assert f"SUM {_PEERS} 201.00" in text


def test_both_ways_between_gpus_are_summed_as_nvbandwidth_s_total() -> None:
    name = "device_to_device_bidirectional_memcpy_read_ce"
    pairs = [
        copy(name, 100.0 + row, axes={"gpu": str(row), "peer": str(1 - row)}) for row in (0, 1)
    ]
    text = as_nvbandwidth(with_results(*pairs))
    assert "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)" in text
    assert f"SUM {name}_total 402.00" in text
    assert "SUM" not in as_nvbandwidth(with_results(pairs[0]))


def test_only_the_largest_size_in_plain_circumstances_is_shown() -> None:
    run = with_results(
        copy(_H2D, 10.0, bytes=4096),
        copy(_H2D, 55.0),
        copy(_H2D, 99.0, axes={"contents": "zeros"}, bytes=1 << 31),
        copy(_H2D, 99.0, cpu_node="far", bytes=1 << 31),
    )
    assert parsed(as_nvbandwidth(run))[_H2D][1] == ["0", "55.00"]


def test_tests_that_nvbandwidth_does_not_have_are_not_shown() -> None:
    text = as_nvbandwidth(runs.run())
    names = re.findall(r"^Running (\w+)\.$", text, re.MULTILINE)
    assert names
    assert set(names) <= set(NVBANDWIDTH_TESTS)


def test_what_was_waived_or_failed_says_so_with_the_reason() -> None:
    waived = copy(_H2D, 1.0, status=Status.WAIVED, median=None, reason="one GPU only")
    text = as_nvbandwidth(with_results(waived))
    assert "Waived: one GPU only" in text
    assert "SUM" not in text
    document = json.loads(as_nvbandwidth_json(with_results(waived)))
    (case,) = document["nvbandwidth"]["testcases"]
    assert case == {"name": _H2D, "status": "Waived", "reason": "one GPU only"}


def test_its_json_has_its_keys_and_cells_as_text() -> None:
    pairs = [copy(_PEERS, 100.5, axes={"gpu": 0, "peer": 1})]
    document = json.loads(as_nvbandwidth_json(with_results(copy(_H2D, 55.344), *pairs)))
    root = document["nvbandwidth"]
    assert root["CUDA Runtime Version"] == 13000
    assert root["GPU Device list"] == ["0: Test GPU (00000000:01:00)"]
    first, second = root["testcases"]
    assert (first["name"], first["status"]) == (_H2D, "Passed")
    assert first["bandwidth_description"] == "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"
    assert first["bandwidth_matrix"] == [["55.344"]]
    assert first["sum"] == pytest.approx(55.344)
    assert second["bandwidth_matrix"] == [["N/A", "100.5"], ["N/A", "N/A"]]


def test_verbose_adds_samples_and_extremes() -> None:
    run = with_results(copy(_H2D, 50.0, mean=52e9, samples=[48e9, 56e9]))
    plain = as_nvbandwidth(run)
    assert f"SUM {_H2D} 50.00" in plain
    assert "Sample" not in plain
    text = as_nvbandwidth(run, verbose=True)
    assert "\tSample 1: Host -> Device 0: 56.00 GB/s" in text
    assert f"MIN {_H2D} 50.00\nMAX {_H2D} 50.00\nAVG {_H2D} 50.00" in text


def test_a_latency_is_in_nanoseconds() -> None:
    chase = copy(
        "host_device_latency_sm", 1.0, metric="access_latency", unit="s", median=1.19119e-6
    )
    text = as_nvbandwidth(with_results(chase))
    assert "memory latency SM CPU(row) <-> GPU(column) (ns)" in text
    assert "SUM host_device_latency_sm 1191.19" in text


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("device_to_host_memcpy_sm", "SM CPU(row) <- GPU(column) bandwidth"),
        ("host_to_device_bidirectional_memcpy_ce", "CE CPU(row) <-> GPU(column) bandwidth"),
        ("host_to_all_memcpy_ce", "CE CPU(row) -> GPU(column) bandwidth"),
        ("device_to_device_memcpy_read_ce", "CE GPU(row) -> GPU(column) bandwidth"),
        ("device_to_device_memcpy_write_sm", "SM GPU(row) <- GPU(column) bandwidth"),
        ("all_to_one_write_ce", "CE GPU(row) <- GPU(column) bandwidth"),
        ("one_to_all_write_ce", "CE GPU(row) -> GPU(column) bandwidth"),
        ("one_to_all_read_ce", "CE GPU(row) <- GPU(column) bandwidth"),
    ],
)
def test_arrows_point_as_nvbandwidth_s_do(test: str, words: str) -> None:
    assert f"memcpy {words} (GB/s)" == description(test)


def test_the_list_gives_each_test_its_number_there() -> None:
    text = listing_text({"device_to_host_memcpy_sm": "what it is"})
    assert "17, device_to_host_memcpy_sm:\n\twhat it is\n" in text


@pytest.mark.parametrize("layout", list(RunFormat))
def test_every_format_says_that_an_emulated_run_is_emulated(layout: RunFormat) -> None:
    run = runs.run(emulated=True)
    for as_json in (False, True):
        text = render_as(run, TableLayout(wanted=layout, as_json=as_json)).lower()
        assert "emulated" in text
        assert "emulated device" not in render_as(runs.run(), TableLayout(wanted=layout)).lower()


def gdrcopy_rows(text: str, name: str) -> dict[int, tuple[float, float]]:
    """Parse a table: name, size, median and minimum, separated by blanks and tabs."""
    rows = (line.split() for line in text.splitlines() if line.startswith(f"{name} \t"))
    return {int(size): (float(median), float(least)) for _, size, median, least in rows}


def test_copylat_s_tables_are_windows_and_cudas_copies_in_microseconds() -> None:
    run = runs.run()
    text = as_gdrcopy(run)
    fenced = next(
        r for r in run.results if (r.test, r.metric, r.bytes) == ("window_write", "fenced", 4096)
    )
    assert gdrcopy_rows(text, "gdr_copy_to_mapping")[4096] == pytest.approx(
        ((fenced.median or 0) * 1e6, (fenced.min or 0) * 1e6), abs=1e-4
    )
    sizes = {1, 64, 4096, 1 << 16, 1 << 18, 1 << 20}
    for name in ("gdr_copy_from_mapping", "cuMemcpy_H2D", "cuMemcpy_D2H"):
        assert gdrcopy_rows(text, name).keys() == sizes
    assert "Test \t\t\t Size(B) \t Median Time(us) \t Min. Time(us)" in text


@pytest.mark.parametrize("way", ["write", "read"])
def test_copybw_s_megabytes_have_1048576_bytes(way: str) -> None:
    run = runs.run()
    bandwidth = next(
        r
        for r in run.results
        if (r.test, r.cpu_cache, r.num_threads) == (f"window_bandwidth_{way}", "warm", 1)
    )
    middle, least = ((number or 0) / 2**20 for number in (bandwidth.median, bandwidth.min))
    line = f"{way} BW: median {middle:.6g}MB/s, min {least:.6g}MB/s"
    assert line in as_gdrcopy(run).splitlines()


def test_apiperf_and_pplat_have_their_lines() -> None:
    text = as_gdrcopy(runs.run())
    heads = "pin.Time(us)\tmap.Time(us)\tget_info.Time(us)\tunmap.Time(us)\tunpin.Time(us)"
    assert f"Stat\tSize(B)\t{heads}" in text
    (row,) = re.findall(r"^median\t65536\t(.*)$", text, re.MULTILINE)
    assert len([float(cell) for cell in row.split("\t")]) == 5
    assert re.search(
        r"^Round-trip latency per iteration is \(min\) [\d.]+, \(median\) [\d.]+ us$",
        text,
        re.MULTILINE,
    )


def test_a_run_without_windows_has_nothing_for_gdrcopy_s_format_and_says_why() -> None:
    with pytest.raises(UsageError, match="nothing for --format gdrcopy: needs one of window_band"):
        as_gdrcopy(with_results(copy(_H2D, 55.0)))
    run = runs.run()
    waived = {"status": Status.WAIVED, "median": None, "reason": "no backend works"}
    windows = [r.model_copy(update=waived) for r in run.results if r.test == "window_write"]
    with pytest.raises(UsageError, match="nothing for --format gdrcopy: no backend works"):
        as_gdrcopy(run.model_copy(update={"results": windows}))


def test_a_step_that_the_backend_does_not_take_is_no_number() -> None:
    run = runs.run()
    without = [r for r in run.results if r.metric != "unpin"]
    text = as_gdrcopy(run.model_copy(update={"results": without}))
    assert re.search(r"^median\t65536\t.*\tnan$", text, re.MULTILINE)
