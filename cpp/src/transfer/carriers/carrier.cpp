#include "transfer/carriers/carrier.hpp"

#include "transfer/carriers/driver_copy.hpp"

namespace isthmus::transfer {

void Carrier::end_there(PendingCopy& pending, CUstream stream) const {
  try {
    pending.end_at(stream);
  } catch (...) {
    wait_for_copies(driver_, stream);
    pending.finish(nullptr);
  }
}

}  // namespace isthmus::transfer
