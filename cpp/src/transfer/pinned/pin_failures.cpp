#include "transfer/pinned/pin_failures.hpp"

#include <cstdint>

namespace isthmus::transfer {
namespace {

std::string pinning(std::size_t size_bytes) {
  return "pinning " + std::to_string(size_bytes) + " bytes of host memory";
}

std::string left(const host::MemoryLimits& limits) {
  const std::string bytes = std::to_string(limits.available_bytes) + " bytes are left";
  if (!limits.cgroup_limit_bytes) return "of the machine's memory " + bytes;
  return bytes + " (the cgroup's memory limit is " + std::to_string(*limits.cgroup_limit_bytes) +
         " bytes)";
}

/// What would help against the limits that the size exceeds; "" if it exceeds none.
struct Cause {
  std::string reason;
  std::string needs;
};

Cause find_cause(std::size_t size_bytes, const host::MemoryLimits& limits) {
  if (limits.memlock_bytes && *limits.memlock_bytes < size_bytes) {
    return {"RLIMIT_MEMLOCK is " + std::to_string(*limits.memlock_bytes) + " bytes",
            "a higher limit of locked memory (ulimit -l, LimitMEMLOCK=, docker run --ulimit "
            "memlock=-1)"};
  }
  return {left(limits), limits.cgroup_limit_bytes ? "a higher memory limit of the cgroup, or less"
                                                  : "more free memory, or less to pin"};
}

bool says_no_memory(CUresult result) {
  return result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_OPERATING_SYSTEM ||
         result == CUDA_ERROR_NOT_PERMITTED;
}

}  // namespace

void require_room_to_pin(std::size_t size_bytes, const host::MemoryLimits& limits) {
  if (size_bytes <= limits.available_bytes) return;
  throw_no_pages(size_bytes, "", limits);
}

void throw_pin_failure(const Driver& driver, CUresult result, std::size_t size_bytes,
                       const host::MemoryLimits& limits) {
  if (says_no_memory(result)) {
    const Cause cause = find_cause(size_bytes, limits);
    throw Unavailable(pinning(size_bytes),
                      std::string(symbol::mem_host_register.name) + " returned " +
                          driver.name_of(result) + ", and " + cause.reason,
                      cause.needs);
  }
  driver.check(result, symbol::mem_host_register.name);
  throw UsageError("throw_pin_failure was given a success");
}

void throw_no_pages(std::size_t size_bytes, const std::string& what,
                    const host::MemoryLimits& limits) {
  const std::string reason = (what.empty() ? what : what + ", and ") + left(limits);
  throw Unavailable(pinning(size_bytes), reason,
                    limits.cgroup_limit_bytes ? "a higher memory limit of the cgroup, or less"
                                              : "more free memory, or less to pin");
}

}  // namespace isthmus::transfer
