"""The page state machine is the same code on a GPU: NVRTC compiles it, without any header else."""

import ctypes
from pathlib import Path

import pytest

from isthmus.machine.software import find_nvrtc

SOURCES = Path(__file__).parents[3] / "cpp" / "src"

KERNEL = b"""
#include "pages/page_machine.hpp"
using namespace isthmus::pages;

extern "C" __global__ void access(const Geometry* geometry, Page* pages, std::uint64_t* words,
                                  Span* transfers, unsigned* num_transfers, unsigned* outcomes) {
  Page& page = pages[blockIdx.x];
  PageMachine machine(*geometry, page, words + blockIdx.x * geometry->num_words);
  unsigned num = 0;
  const Outcome outcome = machine.miss({128 * threadIdx.x, 128}, false, [&](Span span) {
    transfers[num++] = span;
  });
  for (unsigned index = 0; index < num; ++index) machine.arrived(transfers[index]);
  if (state_of(page, *geometry) == State::gpu) machine.evict({0, 1u << geometry->granule_shift});
  *num_transfers = num;
  *outcomes = static_cast<unsigned>(outcome);
}
"""


def compile_with_nvrtc(source: bytes, architecture: str) -> tuple[int, str]:
    path = find_nvrtc()
    if path is None:
        pytest.skip("no NVRTC: the test extra brings it")
    library = ctypes.CDLL(path)
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    options = [f"-I{SOURCES}", "--std=c++20", f"--gpu-architecture={architecture}"]
    encoded = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    library.nvrtcCreateProgram(ctypes.byref(program), source, b"access.cu", 0, None, None)
    status = library.nvrtcCompileProgram(program, len(options), encoded)
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return status, log.value.decode()


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_the_state_machine_compiles_for_a_gpu(architecture: str) -> None:
    assert compile_with_nvrtc(KERNEL, architecture) == (0, "")


def test_code_for_the_cpu_alone_does_not() -> None:
    status, log = compile_with_nvrtc(b'#include "pages/page_table.hpp"\n', "sm_90")
    assert status != 0, "then the test above would prove nothing"
    assert "error" in log
