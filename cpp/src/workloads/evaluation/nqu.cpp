#include "workloads/evaluation/nqu.hpp"

#include <algorithm>

namespace isthmus::workloads {
namespace {

constexpr std::uint64_t kPublishedInstructions = 2'000'000;  // ISPASS'09, Table 1
constexpr std::uint32_t kNumCtas = 223;                      // as above
constexpr std::uint32_t kNumThreads = kNumCtas * kNquThreads;

}  // namespace

Nqu::Nqu(const NquSizes& sizes, std::uint64_t /*seed*/) : sizes_(sizes) {
  arguments_.columns = heap_.allocate<unsigned>("columns", kNumThreads);
  arguments_.left_diagonals = heap_.allocate<unsigned>("left_diagonals", kNumThreads);
  arguments_.right_diagonals = heap_.allocate<unsigned>("right_diagonals", kNumThreads);
  arguments_.counts = heap_.allocate<unsigned>("counts", kNumCtas);
  arguments_.num_rows = sizes_.queens - 2;
  arguments_.board = (1U << sizes_.queens) - 1;
  place_two();
  program_.launches.push_back(launch("board", kNumCtas, kNquThreads));
  // Only the existing tasks, not the whole arrays.
  for (const auto& array :
       {arguments_.columns, arguments_.left_diagonals, arguments_.right_diagonals})
    program_.launches[0].before.push_back(
        {trace::HostStep::Kind::upload, array.address, arguments_.num_tasks * sizeof(unsigned)});
  program_.after = {download(arguments_.counts)};
  program_.thread_instructions = kPublishedInstructions;
  finish_program();
}

void Nqu::place_two() {
  for (unsigned first = 1; first < 1U << sizes_.queens / 2; first <<= 1U) {
    for (unsigned second = 1; second <= arguments_.board; second <<= 1U) {
      if (((first | first << 1U | first >> 1U) & second) != 0) continue;
      const unsigned task = arguments_.num_tasks++;
      arguments_.columns.values[task] = first | second;
      arguments_.left_diagonals.values[task] = first << 2U | second << 1U;
      arguments_.right_diagonals.values[task] = first >> 2U | second >> 1U;
    }
  }
}

void Nqu::reset() { std::fill_n(arguments_.counts.values, kNumCtas, 0U); }

void Nqu::run(std::uint32_t /*launch*/, Cta& cta) { nqu_board(cta, arguments_); }

std::uint64_t Nqu::num_ways() const {
  std::uint64_t half = 0;
  for (std::uint32_t cta = 0; cta < kNumCtas; ++cta) half += arguments_.counts.values[cta];
  return 2 * half;
}

}  // namespace isthmus::workloads
