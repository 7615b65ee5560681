#include "workloads/workload.hpp"

#include <utility>

namespace isthmus::workloads {

void Workload::name_program(std::string_view name, std::string_view description, bool synthetic) {
  program_.name = name;
  program_.description = description;
  program_.synthetic = synthetic;
}

trace::Launch Workload::launch(std::string name, std::uint32_t num_ctas,
                               std::uint32_t threads_per_cta) {
  trace::Launch result;
  result.name = std::move(name);
  result.num_ctas = num_ctas;
  result.threads_per_cta = threads_per_cta;
  result.warps_per_cta = (threads_per_cta + kNumLanes - 1) / kNumLanes;
  return result;
}

}  // namespace isthmus::workloads
