#include "transfer/repeated_copy.hpp"

namespace isthmus::transfer {
namespace {

constinit thread_local RepeatedCopy repeated_copy;

}  // namespace

RepeatedCopy& RepeatedCopy::of_thread() noexcept { return repeated_copy; }

void RepeatedCopy::note(const void* owner, const void* target, const void* source,
                        std::size_t size_bytes, const Facts& facts, host::Tick now) noexcept {
  owner_ = owner;
  target_ = target;
  source_ = source;
  size_bytes_ = size_bytes;
  facts_ = facts;
  tick_ = now;
}

}  // namespace isthmus::transfer
