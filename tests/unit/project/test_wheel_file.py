"""The build finds headers and sources in installed packages, wherever pip has put them."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "cmake" / "wheel_file.py"


def install(folder: Path, package: str, files: dict[str, str]) -> None:
    """Lay a package into a folder: where each file lies, and what its record says of that."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "RECORD").write_text("".join(f"{recorded},,\n" for recorded in files.values()))
    for path in files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()


def found(folder: Path, pattern: str, packages: str) -> str:
    return subprocess.run(
        [sys.executable, SCRIPT, pattern, packages],
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_a_header_is_found_on_pythonpath(tmp_path: Path) -> None:
    header = "some_json/include/some/json.hpp"
    install(tmp_path, "some-json", {header: header})
    assert found(tmp_path, "*/include/some/json.hpp", "some-json") == str(tmp_path / header)
    assert not found(tmp_path, "*/include/some/json.hpp", "other-json")
    assert not found(tmp_path, "*/include/some/toml.hpp", "some-json")


def test_sources_outside_of_site_packages_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "lib" / "site-packages"
    install(folder, "some-tests", {"../../src/tests/all.cc": "../../src/tests/all.cc"})
    assert found(folder, "*/src/tests/all.cc", "some-tests") == str(tmp_path / "src/tests/all.cc")


def test_they_are_found_where_pip_moves_them_into_its_target(tmp_path: Path) -> None:
    install(tmp_path, "some-tests", {"src/tests/all.cc": "../../src/tests/all.cc"})
    assert found(tmp_path, "*/src/tests/all.cc", "some-*") == str(tmp_path / "src/tests/all.cc")


def test_of_several_packages_the_last_by_name_is_taken(tmp_path: Path) -> None:
    for major in ("12", "13"):
        header = f"some/cu{major}/include/some.h"
        install(tmp_path, f"some-cuda-{major}", {header: header})
    assert found(tmp_path, "*/include/some.h", "some-*").endswith("cu13/include/some.h")


def test_a_file_that_is_recorded_but_missing_is_not_found(tmp_path: Path) -> None:
    install(tmp_path, "some-json", {"some/other.hpp": "some/include/json.hpp"})
    assert not found(tmp_path, "*/include/json.hpp", "some-json")
