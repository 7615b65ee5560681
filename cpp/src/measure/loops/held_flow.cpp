#include "measure/loops/held_flow.hpp"

namespace isthmus::measure {

HeldFlow::HeldFlow(const Flow& flow, const Kernels* kernels,
                   std::chrono::duration<double> gate_timeout)
    : flow_(flow),
      stream_(flow.context()),
      begin_(flow.context()),
      first_(flow.context()),
      last_(flow.context()),
      gate_(flow.context(), kernels, gate_timeout) {}

void HeldFlow::enqueue(std::size_t num_warm_ups, std::size_t num_copies) {
  const CurrentContext current(flow_.context());
  const CUstream stream = stream_.handle();
  gate_.hold(stream);
  begin_.record(stream);
  for (std::size_t i = 0; i < num_warm_ups; ++i) flow_.enqueue(stream);
  first_.record(stream);
  for (std::size_t i = 0; i < num_copies; ++i) flow_.enqueue(stream);
  last_.record(stream);
}

void HeldFlow::wait() const {
  const CurrentContext current(flow_.context());
  last_.synchronize();
}

double HeldFlow::seconds_of_copies() const {
  const CurrentContext current(flow_.context());
  return elapsed_seconds(flow_.context(), first_, last_);
}

double HeldFlow::seconds_of_all() const {
  const CurrentContext current(flow_.context());
  return elapsed_seconds(flow_.context(), begin_, last_);
}

}  // namespace isthmus::measure
