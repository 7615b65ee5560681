#include "workloads/registry.hpp"

#include <string>

#include <isthmus/errors.hpp>

#include "workloads/aes.hpp"
#include "workloads/bfs.hpp"
#include "workloads/cp.hpp"
#include "workloads/embedding.hpp"
#include "workloads/gemm.hpp"
#include "workloads/hash_join.hpp"
#include "workloads/kv_attention.hpp"
#include "workloads/lib.hpp"
#include "workloads/lps.hpp"
#include "workloads/mum.hpp"
#include "workloads/nn.hpp"
#include "workloads/nqu.hpp"
#include "workloads/pagerank.hpp"
#include "workloads/ray.hpp"
#include "workloads/recorder.hpp"
#include "workloads/spmv.hpp"
#include "workloads/sto.hpp"
#include "workloads/wp.hpp"

namespace isthmus::workloads {
namespace {

constexpr NamedWorkload kWorkloads[] = {
    {"bfs", "breadth-first search, 65,536 nodes, 393,216 edges",
     "the graph: 3 undirected edges a node, to random ones", true, make_bfs},
    {"mum-140k", "50,000 reads of DNA in a suffix tree of 140,000 letters",
     "genome and reads: random", true, make_mum_140k},
    {"mum-1400k", "50,000 reads of DNA in a suffix tree of 1,400,000 letters",
     "genome and reads: random", false, make_mum_1400k},
    {"nn", "convolutional network, 28 digits of 29 x 29 points", "digits and weights: random", true,
     make_nn},
    {"cp", "Coulomb potential of 200 atoms at 256 x 256 points", "", true, make_cp},
    {"lps", "3D Laplace solver, one Jacobi step of 100 x 100 x 100 points", "", true, make_lps},
    {"lib", "Monte Carlo of the LIBOR market model, 4096 paths, 15 swaptions", "", true, make_lib},
    {"wp", "water of 72 x 64 columns of air with 28 levels, one step",
     "the air; physics simpler than WSM5's", true, make_wp},
    {"aes", "AES-128 encryption of 263,168 bytes", "the picture: random bytes", true, make_aes},
    {"ray", "ray tracing of mirroring spheres, 256 x 256 pixels",
     "the scene: six spheres at random places", true, make_ray},
    {"sto", "SHA-1 of a sliding window of 52 bytes over 192 KiB", "", true, make_sto},
    {"nqu", "10 queens, a task for every placement of the first two", "", false, make_nqu},
    {"spmv", "sparse matrix times vector, 262,144 rows of a power-law graph, a warp a row",
     "the graph", false, make_spmv},
    {"pagerank", "PageRank by pulling, power-law graph of 131,072 nodes, 3 iterations", "the graph",
     false, make_pagerank},
    {"embedding", "embedding bags, 16,384 x 32 lookups by Zipf's law in a table of 128 MiB",
     "the lookups", false, make_embedding},
    {"kv-attention", "one decode step of 32 sequences over a paged KV cache of 256 MiB",
     "lengths, queries, keys and values: random", false, make_kv_attention},
    {"gemm", "matrix of 4096 x 2048 floats times one of 2048 x 128, by tiles",
     "both matrices: random", false, make_gemm},
    {"hash-join", "hash join of 1,048,576 with 2,097,152 rows, half of them match", "the tables",
     false, make_hash_join},
};

std::unique_ptr<Workload> make_named(const NamedWorkload& row, std::uint64_t seed) {
  std::unique_ptr<Workload> workload = row.make(seed);
  std::string description(row.description);
  if (!row.synthetic.empty()) description += "; synthetic: " + std::string(row.synthetic);
  workload->name_program(row.name, description, !row.synthetic.empty());
  return workload;
}

}  // namespace

std::span<const NamedWorkload> workloads() { return kWorkloads; }

std::unique_ptr<trace::Source> make_workload(std::string_view name, std::uint64_t seed) {
  std::string known;
  for (const NamedWorkload& workload : kWorkloads) {
    if (workload.name == name) return std::make_unique<Recorder>(make_named(workload, seed));
    known += (known.empty() ? "" : ", ") + std::string(workload.name);
  }
  throw UsageError("there is no workload \"" + std::string(name) + "\"; there are: " + known);
}

}  // namespace isthmus::workloads
