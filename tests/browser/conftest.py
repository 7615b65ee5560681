"""A real browser without a window, which opens reports as people do, and can reach no network."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from selenium import webdriver

from fakes import runs
from fakes.fleets import equal_nodes, fleet_of
from isthmus.fleet.check import check_fleet
from isthmus.fleet.health import Health
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import read_run
from isthmus.show.document.as_html import as_html
from isthmus.show.document.collecting import document_of
from isthmus.show.document.fleet import fleet_document

_H100 = Path(__file__).parents[2] / "benchmarks" / "link" / "h100" / "run.json"
_PROGRAMS = [shutil.which("chromium"), shutil.which("chromedriver")]
# What the pages show: some of each kind of picture, and every kind of chapter content.
_SHOWN = (
    *("host_to_device_memcpy_ce", "host_to_device_memcpy_pageable", "host_to_device_memcpy_2d"),
    *("host_to_device_small_copy_blocking", "host_to_device_small_copy_window", "host_memcpy"),
    *("host_memory_life", "numa_host_to_device_memcpy_ce", "host_to_all_memcpy_ce"),
)


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(downloads: Path) -> Iterator[webdriver.Chrome]:
    """Start Debian's Chromium; without one, waive the test."""
    program, driver = _PROGRAMS
    if program is None or driver is None:
        pytest.skip("no browser: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    # Root may not have a sandbox. No name of a host is resolved.
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{argument}")
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    started = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        yield started
    finally:
        started.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make the report of a part of a real run, and give its address."""
    run = read_run(str(_H100))
    results = [result for result in run.results if result.test in _SHOWN]
    return _written(tmp_path_factory, run.model_copy(update={"results": results}))


@pytest.fixture(scope="module")
def emulated_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    run = runs.run(emulated=True)
    results = [result for result in run.results if result.test in _SHOWN]
    return _written(tmp_path_factory, run.model_copy(update={"results": results}))


def fleet(number: int) -> Health:
    """Make a fleet that was measured on five days, with three slow GPUs and a dead node."""
    days = timedelta(days=1)
    nodes = [replace(node, runs=5, apart=days) for node in equal_nodes(number)]
    narrow = (("link", (("width", 8),)),)
    nodes[0] = replace(nodes[0], slower=1.9, changed=narrow, name="a-name.that.is.long.example.org")
    nodes[1] = replace(nodes[1], slower=1.4, slow_runs=3)
    nodes[2] = replace(nodes[2], slower=1.25)
    return check_fleet(fleet_of(nodes), expected=["gone"])


@pytest.fixture(scope="module")
def fleet_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("fleet") / "fleet.html"
    path.write_text(as_html(fleet_document(fleet(20))), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def large_fleet_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make the page of a thousand nodes: each has what one of twenty has, and another name."""
    small = fleet(20)
    patients = [
        replace(patient, node=f"{patient.node}-{copy}")
        for patient in small.patients
        for copy in range(50)
    ]
    path = tmp_path_factory.mktemp("fleet") / "large.html"
    large = replace(small, patients=patients, num_nodes=len(patients))
    path.write_text(as_html(fleet_document(large)), encoding="utf-8")
    return path.as_uri()


def _written(folders: pytest.TempPathFactory, run: Run) -> str:
    path = folders.mktemp("page") / "report.html"
    path.write_text(as_html(document_of([run])), encoding="utf-8")
    return path.as_uri()
