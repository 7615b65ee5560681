#include "workloads/evaluation/sto.hpp"

#include <algorithm>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint64_t kPublishedInstructions = 134'000'000;  // ISPASS'09, Table 1

}  // namespace

Sto::Sto(const StoSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  arguments_.words = heap_.allocate<unsigned>("words", sizes_.windows + kStoWindowWords - 1);
  arguments_.hashes = heap_.allocate<unsigned>("hashes", sizes_.windows);
  RandomNumbers random(seed);
  std::generate_n(arguments_.words.values, arguments_.words.num_elements,
                  [&] { return static_cast<unsigned>(random.next()); });
  trace::Launch& windows = program_.launches.emplace_back(
      launch("windows", sizes_.windows / kThreadsPerCta, kThreadsPerCta));
  windows.before = {upload(arguments_.words)};
  program_.after = {download(arguments_.hashes)};
  program_.thread_instructions = kPublishedInstructions;
  finish_program();
}

void Sto::reset() { std::fill_n(arguments_.hashes.values, sizes_.windows, 0U); }

void Sto::run(std::uint32_t /*launch*/, Cta& cta) { sto_windows(cta, arguments_); }

KernelCall Sto::call(std::uint32_t /*launch*/) const {
  return kernel_call("sto_windows", arguments_);
}

}  // namespace isthmus::workloads
