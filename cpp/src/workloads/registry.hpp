// The workloads by name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// A row of the registry.
struct NamedWorkload {
  std::string_view name;         ///< "bfs", "mum-140k"
  std::string_view description;  ///< of the algorithm and its usual input, one line
  std::string_view synthetic;    ///< made-up inputs that the original reads from files; "": none
  /// One of Zhang 2019's ten programs. It names seven; aes, ray and sto are a guess. If a program
  /// has two inputs, this is the one of ISPASS'09, which Zhang 2019 cites.
  bool in_paper = false;
  std::vector<Size> sizes;
  /// Takes the values of all sizes, in their order.
  std::function<std::unique_ptr<Workload>(std::span<const std::uint32_t> values,
                                          std::uint64_t seed)>
      make;
};

/// All workloads, Zhang 2019's first.
std::span<const NamedWorkload> workloads();

/// A workload, with inputs generated from the seed, to be run.
///
/// sizes       as make_workload takes them
/// Throws      as make_workload does
std::unique_ptr<Workload> make_program(std::string_view name, std::uint64_t seed,
                                       const GivenSizes& sizes = {});

/// The trace of a workload, recorded while it runs.
///
/// sizes       those that aren't the usual ones; the program's description names them
/// Throws      UsageError for an unknown name, or a size that isn't allowed; the message lists what is
std::unique_ptr<trace::Source> make_workload(std::string_view name, std::uint64_t seed,
                                             const GivenSizes& sizes = {});

/// Throws      as make_workload does, at once: nothing is generated
void check_workload(std::string_view name, const GivenSizes& sizes);

}  // namespace isthmus::workloads
