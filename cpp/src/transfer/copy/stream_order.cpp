#include "transfer/copy/stream_order.hpp"

#include "device/capture.hpp"

namespace isthmus::transfer {

bool is_idle(const Driver& driver, CUstream stream) {
  // Without it, the query would end other threads' captures.
  const ScopedRelaxedCapture relaxed(driver);
  const CUresult state = driver.raw(symbol::stream_query)(stream);
  if (state == CUDA_ERROR_NOT_READY) return false;
  driver.check(state, symbol::stream_query.name);
  return true;
}

void wait_for_work(const Driver& driver, CUstream stream) {
  const ScopedRelaxedCapture relaxed(driver);
  if (!is_idle(driver, stream)) driver.call(symbol::stream_synchronize)(stream);
}

}  // namespace isthmus::transfer
