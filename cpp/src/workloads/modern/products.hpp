// Products of matrices: one large one, and a mixture of experts whose experts the GPU fetches.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/modern/gemm_kernel.hpp"
#include "workloads/modern/moe_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct GemmSizes {
  std::uint32_t rows = 4096;  ///< of the weights
  std::uint32_t depth = 2048;
  std::uint32_t columns = 128;  ///< of activations
};

/// A layer of a network: weights, 32 MiB, times 128 columns of activations. The CTAs of one row of
/// tiles are consecutive and read the same weights.
class Gemm : public Workload {
public:
  using Sizes = GemmSizes;
  static constexpr SizeOf<GemmSizes> kSizes[] = {{{.name = "rows",
                                                   .meaning = "rows of the weights",
                                                   .least = 64,
                                                   .most = 1U << 15U,
                                                   .multiple = kGemmTile},
                                                  &GemmSizes::rows},
                                                 {{.name = "depth",
                                                   .meaning = "columns of the weights",
                                                   .least = 16,
                                                   .most = 1U << 15U,
                                                   .multiple = kGemmDepth},
                                                  &GemmSizes::depth},
                                                 {{.name = "columns",
                                                   .meaning = "columns of activations",
                                                   .least = 64,
                                                   .most = 1U << 15U,
                                                   .multiple = kGemmTile},
                                                  &GemmSizes::columns}};

  Gemm(const GemmSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const GemmSizes& sizes() const { return sizes_; }
  const GemmArguments& arguments() const { return arguments_; }

private:
  GemmSizes sizes_;
  GemmArguments arguments_{};
};

struct MoeSizes {
  std::uint32_t experts = 128;
  std::uint32_t chosen = 2;   ///< experts of a token
  std::uint32_t tokens = 16;  ///< in a batch
  std::uint32_t batches = 8;
  std::uint32_t width = 512;  ///< of a token's vector
  std::uint32_t inner = 512;  ///< of an expert
  std::uint32_t skew = 100;   ///< hundred times the exponent of Zipf's law; 0: all experts alike
  std::uint32_t cached = 32;  ///< experts for which a programmer has room on the GPU
};

/// 128 experts of 1.5 MiB, 192 MiB in all; 8 batches of 16 tokens, each to 2 experts. The router is
/// left out: the host has its choices, by Zipf's law over experts in random order, independent from
/// token to token. That is an assumption: published routers are more or less even, and tokens that
/// follow each other choose alike.
///
/// A programmer keeps `cached` experts on the GPU, the least recently used ones make room, and copies
/// those that a batch lacks before the batch: what programs that offload experts do. A batch's tiles
/// are in constant memory. To see experts that are more than the GPU's memory with migration, give
/// the machine as much memory as those experts take: partitions.memory=48MiB.
///
/// Source      the programmer's cache: Eliseev 2023
class Moe : public Workload {
public:
  using Sizes = MoeSizes;
  static constexpr SizeOf<MoeSizes> kSizes[] = {
      {{.name = "experts", .meaning = "experts", .least = 16, .most = 4096}, &MoeSizes::experts},
      {{.name = "chosen", .meaning = "experts of a token", .most = 8}, &MoeSizes::chosen},
      {{.name = "tokens", .meaning = "tokens in a batch", .most = 64}, &MoeSizes::tokens},
      {{.name = "batches", .meaning = "batches, one after another", .most = 1024},
       &MoeSizes::batches},
      {{.name = "width",
        .meaning = "numbers of a token",
        .least = kMoeColumns,
        .most = 4096,
        .multiple = kMoeColumns},
       &MoeSizes::width},
      {{.name = "inner",
        .meaning = "rows of an expert's first matrices",
        .least = kMoeColumns,
        .most = 4096,
        .multiple = kMoeColumns},
       &MoeSizes::inner},
      {{.name = "skew",
        .meaning = "100 times the exponent of Zipf's law; 0: experts are chosen alike",
        .least = 0,
        .most = 300},
       &MoeSizes::skew},
      {{.name = "cached", .meaning = "experts that a programmer keeps on the GPU", .most = 4096},
       &MoeSizes::cached}};

  Moe(const MoeSizes& sizes, std::uint64_t seed);

  void reset() override;
  void before(std::uint32_t launch) override;
  void run(std::uint32_t launch, Cta& cta) override;

  const MoeSizes& sizes() const { return sizes_; }
  const MoeArguments& arguments() const { return arguments_; }
  /// The experts of each token, [batches][tokens][chosen], all of a token different.
  const std::vector<std::uint32_t>& choices() const { return choices_; }
  std::uint64_t bytes_of_expert() const { return parts_of_expert() * sizeof(MoePart); }

private:
  std::uint32_t slots_of_batch() const { return sizes_.tokens * sizes_.chosen; }
  std::uint64_t parts_of_expert() const;
  void allocate();
  void choose(std::uint64_t seed);
  void make_tiles();
  void fill(std::uint64_t seed);
  void describe();

  MoeSizes sizes_;
  MoeArguments arguments_{};
  std::vector<std::uint32_t> choices_;
  std::vector<float> inputs_;                // of all batches
  std::vector<std::vector<MoeTile>> tiles_;  // of each batch
};

}  // namespace isthmus::workloads
