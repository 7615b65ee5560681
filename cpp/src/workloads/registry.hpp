// The workloads by name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "trace/trace.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// A row of the registry.
struct NamedWorkload {
  std::string_view name;         ///< "bfs", "mum-140k"
  std::string_view description;  ///< of the algorithm and its input, one line
  std::string_view synthetic;    ///< made-up inputs that the original reads from files; "": none
  /// One of Zhang 2019's ten programs. It names seven; aes, ray and sto are a guess. If a program
  /// has two inputs, this is the one of ISPASS'09, which Zhang 2019 cites.
  bool in_paper = false;
  std::unique_ptr<Workload> (*make)(std::uint64_t seed) = nullptr;
};

/// All workloads, Zhang 2019's first.
std::span<const NamedWorkload> workloads();

/// The program of a workload, with inputs generated from the seed.
///
/// Throws      UsageError for an unknown name; the message lists the names.
std::unique_ptr<trace::Source> make_workload(std::string_view name, std::uint64_t seed);

}  // namespace isthmus::workloads
