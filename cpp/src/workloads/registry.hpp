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
  std::string_view synthetic;  ///< what is made up that the original has from a file; "" if nothing
  /// One of the paper's ten programs. It names seven; aes, ray and sto are a guess. Of two inputs
  /// of one program it is that of ISPASS'09, which the paper cites.
  bool in_paper = false;
  std::unique_ptr<Workload> (*make)(std::uint64_t seed) = nullptr;
};

/// All workloads, the paper's first.
std::span<const NamedWorkload> workloads();

/// The program of a workload, with inputs generated from the seed.
///
/// Throws      UsageError for an unknown name; the message lists the names.
std::unique_ptr<trace::Source> make_workload(std::string_view name, std::uint64_t seed);

}  // namespace isthmus::workloads
