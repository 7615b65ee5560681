"""Kernels of workloads are the same code on a GPU: NVRTC compiles them, over thread.hpp."""

import pytest

from nvrtc import SOURCES, compile_for_gpu

# Kernel file -> its entries, each a function and what it takes.
ENTRIES = {
    "aes": [("aes_blocks", "AesArguments")],
    "bfs": [("bfs_level", "BfsArguments")],
    "bfs_rodinia": [
        ("bfs_rodinia_visit", "BfsRodiniaArguments"),
        ("bfs_rodinia_move", "BfsRodiniaArguments"),
    ],
    "cp": [("cp_plane", "CpArguments")],
    "embedding": [("embedding_bags", "EmbeddingArguments")],
    "frontier": [("frontier_step", "FrontierArguments")],
    "gemm": [("gemm_tile", "GemmArguments")],
    "hash_join": [
        ("hash_join_build", "HashJoinArguments"),
        ("hash_join_probe", "HashJoinArguments"),
    ],
    "kv_attention": [("kv_attention", "KvAttentionArguments")],
    "kv_decode": [("kv_append", "KvAttentionArguments")],
    "lib": [("lib_paths", "LibArguments")],
    "lps": [("lps_step", "LpsArguments")],
    "moe": [
        ("moe_hidden", "MoeArguments"),
        ("moe_down", "MoeArguments"),
        ("moe_outputs", "MoeArguments"),
    ],
    "mum": [("mum_reads", "MumArguments")],
    "nn": [("nn_convolution", "NnLayer"), ("nn_connected", "NnLayer")],
    "nn_rodinia": [("nn_rodinia_distances", "NnRodiniaArguments")],
    "nqu": [("nqu_board", "NquArguments")],
    "pagerank": [
        ("pagerank_shares", "PagerankArguments"),
        ("pagerank_ranks", "PagerankArguments"),
    ],
    "ray": [("ray_pixels", "RayArguments")],
    "spmv": [("spmv_rows", "SpmvArguments")],
    "sto": [("sto_windows", "StoArguments")],
    "wp": [("wp_step", "WpArguments")],
}

HEAD = """
#include "{kernel}"
#include "workloads/recording/thread.hpp"
using namespace isthmus::workloads;

struct AllThreads {{
  void operator()() const {{ __syncthreads(); }}
}};
"""

ENTRY = """
extern "C" __global__ void entry_{function}({arguments} in) {{
  extern __shared__ uint4 shared[];
  ThreadCta cta(blockIdx.x, blockDim.x, Thread(threadIdx.x), shared, AllThreads());
  {function}(cta, in);
}}
"""


KERNELS = {
    path.name.removesuffix("_kernel.hpp"): path.relative_to(SOURCES).as_posix()
    for path in SOURCES.glob("workloads/*/*_kernel.hpp")
}


def test_every_kernel_file_is_compiled_here() -> None:
    assert set(KERNELS) == set(ENTRIES)


@pytest.mark.parametrize("architecture", ["sm_75", pytest.param("sm_90", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if one in {"bfs", "aes"} else pytest.mark.long) for one in ENTRIES],
)
def test_a_kernel_compiles_for_a_gpu(name: str, architecture: str) -> None:
    source = HEAD.format(kernel=KERNELS[name]) + "".join(
        ENTRY.format(function=function, arguments=arguments)
        for function, arguments in ENTRIES[name]
    )
    options = ["--device-as-default-execution-space", f"--gpu-architecture={architecture}"]
    assert compile_for_gpu(source.encode(), *options) == (0, "")
