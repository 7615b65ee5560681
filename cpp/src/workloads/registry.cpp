#include "workloads/registry.hpp"

#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "workloads/evaluation/bfs.hpp"
#include "workloads/evaluation/ciphers.hpp"
#include "workloads/evaluation/lib.hpp"
#include "workloads/evaluation/mum.hpp"
#include "workloads/evaluation/nn.hpp"
#include "workloads/evaluation/nqu.hpp"
#include "workloads/evaluation/physics.hpp"
#include "workloads/evaluation/ray.hpp"
#include "workloads/modern/kv.hpp"
#include "workloads/modern/lookups.hpp"
#include "workloads/modern/power_law_graphs.hpp"
#include "workloads/modern/products.hpp"
#include "workloads/recording/recorder.hpp"
#include "workloads/rodinia/rodinia.hpp"

namespace isthmus::workloads {
namespace {

/// sizes       the usual ones
template <class W>
NamedWorkload row(std::string_view name, std::string_view description, std::string_view synthetic,
                  bool in_paper, const typename W::Sizes& sizes = {}) {
  NamedWorkload made{name, description, synthetic, in_paper, {}, {}};
  for (const SizeOf<typename W::Sizes>& one : W::kSizes) {
    made.sizes.push_back(one.size);
    made.sizes.back().usual = sizes.*one.member;
  }
  made.make = [](std::span<const std::uint32_t> values, std::uint64_t seed) {
    typename W::Sizes chosen;
    std::size_t next = 0;
    for (const SizeOf<typename W::Sizes>& one : W::kSizes) chosen.*one.member = values[next++];
    return std::make_unique<W>(chosen, seed);
  };
  return made;
}

/// Of the paper on partial page migration, and what is compared with them.
std::vector<NamedWorkload> papers_rows() {
  return {
      row<Bfs>("bfs", "breadth-first search, 65,536 nodes, 393,216 edges",
               "random graph, 3 undirected edges per node", true),
      row<Mum>("mum-140k", "50,000 reads of DNA in a suffix tree of 140,000 letters",
               "random genome and reads", true),
      row<Mum>("mum-1400k", "50,000 reads of DNA in a suffix tree of 1,400,000 letters",
               "random genome and reads", false, {.letters = 1'400'000}),
      row<Nn>("nn", "convolutional network, 28 digits of 29 x 29 points",
              "random digits and weights", true),
      row<Cp>("cp", "Coulomb potential of 200 atoms at 256 x 256 points", "", true),
      row<Lps>("lps", "3D Laplace solver, one Jacobi step of 100 x 100 x 100 points", "", true),
      row<Lib>("lib", "Monte Carlo of the LIBOR market model, 4096 paths, 15 swaptions", "", true),
      row<Weather>("wp", "water of 72 x 64 columns of air with 28 levels, one step",
                   "artificial air, physics simpler than WSM5's", true),
      row<Aes>("aes", "AES-128 encryption of 263,168 bytes", "random picture", true),
      row<RayTracer>("ray", "ray tracing of mirroring spheres, 256 x 256 pixels",
                     "six randomly placed spheres", true),
      row<Sto>("sto", "SHA-1 of a sliding window of 52 bytes over 192 KiB", "", true),
      row<Nqu>("nqu", "10 queens, a task for every placement of the first two", "", false),
      row<BfsRodinia>("bfs-rodinia",
                      "Rodinia's breadth-first search, two kernels a level, the graph of bfs",
                      "random graph, 3 undirected edges per node", false),
      row<NnRodinia>("nn-rodinia", "Rodinia's nearest neighbours: distances of 42,764 places",
                     "random places", false),
  };
}

std::vector<NamedWorkload> modern_rows() {
  return {
      row<Spmv>("spmv",
                "sparse matrix times vector, 262,144 rows of a power-law graph, a warp a row",
                "random graph", false),
      row<Pagerank>("pagerank",
                    "PageRank by pulling, power-law graph of 131,072 nodes, 3 iterations",
                    "random graph", false),
      row<Embedding>("embedding",
                     "embedding bags, 16,384 x 32 lookups by Zipf's law in a table of 128 MiB",
                     "random lookups", false),
      row<KvAttention>("kv-attention",
                       "one decode step of 32 sequences over a paged KV cache of 256 MiB",
                       "random lengths, queries, keys and values", false),
      row<Gemm>("gemm", "matrix of 4096 x 2048 floats times one of 2048 x 128, by tiles",
                "random matrices", false),
      row<HashJoin>("hash-join", "hash join of 1,048,576 with 2,097,152 rows, half of them match",
                    "random tables", false),
      row<Moe>("moe",
               "mixture of 128 experts of 1.5 MiB, 8 batches of 16 tokens, 2 experts for each by "
               "Zipf's law",
               "random weights, tokens and router choices", false),
      row<KvDecode>("kv-decode", "8 decode steps of 16 sequences, whose paged KV cache grows",
                    "random lengths, queries, keys and values", false),
      row<Frontier>("bfs-frontier",
                    "breadth-first search, frontier by frontier, power-law graph of 131,072 nodes",
                    "random graph", false),
      row<Frontier>("sssp-frontier",
                    "shortest paths, frontier by frontier, power-law graph of 131,072 nodes, "
                    "weights of 1 to 64",
                    "random graph", false, {.weights = 64}),
  };
}

std::vector<NamedWorkload> all_rows() {
  std::vector<NamedWorkload> rows = papers_rows();
  std::vector<NamedWorkload> modern = modern_rows();
  for (NamedWorkload& row : modern) rows.push_back(std::move(row));
  return rows;
}

const NamedWorkload& find(std::string_view name) {
  std::string known;
  for (const NamedWorkload& workload : workloads()) {
    if (workload.name == name) return workload;
    known += (known.empty() ? "" : ", ") + std::string(workload.name);
  }
  throw UsageError("there is no workload \"" + std::string(name) + "\"; there are: " + known);
}

std::string description_of(const NamedWorkload& row, const std::string& changed) {
  std::string description(row.description);
  if (!changed.empty()) description += "; but with " + changed;
  if (!row.synthetic.empty()) description += "; synthetic input: " + std::string(row.synthetic);
  return description;
}

}  // namespace

std::span<const NamedWorkload> workloads() {
  static const std::vector<NamedWorkload> rows = all_rows();
  return rows;
}

std::unique_ptr<Workload> make_program(std::string_view name, std::uint64_t seed,
                                       const GivenSizes& sizes) {
  const NamedWorkload& row = find(name);
  const std::vector<std::uint32_t> values = size_values(name, row.sizes, sizes);
  const std::string changed = changed_text(row.sizes, values);
  std::unique_ptr<Workload> workload = row.make(values, seed);
  workload->name_program(row.name, description_of(row, changed), !row.synthetic.empty());
  if (!changed.empty()) workload->forget_published_instructions();
  return workload;
}

std::unique_ptr<trace::Source> make_workload(std::string_view name, std::uint64_t seed,
                                             const GivenSizes& sizes) {
  return std::make_unique<Recorder>(make_program(name, seed, sizes));
}

void check_workload(std::string_view name, const GivenSizes& sizes) {
  size_values(name, find(name).sizes, sizes);
}

}  // namespace isthmus::workloads
