#include "transfer/request/failed_copy.hpp"

#include <new>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"

namespace isthmus::transfer {
namespace {

[[noreturn]] void throw_unknown(const std::string& why) {
  DriverError(CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "cuStreamSynchronize", why)
      .throw_of_memory_in_use();
}

const std::exception_ptr& lost_without_memory() {
  static const std::exception_ptr made = [] {
    try {
      throw_unknown("a copy failed, and memory has run out");
    } catch (...) {
      return std::current_exception();
    }
  }();
  return made;
}

}  // namespace

void prepare_for_failures() { static_cast<void>(lost_without_memory()); }

bool leaves_memory_in_use(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const DriverError& error) {
    return error.memory_in_use();
  } catch (...) {
    return false;
  }
}

bool becomes_idle(const Driver& driver, CUstream stream) noexcept {
  const ScopedRelaxedCapture relaxed(driver);
  // A driver that twice in a row can't wait for a stream has lost its context.
  for (int i = 0; i < 2; ++i) {
    if (driver.raw(symbol::stream_synchronize)(stream) == CUDA_SUCCESS) return true;
  }
  return false;
}

void throw_once_idle(const Driver& driver, CUstream stream) {
  const bool idle = becomes_idle(driver, stream);  // before anything that allocates memory
  if (!idle) throw_of_memory_in_use();
  try {
    throw;
  } catch (const DriverError& error) {
    error.throw_adding("all bytes of the target are undefined");
    throw;
  }
}

void throw_of_memory_in_use() {
  try {
    try {
      throw;
    } catch (const DriverError& error) {
      error.throw_of_memory_in_use();
      throw;
    } catch (const std::exception& error) {
      throw_unknown(error.what());
    }
  } catch (const std::bad_alloc&) {
    std::rethrow_exception(lost_without_memory());
  }
}

}  // namespace isthmus::transfer
