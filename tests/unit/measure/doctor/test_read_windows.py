from dataclasses import replace
from types import SimpleNamespace

from isthmus.errors import Unavailable, UsageError
from isthmus.measure.doctor.read_driver import OpenDriver, open_driver
from isthmus.measure.doctor.read_software import read_windows
from isthmus.measure.doctor.sources import Sources


def opened(sources: Sources) -> OpenDriver:
    driver = open_driver(sources, "")
    assert isinstance(driver, OpenDriver)
    return driver


def test_every_backend_is_asked_on_the_device(sources: Sources, native: SimpleNamespace) -> None:
    native.real.num_devices = 2
    facts = read_windows(sources, opened(sources), 1)
    assert [one.name for one in facts.backends] == ["dmabuf", "gdrdrv", "rm"]
    assert [one.usable for one in facts.backends] == [False, True, True]
    assert (facts.ordinal, facts.limit_bytes, facts.failure) == (1, 128 << 30, None)


def test_every_kind_of_memory_is_tried_on_the_device(sources: Sources) -> None:
    facts = read_windows(sources, opened(sources), 0)
    assert [(one.memory, one.usable, one.reason) for one in facts.memory] == [
        ("cudaMalloc", True, "found by its addresses"),
        ("cudaMallocAsync", False, "it is a pool's"),
    ]


def test_without_windows_no_memory_is_tried(sources: Sources, native: SimpleNamespace) -> None:
    class NoWindows(native.Windows):  # type: ignore[misc, name-defined]
        def memory_kinds(self, device: int) -> None:
            raise Unavailable(capability=f"windows on {device}", reason="off", needs="others")

    native.Windows = NoWindows
    facts = read_windows(sources, opened(sources), 0)
    assert list(facts.memory) == []
    assert facts.failure is None


def test_the_environments_choice_is_told(sources: Sources) -> None:
    chosen = replace(sources, environment={"ISTHMUS_WINDOW": "rm"})
    assert read_windows(chosen, opened(chosen), 0).setting == "rm"
    assert read_windows(sources, opened(sources), 0).setting == ""


def test_a_setting_that_is_refused_is_a_failure(sources: Sources, native: SimpleNamespace) -> None:
    def refuse(_driver: object) -> None:
        raise UsageError("ISTHMUS_WINDOW is 'telepathy'")

    native.Windows = refuse
    facts = read_windows(sources, opened(sources), 0)
    assert facts.failure == "ISTHMUS_WINDOW is 'telepathy'"
    assert list(facts.backends) == []
