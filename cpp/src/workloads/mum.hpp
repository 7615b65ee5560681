// Finds DNA reads in a reference, like MUMmerGPU.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "workloads/mum_kernel.hpp"
#include "workloads/suffix_tree.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// 50,000 reads of 25 letters. The genome is random, with the composition and length of the
/// original, Bacillus anthracis; the reference is its beginning, so most reads are outside of it.
/// The cleared matches are copied to the GPU too: this makes the sizes close to those of ispass2009
/// (docs/sources.md).
///
/// Source      layout of nodes, reference and reads: MUMmerGPU 2
class Mum : public Workload {
public:
  static constexpr std::uint32_t kNumReads = 50000;
  static constexpr std::uint32_t kReadLetters = 25;
  static constexpr std::uint32_t kMinLength = 20;  ///< MUMmerGPU's default

  /// num_letters     in the reference
  Mum(std::uint32_t num_letters, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const MumArguments& arguments() const { return arguments_; }
  std::uint32_t num_nodes() const { return num_nodes_; }

private:
  void place_reference(std::span<const std::uint8_t> reference);
  void place_tree(const SuffixTree& tree);
  void take_reads(std::uint64_t seed, std::span<const std::uint8_t> reference);
  void describe(std::uint32_t num_letters);

  MumArguments arguments_{};
  std::uint32_t num_nodes_ = 0;
};

/// 140,000 letters, as in ISPASS'09.
std::unique_ptr<Workload> make_mum_140k(std::uint64_t seed);
/// 1,400,000 letters, as in the suite's repository.
std::unique_ptr<Workload> make_mum_1400k(std::uint64_t seed);

}  // namespace isthmus::workloads
