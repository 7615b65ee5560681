"""
Run tests with the oldest versions of what the package depends on, as pyproject.toml allows them.

    floors.py FOLDER [PYTEST_ARGUMENT ...]

FOLDER gets an environment, and the package as `make` has built it. The extras `sim` and `report`
are in.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What users type, and what they read: the parts that other packages do.
TESTS = ["tests/cli/test_bench_flags.py", "tests/cli/test_bad_input.py"]
TESTS += ["tests/cli/test_compare.py", "tests/cli/test_doctor.py", "tests/unit/measure/run"]
TOOLS = ["pytest>=8", "pytest-xdist>=3.6", "jsonschema>=4.20", "hypothesis>=6.100"]
_FLOOR = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)")


def floors(requirements: list[str]) -> list[str]:
    """Give the oldest version that each requirement allows: "rich==13" for "rich>=13,<15"."""
    found = [_FLOOR.match(requirement) for requirement in requirements]
    assert all(found), f"a requirement has no floor: {requirements}"  # noqa: S101 - the project's own
    return [f"{floor[1]}=={floor[2]}" for floor in found if floor]


def package_into(folder: Path) -> None:
    """Copy the package there: its modules from the sources, the native ones from the build."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "python" / "isthmus", folder / "isthmus")
    built = Path(sysconfig.get_path("purelib")) / "isthmus"
    for library in built.glob("*.so*"):
        shutil.copy(library, folder / "isthmus")


def main(arguments: list[str]) -> int:
    """Install, and run the tests."""
    folder = Path(arguments[0]).absolute()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    oldest = floors(project["dependencies"] + extras["sim"] + extras["report"])
    print("with", *oldest, flush=True)
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, *oldest, *TOOLS], check=True)  # noqa: S603 - the project's own
    package = folder / "package"
    package_into(package)
    tests = arguments[1:] or TESTS
    # Not the tree's own configuration of warnings: old packages warn of what new ones have mended.
    options = ["-q", "-n", "2", "-p", "no:cacheprovider", "-o", "filterwarnings=default"]
    # -P: the folder of the tree isn't searched, where python/ would be found first.
    return subprocess.run(  # noqa: S603 - the project's own
        [python, "-P", "-m", "pytest", *options, *tests],
        cwd=ROOT,
        env={"PATH": f"{folder}/bin:/usr/bin:/bin", "PYTHONPATH": str(package)},
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
