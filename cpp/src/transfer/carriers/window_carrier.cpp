#include "transfer/carriers/carrier.hpp"
#include "transfer/carriers/vanishing_memory.hpp"
#include "transfer/request/stream_order.hpp"

namespace isthmus::transfer {
namespace {

void carry_ends(const Driver& driver, const Plan& plan, const CopyEnds& ends,
                const Request& request) {
  const bool threads = plan.path == CopyPath::window_threads;
  if (request.ordered) wait_for_work(driver, request.stream);
  if (plan.uploads()) {
    plan.window->write(reinterpret_cast<std::uintptr_t>(ends.target), ends.source, ends.size_bytes,
                       threads);
  } else {
    plan.window->read(ends.target, reinterpret_cast<std::uintptr_t>(ends.source), ends.size_bytes,
                      threads);
  }
}

/// Not part of carry(): its large stack frame would be set up for each small copy.
[[gnu::noinline]] void carry_vanishing(const Driver& driver, const Plan& plan,
                                       const Request& request) {
  VanishingMemoryBuffer(plan.ends, &plan.device->bounce()).copy_through([&](const CopyEnds& ends) {
    carry_ends(driver, plan, ends, request);
  });
}

}  // namespace

void WindowCarrier::carry(const Plan& plan, const Request& request) const {
  if (plan.ends.may_vanish()) return carry_vanishing(driver_, plan, request);
  carry_ends(driver_, plan, plan.ends, request);
}

}  // namespace isthmus::transfer
