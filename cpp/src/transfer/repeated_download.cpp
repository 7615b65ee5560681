#include "transfer/repeated_download.hpp"

namespace isthmus::transfer {
namespace {

constinit thread_local RepeatedDownload repeated_download;

}  // namespace

RepeatedDownload& RepeatedDownload::of_thread() noexcept { return repeated_download; }

void RepeatedDownload::note(const void* owner, const void* target, const void* source,
                            std::size_t size_bytes, const Facts& facts, host::Tick now) noexcept {
  owner_ = owner;
  target_ = target;
  source_ = source;
  size_bytes_ = size_bytes;
  facts_ = facts;
  tick_ = now;
}

}  // namespace isthmus::transfer
