#include "transfer/pinned/registration.hpp"

#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/cleanup.hpp"
#include "transfer/pinned/pin_failures.hpp"

namespace isthmus::transfer {
namespace {

[[noreturn]] void refuse(const Driver& driver, CUresult result, std::size_t size_bytes) {
  const std::string what = std::to_string(size_bytes) + " bytes of host memory";
  if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
    throw UsageError("some of these " + what +
                     " are pinned already, by isthmus or another library: copies of those are fast "
                     "as they are; pass a part that isn't");
  if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED)
    throw Unavailable(
        "pinning " + what + " where it lies",
        std::string(symbol::mem_host_register.name) + " returned " + driver.name_of(result),
        "memory that this process may write, or an array that is marked read-only; of "
        "a file on a disk only the latter, such as numpy.memmap(..., mode='r')");
  throw_pin_failure(driver, result, size_bytes, host::memory_limits());
}

}  // namespace

Registration::Registration(const Context& context, void* memory, std::size_t size_bytes,
                           bool read_only)
    : context_(context), memory_(memory) {
  const Driver& driver = context_.driver();
  const auto enroll = driver.raw(symbol::mem_host_register);
  const CurrentContext current(context_);
  const ScopedRelaxedCapture relaxed(driver);  // pinning is not part of any capture
  CUresult result = enroll(memory, size_bytes, CU_MEMHOSTREGISTER_PORTABLE);
  if (read_only && (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED))
    result = enroll(memory, size_bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_READ_ONLY);
  if (result != CUDA_SUCCESS) refuse(driver, result, size_bytes);
}

Registration::~Registration() {
  report_cleanup(context_.driver(), unregister(), symbol::mem_host_unregister.name);
}

void Registration::end() {
  context_.driver().check(unregister(), symbol::mem_host_unregister.name);
}

CUresult Registration::unregister() noexcept {
  void* const memory = std::exchange(memory_, nullptr);
  if (memory == nullptr || !context_.in_own_process()) return CUDA_SUCCESS;
  const Driver& driver = context_.driver();
  const ScopedRelaxedCapture relaxed(driver);
  CUresult result = driver.raw(symbol::ctx_push_current)(context_.handle());
  if (result != CUDA_SUCCESS) return result;
  const auto unregister = driver.raw(symbol::mem_host_unregister);
  result = unregister(memory);
  // Once more: pages that stay pinned couldn't be pinned by their next owner.
  if (result != CUDA_SUCCESS) result = unregister(memory);
  CUcontext popped = nullptr;
  driver.raw(symbol::ctx_pop_current)(&popped);
  return result;
}

}  // namespace isthmus::transfer
