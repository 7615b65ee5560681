#include "preload/waiting.hpp"

#include "preload/binding.hpp"

namespace isthmus::preload {
namespace {

/// Work in such a stream comes after its own earlier work alone.
bool is_alone(CUstream stream) {
  unsigned flags = 0;
  return stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD &&
         driver.stream_flags(stream, &flags) == CUDA_SUCCESS &&
         (flags & CU_STREAM_NON_BLOCKING) != 0;
}

/// A wait for an event is one for all that comes before new work, which a wait for the stream isn't.
CUresult wait_for_event(CUstream stream) {
  CUevent event = nullptr;
  CUresult result = driver.create_event(&event, CU_EVENT_DISABLE_TIMING);
  if (result != CUDA_SUCCESS) return result;
  result = driver.record(event, stream);
  if (result == CUDA_SUCCESS) result = driver.wait_for_event(event);
  driver.destroy_event(event);
  return result;
}

}  // namespace

CUstream stream_of(const Entry& entry, const What& what) {
  if (what.stream != nullptr) return what.stream;
  return entry.per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

CUresult wait_for(CUstream stream, bool for_all) {
  // Otherwise a wait would end captures that other threads have begun.
  auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (driver.exchange_mode != nullptr) driver.exchange_mode(&mode);
  const bool is_for_event = for_all && !is_alone(stream);
  const CUresult result = is_for_event ? wait_for_event(stream) : driver.synchronize(stream);
  if (driver.exchange_mode != nullptr) driver.exchange_mode(&mode);
  return result;
}

}  // namespace isthmus::preload
