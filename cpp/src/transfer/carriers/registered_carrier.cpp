#include <cstdint>
#include <string>
#include <vector>

#include <unistd.h>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "host/memory/pages.hpp"
#include "transfer/carriers/carrier.hpp"
#include "transfer/carriers/driver_copy.hpp"
#include "transfer/request/failed_copy.hpp"

namespace isthmus::transfer {
namespace {

/// Whole host pages, registered during the object's life.
class ScopedRegistration {
public:
  ScopedRegistration(const Driver& driver, void* pages, std::size_t size_bytes, bool read_only)
      : driver_(driver), pages_(pages) {
    const auto enroll = driver_.raw(symbol::mem_host_register);
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    if (enroll != nullptr) result = enroll(pages_, size_bytes, CU_MEMHOSTREGISTER_PORTABLE);
    if (result == CUDA_SUCCESS) return;
    throw Unavailable(
        "pinning in place",
        "cuMemHostRegister of " + std::to_string(size_bytes) + " bytes: " + driver_.name_of(result),
        read_only ? "memory that is writable, and of which no page is pinned already"
                  : "memory of which no page is pinned already");
  }
  ~ScopedRegistration() {
    if (pages_ != nullptr) driver_.raw(symbol::mem_host_unregister)(pages_);
  }
  ScopedRegistration(const ScopedRegistration&) = delete;
  ScopedRegistration& operator=(const ScopedRegistration&) = delete;

  /// The pages stay pinned until the process ends.
  void leave() noexcept { pages_ = nullptr; }

private:
  const Driver& driver_;
  void* pages_ = nullptr;
};

}  // namespace

void RegisteredCarrier::carry(const Plan& plan, const Request& request) const {
  const CopyEnds& ends = plan.ends;
  const void* const host = plan.uploads() ? ends.source : ends.target;
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(host);
  const std::uintptr_t first = host::round_up(begin, page_bytes);
  const std::uintptr_t last = (begin + ends.size_bytes) / page_bytes * page_bytes;
  // The bytes at the ends lie in pages shared with other memory, which must not be pinned: the
  // driver copies them directly.
  if (first >= last) return copy_by_driver(driver_, ends, request.stream);
  std::vector<CopyEnds> pieces;
  if (first > begin) pieces.push_back(part_of(ends, 0, first - begin));
  pieces.push_back(part_of(ends, first - begin, last - first));
  const std::size_t tail_bytes = begin + ends.size_bytes - last;
  if (tail_bytes > 0) pieces.push_back(part_of(ends, last - begin, tail_bytes));
  const ScopedRelaxedCapture relaxed(driver_);  // pinning is not part of any capture
  ScopedRegistration registration(driver_, reinterpret_cast<void*>(first), last - first,
                                  plan.uploads());
  try {
    enqueue_pieces(driver_, pieces, request.stream);
    wait_for_copies(driver_, request.stream);
  } catch (...) {
    if (leaves_memory_in_use(std::current_exception())) registration.leave();
    throw;
  }
}

}  // namespace isthmus::transfer
