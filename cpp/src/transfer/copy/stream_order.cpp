#include "transfer/copy/stream_order.hpp"

#include "device/capture.hpp"

namespace isthmus::transfer {

void wait_for_work(const Driver& driver, CUstream stream) {
  // Without it, the query would end other threads' captures.
  const ScopedRelaxedCapture relaxed(driver);
  const CUresult state = driver.raw(symbol::stream_query)(stream);
  if (state == CUDA_ERROR_NOT_READY) return driver.call(symbol::stream_synchronize)(stream);
  driver.check(state, symbol::stream_query.name);
}

}  // namespace isthmus::transfer
