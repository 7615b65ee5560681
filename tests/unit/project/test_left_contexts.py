"""How tests/conftest.py treats tests that leave a context of the emulated driver alive."""

import re
import sys
from pathlib import Path

import pytest

from program import run_process

pytestmark = pytest.mark.native

_CONTEXT = '_native.Context(_native.Driver.open("emulated"), 0)'
_FILES = {
    "leaving": f"def test_it(): sys.left = {_CONTEXT}",
    "next": "def test_it(): pass",
    "collected": f"def test_it(): circle = [{_CONTEXT}]; circle.append(circle)",
    "given": f"@pytest.fixture\ndef given(): return {_CONTEXT}\ndef test_it(given): pass",
    "failing": f"def test_it(): context = {_CONTEXT}; assert context is None",
}


@pytest.mark.long
def test_a_file_that_leaves_a_context_alive_is_an_error_and_no_later_one(tmp_path: Path) -> None:
    names = [tmp_path / f"test_{name}.py" for name in _FILES]
    for path, code in zip(names, _FILES.values(), strict=True):
        path.write_text(
            f"import sys\nimport pytest\nfrom isthmus import _native\n{code}\n", "utf-8"
        )
    options = ["-p", "conftest", "-p", "no:cacheprovider", "--import-mode=importlib", "-rEfp"]
    done = run_process(
        [
            *(sys.executable, "-m", "pytest", *options, "-c", "/dev/null"),
            *("--rootdir", str(tmp_path), *map(str, names)),
        ],
        {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    said = re.findall(r"^(ERROR|FAILED|PASSED) .*test_(\w+)\.py::", done.out, re.MULTILINE)
    assert sorted(said) == [
        ("ERROR", "leaving"),
        ("FAILED", "failing"),
        *(("PASSED", name) for name in ("collected", "given", "leaving", "next")),
    ], done.out + done.err
