// cuMemcpyBatchAsync: many copies with one call.
#include "api/call.hpp"
#include "api/superseded.hpp"
#include "copies/addressed_copies.hpp"
#include "machine/machine.hpp"

namespace isthmus::emulator {
namespace {

/// A call's arrays, checked as far as possible without looking at memory.
struct Batch {
  CUdeviceptr* targets;
  CUdeviceptr* sources;
  std::size_t* sizes;
  std::size_t count;
  CUmemcpyAttributes* attributes;
  std::size_t* attribute_starts;
  std::size_t num_attributes;
};

void require_attributes(const Batch& batch) {
  require(batch.attributes != nullptr && batch.attribute_starts != nullptr);
  require(batch.num_attributes > 0 && batch.num_attributes <= batch.count);
  for (std::size_t i = 0; i < batch.num_attributes; ++i) {
    const std::size_t start = batch.attribute_starts[i];
    require(i == 0 ? start == 0 : start > batch.attribute_starts[i - 1] && start < batch.count);
    const CUmemcpySrcAccessOrder order = batch.attributes[i].srcAccessOrder;
    require(order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
  }
}

std::vector<AddressedCopy> copies_of(Lock& lock, const Batch& batch) {
  std::vector<AddressedCopy> copies;
  for (std::size_t i = 0; i < batch.count; ++i) {
    copies.push_back({batch.targets[i], batch.sources[i], batch.sizes[i]});
    require_copyable(lock, copies.back());
  }
  return copies;
}

CUresult copy_batch(const Batch& batch, CUstream handle) {
  Call call("cuMemcpyBatchAsync");
  call.note("copies", batch.count);
  return call([&] {
    Context& context = current_context();
    require(batch.count > 0);
    require(batch.targets != nullptr && batch.sources != nullptr && batch.sizes != nullptr);
    require_attributes(batch);
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    require(stream != context.default_stream);
    call.note("stream", stream->number);
    enqueue_copies(lock, context, stream, copies_of(lock, batch));
    return CUDA_SUCCESS;
  });
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

// CUDA's signatures.
// NOLINTNEXTLINE(readability-function-size)
CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr* targets, CUdeviceptr* sources, std::size_t* sizes,
                                    std::size_t count, CUmemcpyAttributes* attributes,
                                    std::size_t* attribute_starts, std::size_t num_attributes,
                                    std::size_t* failed_index, CUstream stream) {
  const CUresult result = copy_batch(
      {targets, sources, sizes, count, attributes, attribute_starts, num_attributes}, stream);
  // SIZE_MAX: this driver doesn't attribute the error to a single copy.
  if (result != CUDA_SUCCESS && failed_index != nullptr) *failed_index = SIZE_MAX;
  return result;
}

// NOLINTNEXTLINE(readability-function-size)
CUresult CUDAAPI cuMemcpyBatchAsync_v2(CUdeviceptr* targets, CUdeviceptr* sources,
                                       std::size_t* sizes, std::size_t count,
                                       CUmemcpyAttributes* attributes,
                                       std::size_t* attribute_starts, std::size_t num_attributes,
                                       CUstream stream) {
  return copy_batch({targets, sources, sizes, count, attributes, attribute_starts, num_attributes},
                    stream);
}

}  // extern "C"
