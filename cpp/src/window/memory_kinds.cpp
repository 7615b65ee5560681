#include "window/memory_kinds.hpp"

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "device/cleanup.hpp"
#include "device/stream.hpp"
#include "window/created_memory.hpp"

namespace isthmus::window {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{2} << 20U;
// Not whole pages, as arrays in pools usually are.
constexpr std::size_t kPoolBufferBytes = 400'000;

void use_malloced(const Context& context, const MemoryKind::Use& function) {
  const DeviceBuffer buffer(context, kBufferBytes);
  function(buffer.pointer(), buffer.size_bytes());
}

template <CUmemAllocationHandleType ExportedAs>
void use_created(const Context& context, const MemoryKind::Use& function) {
  const CreatedMemory memory(context, kBufferBytes, ExportedAs);
  function(memory.pointer(), memory.size_bytes());
}

/// Memory from the device's pool; freed in the order of its own stream.
class PoolBuffer {
public:
  explicit PoolBuffer(const Context& context) : stream_(context), driver_(context.driver()) {
    driver_.call(symbol::mem_alloc_async)(&pointer_, kPoolBufferBytes, stream_.handle());
  }
  ~PoolBuffer() {
    report_cleanup(driver_, driver_.raw(symbol::mem_free_async)(pointer_, stream_.handle()),
                   symbol::mem_free_async.name);
  }
  PoolBuffer(const PoolBuffer&) = delete;
  PoolBuffer& operator=(const PoolBuffer&) = delete;

  CUdeviceptr pointer() const noexcept { return pointer_; }
  void wait() const { stream_.synchronize(); }

private:
  Stream stream_;
  Driver driver_;
  CUdeviceptr pointer_ = 0;
};

void use_pool(const Context& context, const MemoryKind::Use& function) {
  if (!context.driver().has(symbol::mem_alloc_async) ||
      !context.driver().has(symbol::mem_free_async))
    throw Unavailable("memory of cudaMallocAsync", "the driver lacks cuMemAllocAsync",
                      "a driver for CUDA 11.2 or later");
  const PoolBuffer buffer(context);
  buffer.wait();
  function(buffer.pointer(), kPoolBufferBytes);
}

}  // namespace

std::vector<MemoryKind> memory_kinds() {
  return {{"cudaMalloc", use_malloced},
          {"exportable cuMemCreate", use_created<CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR>},
          {"cuMemCreate without an exportable handle", use_created<CU_MEM_HANDLE_TYPE_NONE>},
          {"cudaMallocAsync", use_pool}};
}

}  // namespace isthmus::window
