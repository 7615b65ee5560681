"""The page state machine is the same code on a GPU: NVRTC compiles it, without any header else."""

import pytest

from nvrtc import compile_for_gpu

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


@pytest.mark.long
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_the_state_machine_compiles_for_a_gpu(architecture: str) -> None:
    assert compile_for_gpu(KERNEL, f"--gpu-architecture={architecture}") == (0, "")


def test_code_for_the_cpu_alone_does_not() -> None:
    source = b'#include "pages/page_table.hpp"\n'
    status, log = compile_for_gpu(source, "--gpu-architecture=sm_90")
    assert status != 0, "then the test above would prove nothing"
    assert "error" in log
