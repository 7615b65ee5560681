#include "transfer/copy/carrier.hpp"
#include "transfer/copy/stream_order.hpp"
#include "transfer/copy/vanishing_memory.hpp"

namespace isthmus::transfer {

void WindowCarrier::carry(const Plan& plan, const Request& request) const {
  const bool threads = plan.path == CopyPath::window_threads;
  copy_unless_vanishing(plan.ends, [&](const CopyEnds& ends) {
    if (request.ordered) wait_for_work(driver_, request.stream);
    if (plan.uploads()) {
      plan.window->write(reinterpret_cast<std::uintptr_t>(ends.target), ends.source,
                         ends.size_bytes, threads);
    } else {
      plan.window->read(ends.target, reinterpret_cast<std::uintptr_t>(ends.source), ends.size_bytes,
                        threads);
    }
  });
}

}  // namespace isthmus::transfer
