"""What uses `isthmus/paged_array.cuh` is code for GPUs of every generation that it names."""

import re
from pathlib import Path

import pytest

import isthmus
from documents.snippets import snippets
from nvrtc import compile_for_gpu

pytestmark = pytest.mark.native

_ROOT = Path(__file__).parents[4]


def _programs() -> dict[str, str]:
    """Give kernels by where they stand."""
    example = (_ROOT / "examples" / "paged" / "cupy_kernel.py").read_text("utf-8")
    found = re.search(r'r"""(.*?)"""', example, re.DOTALL)
    assert found, "the example has no kernel"
    programs = {
        name: (_ROOT / name).read_text("utf-8")
        for name in ("tests/gpu/paged_stress.cu", "benchmarks/paging/kernels.cu")
    }
    return programs | {"the example": found[1]} | {str(s): s.text for s in snippets("cuda")}


def test_the_documents_have_a_kernel() -> None:
    assert any("paged_map" in snippet.text for snippet in snippets("cuda"))


@pytest.mark.parametrize(
    "definition",
    [
        "",
        pytest.param("ISTHMUS_PAGED_CHECKED", marks=pytest.mark.long),
        pytest.param("ISTHMUS_PAGED_COUNTED", marks=pytest.mark.long),
        "ISTHMUS_TEST_BUDGETED",
        "ISTHMUS_TEST_HELD",
        pytest.param("ISTHMUS_HELD", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name.startswith("benchmarks") else ())
        for name in sorted(_programs())
    ],
)
def test_kernels_on_paged_arrays_compile(name: str, definition: str) -> None:
    defined = f"#define {definition}\n" if definition else ""
    source = defined + isthmus.paged_header() + _programs()[name]
    status, log = compile_for_gpu(source.encode())
    assert (status, log) == (0, "")


@pytest.mark.long
def test_the_oldest_gpus_that_nvrtc_knows_can_run_it() -> None:
    source = isthmus.paged_header() + _programs()["tests/gpu/paged_stress.cu"]
    status, log = compile_for_gpu(source.encode(), "--gpu-architecture=sm_75")
    assert (status, log) == (0, "")
