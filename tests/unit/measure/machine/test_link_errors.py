"""Replays and AER counts, with an NVML and a /sys whose contents the test chooses."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from isthmus.measure.machine.link_errors import (
    AerCounts,
    LinkErrorCounts,
    LinkErrorWatch,
    port_above,
    read_aer,
    read_link_errors,
)
from isthmus.measure.run.machine import LinkErrors

GPU, PORT = "0000:ab:00.0", "0000:aa:01.0"
BUS = "sys/devices/pci0000:aa"
# As Linux's documentation shows the file: names have blanks, and the total may be less than all.
CORRECTABLE = """Receiver Error 2
Bad TLP 4
Bad DLLP 0
RELAY_NUM Rollover 0
Replay Timer Timeout 1
Advisory Non-Fatal 0
Corrected Internal Error 0
Header Log Overflow 0
TOTAL_ERR_COR {}
"""


@pytest.fixture
def nvml() -> SimpleNamespace:
    module = SimpleNamespace(replays=0)
    module.nvmlInit = lambda: None
    module.nvmlShutdown = lambda: None
    module.nvmlDeviceGetHandleByPciBusId = lambda address: address
    module.nvmlDeviceGetPcieReplayCounter = lambda _gpu: module.replays
    return module


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a /sys with a GPU below a root port, as the kernel lays it out."""
    for name, folder in ((PORT, f"{BUS}/{PORT}"), (GPU, f"{BUS}/{PORT}/{GPU}")):
        (tmp_path / folder).mkdir(parents=True)
        link = tmp_path / "sys/bus/pci/devices" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(Path("../../../..") / folder)
    return tmp_path


def count(root: Path, device: str, *, correctable: int, nonfatal: int = 0, fatal: int = 0) -> None:
    folder = root / "sys/bus/pci/devices" / device
    (folder / "aer_dev_correctable").write_text(CORRECTABLE.format(correctable))
    (folder / "aer_dev_nonfatal").write_text(f"Undefined 0\nTOTAL_ERR_NONFATAL {nonfatal}\n")
    (folder / "aer_dev_fatal").write_text(f"Undefined 0\nTOTAL_ERR_FATAL {fatal}\n")


def test_the_other_end_of_a_link_is_the_device_above(root: Path) -> None:
    assert port_above(GPU, root) == PORT


def test_what_hangs_on_a_host_bridge_has_no_port_above(root: Path) -> None:
    assert port_above(PORT, root) is None


def test_a_device_that_sysfs_hides_has_neither_port_nor_counts(tmp_path: Path) -> None:
    assert port_above(GPU, tmp_path) is None
    assert read_aer(GPU, tmp_path) is None


def test_the_totals_of_both_ends_are_read_and_added_up(root: Path, nvml: SimpleNamespace) -> None:
    count(root, GPU, correctable=1)
    count(root, PORT, correctable=3, nonfatal=4, fatal=5)
    nvml.replays = 7
    counts = read_link_errors(GPU, nvml, root)
    assert list(counts.aer) == [GPU, PORT]
    assert counts.aer[PORT] == AerCounts(correctable=3, nonfatal=4, fatal=5)
    assert counts.total() == LinkErrors(replays=7, correctable=4, nonfatal=4, fatal=5)


def test_a_port_that_counts_is_read_where_the_gpu_does_not(
    root: Path, nvml: SimpleNamespace
) -> None:
    count(root, PORT, correctable=3)
    assert list(read_link_errors(GPU, nvml, root).aer) == [PORT]


def test_a_kernel_without_counts_shows_none(root: Path, nvml: SimpleNamespace) -> None:
    counts = read_link_errors(GPU, nvml, root)
    assert counts.aer == {}
    assert counts.total() == LinkErrors(replays=0, correctable=None, nonfatal=None, fatal=None)


@pytest.mark.parametrize("text", ["", "Bad TLP 4\n", "TOTAL_ERR_COR many\n", "TOTAL_ERR_COR\n"])
def test_a_file_without_its_total_costs_that_count(root: Path, text: str) -> None:
    count(root, GPU, correctable=1, fatal=2)
    (root / "sys/bus/pci/devices" / GPU / "aer_dev_correctable").write_text(text)
    assert read_aer(GPU, root) == AerCounts(correctable=None, nonfatal=0, fatal=2)


def test_an_nvml_that_does_not_tell_replays_costs_that_count(
    root: Path, nvml: SimpleNamespace
) -> None:
    def refuse(_gpu: object) -> int:
        raise RuntimeError("Not Supported")

    count(root, GPU, correctable=1)
    nvml.nvmlDeviceGetPcieReplayCounter = refuse
    assert read_link_errors(GPU, nvml, root).replays is None
    del nvml.nvmlInit
    counts = read_link_errors(GPU, nvml, root)
    assert (counts.replays, counts.aer[GPU].correctable) == (None, 1)


def test_a_watch_tells_what_has_been_added_since_it_began(
    root: Path, nvml: SimpleNamespace
) -> None:
    count(root, GPU, correctable=10)
    count(root, PORT, correctable=20)
    nvml.replays = 100
    watch = LinkErrorWatch(GPU, nvml, root)
    assert watch.grown() == LinkErrors(replays=0, correctable=0, nonfatal=0, fatal=0)
    count(root, PORT, correctable=22, fatal=1)
    nvml.replays = 112
    assert watch.grown() == LinkErrors(replays=12, correctable=2, nonfatal=0, fatal=1)
    assert watch.grown().replays == 12


def test_a_counter_that_began_anew_has_grown_by_what_it_shows() -> None:
    before, now = LinkErrorCounts(replays=100), LinkErrorCounts(replays=3)
    assert now.since(before).replays == 3


def test_an_end_that_has_gone_takes_only_its_own_counts_with_it() -> None:
    one, three = AerCounts(correctable=9, fatal=0), AerCounts(correctable=3, fatal=1)
    before = LinkErrorCounts(replays=5, aer={GPU: one, PORT: AerCounts(correctable=3, fatal=0)})
    grown = LinkErrorCounts(aer={PORT: three}).since(before)
    assert grown == LinkErrors(replays=None, correctable=0, nonfatal=None, fatal=1)


def test_errors_are_named_and_what_did_not_happen_is_not() -> None:
    errors = LinkErrors(replays=3, correctable=1, nonfatal=0, fatal=None)
    assert errors.in_words == "3 replays, 1 correctable AER error"
    assert LinkErrors(replays=0, correctable=None, nonfatal=0, fatal=0).in_words == ""
