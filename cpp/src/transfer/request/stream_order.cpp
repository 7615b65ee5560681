#include "transfer/request/stream_order.hpp"

#include "device/capture.hpp"

namespace isthmus::transfer {
namespace {

/// The thread's capture mode must be relaxed: otherwise the query would end other threads' captures.
[[gnu::always_inline]] inline bool has_no_work(const Driver& driver, CUstream stream) {
  const CUresult state = driver.raw(symbol::stream_query)(stream);
  if (state == CUDA_ERROR_NOT_READY) return false;
  driver.check(state, symbol::stream_query.name);
  return true;
}

}  // namespace

bool is_idle(const Driver& driver, CUstream stream) {
  const ScopedRelaxedCapture relaxed(driver);
  return has_no_work(driver, stream);
}

void wait_for_work(const Driver& driver, CUstream stream) {
  const ScopedRelaxedCapture relaxed(driver);
  if (!has_no_work(driver, stream)) driver.call(symbol::stream_synchronize)(stream);
}

}  // namespace isthmus::transfer
