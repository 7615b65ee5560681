import subprocess
import sys

import pytest

import isthmus

HEAVY = "pydantic", "rich", "typer", "numpy", "pynvml", "cuda", "isthmus._native", "asyncio"


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def import_microseconds() -> int:
    command = [sys.executable, "-X", "importtime", "-c", "import isthmus"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(line for line in done.stderr.splitlines() if line.endswith("| isthmus"))
    return int(line.split("|")[1])


def test_importing_isthmus_loads_nothing_heavy() -> None:
    assert not (modules_after("import isthmus") - modules_after("")) & set(HEAVY)


def test_importing_isthmus_takes_less_than_a_tenth_of_a_second() -> None:
    assert min(import_microseconds() for _ in range(3)) < 100_000


def test_the_command_line_starts_without_the_tests_that_it_may_run() -> None:
    loaded = modules_after("import isthmus.cli.app")
    assert [name for name in loaded if name.startswith("isthmus.measure.bench")] == []


def test_a_public_name_is_loaded_when_it_is_used() -> None:
    assert "pydantic" in modules_after("import isthmus; isthmus.Run")
    assert isthmus.Run.__name__ == "Run"


def test_every_public_name_is_there_and_listed() -> None:
    assert set(dir(isthmus)) == set(isthmus.__all__)
    assert all(getattr(isthmus, name) is not None for name in isthmus.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = isthmus.nonsense  # type: ignore[attr-defined]


def test_each_error_is_also_a_standard_one() -> None:
    assert issubclass(isthmus.UsageError, ValueError)
    assert issubclass(isthmus.DriverError, RuntimeError)
    assert issubclass(isthmus.OutOfDeviceMemory, MemoryError)
    assert issubclass(isthmus.Unavailable, RuntimeError)
    assert all(
        issubclass(getattr(isthmus, name), isthmus.Error)
        for name in ("CorruptTransfer", "DriverError", "OutOfDeviceMemory", "Unavailable")
    )
