"""The type stub agrees with the built module."""

import subprocess
import sys
from pathlib import Path

import pytest

STUB = Path(__file__).parents[3] / "python" / "isthmus" / "_native.pyi"


@pytest.mark.native
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="from CPython 3.12 on it has __buffer__")
def test_the_type_stub_is_what_the_native_module_says(tmp_path: Path) -> None:
    fresh = tmp_path / "_native.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "isthmus._native", "-o"]
    subprocess.run([*command, str(fresh)], check=True, timeout=60)
    assert fresh.read_text("utf-8") == STUB.read_text("utf-8"), "run `make golden`"
