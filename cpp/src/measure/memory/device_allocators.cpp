// Device memory with an address: plain, pitched, from a pool, and virtual (cuMemMap).
// CUDA arrays, which have a shape and no address: copies in and out are boxes.
#include <limits>

#include <isthmus/errors.hpp>

#include "device/stream.hpp"
#include "host/memory/pages.hpp"
#include "measure/memory/allocator_parts.hpp"

namespace isthmus::measure {
namespace {

/// The element size that cudaMallocPitch, which has no such parameter, passes.
constexpr unsigned int kElementBytes = 4;

class Linear final : public DeviceAllocator {
public:
  using DeviceAllocator::DeviceAllocator;

  void allocate(std::size_t slot) override {
    CUdeviceptr address = 0;
    driver().call(symbol::mem_alloc)(&address, size_bytes());
    keep(slot, address);
  }
  void free(std::size_t slot) override { driver().call(symbol::mem_free)(take(slot)); }
};

/// A shape's rows; for cudaMalloc3D, the rows of all slices, one after the other.
class Pitched final : public DeviceAllocator {
public:
  Pitched(const Context& context, const AllocationShape& shape, const Extent& extent)
      : DeviceAllocator(context, shape), extent_(extent) {}

  void allocate(std::size_t slot) override {
    CUdeviceptr address = 0;
    std::size_t pitch_bytes = 0;
    driver().call(symbol::mem_alloc_pitch)(&address, &pitch_bytes, extent_.width_bytes,
                                           extent_.num_rows * extent_.num_slices, kElementBytes);
    keep(slot, address);
  }
  void free(std::size_t slot) override { driver().call(symbol::mem_free)(take(slot)); }

private:
  Extent extent_;
};

int attribute(const Context& context, CUdevice_attribute which) {
  int value = 0;
  CUdevice device = 0;
  context.driver().call(symbol::device_get)(&device, context.device().ordinal);
  context.driver().call(symbol::device_get_attribute)(&value, which, device);
  return value;
}

/// While this lives, the device's default pool keeps all freed memory (a threshold of 2^64 bytes)
/// or none. Then the old setting is restored.
class PoolSetting {
public:
  PoolSetting(const Context& context, bool keeps) : context_(context) {
    const Driver& driver = context.driver();
    CUdevice device = 0;
    driver.call(symbol::device_get)(&device, context.device().ordinal);
    driver.call(symbol::device_get_default_mem_pool)(&pool_, device);
    driver.call(symbol::mem_pool_get_attribute)(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                                static_cast<void*>(&previous_bytes_));
    cuuint64_t wanted_bytes = keeps ? std::numeric_limits<cuuint64_t>::max() : 0;
    driver.call(symbol::mem_pool_set_attribute)(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                                static_cast<void*>(&wanted_bytes));
  }
  ~PoolSetting() {
    const Driver& driver = context_.driver();
    report_cleanup(driver,
                   driver.raw(symbol::mem_pool_set_attribute)(
                       pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &previous_bytes_),
                   symbol::mem_pool_set_attribute.name);
    report_cleanup(driver, driver.raw(symbol::mem_pool_trim_to)(pool_, previous_bytes_),
                   symbol::mem_pool_trim_to.name);
  }
  PoolSetting(const PoolSetting&) = delete;
  PoolSetting& operator=(const PoolSetting&) = delete;

private:
  Context context_;
  CUmemoryPool pool_ = nullptr;
  cuuint64_t previous_bytes_ = 0;
};

class StreamOrdered final : public DeviceAllocator {
public:
  StreamOrdered(const Context& context, const AllocationShape& shape)
      : DeviceAllocator(context, shape),
        setting_(context, shape.kind == AllocationKind::stream_ordered_kept),
        stream_(context) {}

  void allocate(std::size_t slot) override {
    CUdeviceptr address = 0;
    driver().call(symbol::mem_alloc_async)(&address, size_bytes(), stream_.handle());
    keep(slot, address);
  }
  void free(std::size_t slot) override {
    driver().call(symbol::mem_free_async)(take(slot), stream_.handle());
  }
  void finish() override { stream_.synchronize(); }
  bool returns_early() const noexcept override { return true; }
  /// A pool may return freed memory again under the same ID.
  std::optional<Identity> identity(std::size_t slot) const override {
    (void)slot;
    return std::nullopt;
  }

private:
  CUstream stream() const noexcept override { return stream_.handle(); }

  PoolSetting setting_;
  Stream stream_;
};

/// The size is rounded up to the granularity.
class Virtual final : public DeviceAllocator {
public:
  Virtual(const Context& context, const AllocationShape& shape)
      : DeviceAllocator(context, shape), handles_(shape.num_slots, 0) {
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties_.location.id = context.device().ordinal;
    access_.location = properties_.location;
    access_.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    std::size_t granularity_bytes = 0;
    driver().call(symbol::mem_get_allocation_granularity)(&granularity_bytes, &properties_,
                                                          CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    whole_bytes_ = host::round_up(shape.size_bytes, granularity_bytes);
  }

  void allocate(std::size_t slot) override {
    driver().call(symbol::mem_create)(&handles_[slot], whole_bytes_, &properties_, 0ULL);
    CUdeviceptr address = 0;
    try {
      driver().call(symbol::mem_address_reserve)(&address, whole_bytes_, std::size_t{0},
                                                 CUdeviceptr{0}, 0ULL);
      map(slot, address);
    } catch (...) {
      undo(slot, address);
      throw;
    }
    keep(slot, address);
  }
  void free(std::size_t slot) override {
    const CUdeviceptr address = take(slot);
    driver().call(symbol::mem_unmap)(address, whole_bytes_);
    driver().call(symbol::mem_address_free)(address, whole_bytes_);
    driver().call(symbol::mem_release)(handles_[slot]);
  }
  /// Mappings have no identity.
  std::optional<Identity> identity(std::size_t slot) const override {
    (void)slot;
    return std::nullopt;
  }

private:
  void map(std::size_t slot, CUdeviceptr address) {
    driver().call(symbol::mem_map)(address, whole_bytes_, std::size_t{0}, handles_[slot], 0ULL);
    try {
      driver().call(symbol::mem_set_access)(address, whole_bytes_, &access_, std::size_t{1});
    } catch (...) {
      driver().raw(symbol::mem_unmap)(address, whole_bytes_);
      throw;
    }
  }
  void undo(std::size_t slot, CUdeviceptr address) noexcept {
    if (address != 0) driver().raw(symbol::mem_address_free)(address, whole_bytes_);
    driver().raw(symbol::mem_release)(handles_[slot]);
  }

  CUmemAllocationProp properties_{};
  CUmemAccessDesc access_{};
  std::size_t whole_bytes_ = 0;
  std::vector<CUmemGenericAllocationHandle> handles_;
};

}  // namespace

std::unique_ptr<Allocator> make_device_allocator(const Context& context,
                                                 const AllocationShape& shape) {
  if (shape.kind == AllocationKind::pitched) {
    return std::make_unique<Pitched>(context, shape, near_square(shape.size_bytes));
  }
  if (shape.kind == AllocationKind::pitched_3d) {
    return std::make_unique<Pitched>(context, shape, near_cube(shape.size_bytes));
  }
  return std::make_unique<Linear>(context, shape);
}

std::unique_ptr<Allocator> make_pool_allocator(const Context& context,
                                               const AllocationShape& shape) {
  if (attribute(context, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0) {
    throw Unavailable("stream-ordered memory", "this device has no memory pools",
                      "a device and a system with memory pools");
  }
  return std::make_unique<StreamOrdered>(context, shape);
}

std::unique_ptr<Allocator> make_virtual_allocator(const Context& context,
                                                  const AllocationShape& shape) {
  return std::make_unique<Virtual>(context, shape);
}

namespace {

using Word = std::uint32_t;

class Arrays final : public Allocator {
public:
  Arrays(const Context& context, const AllocationShape& shape)
      : context_(context),
        is_3d_(shape.kind == AllocationKind::array_3d),
        extent_(is_3d_ ? near_cube(shape.size_bytes) : near_square(shape.size_bytes)),
        arrays_(shape.num_slots, nullptr) {}

  void allocate(std::size_t slot) override {
    CUarray array = nullptr;
    const std::size_t width = extent_.width_bytes / sizeof(Word);
    if (is_3d_) {
      const CUDA_ARRAY3D_DESCRIPTOR wanted{
          width, extent_.num_rows, extent_.num_slices, CU_AD_FORMAT_FLOAT, 1, 0};
      driver().call(symbol::array_3d_create)(&array, &wanted);
    } else {
      const CUDA_ARRAY_DESCRIPTOR wanted{width, extent_.num_rows, CU_AD_FORMAT_FLOAT, 1};
      driver().call(symbol::array_create)(&array, &wanted);
    }
    arrays_[slot] = array;
  }
  void free(std::size_t slot) override {
    driver().call(symbol::array_destroy)(std::exchange(arrays_[slot], nullptr));
  }

  bool is_there(std::size_t slot) const override { return arrays_[slot] != nullptr; }
  void write(std::size_t slot, Word word) override {
    for (const bool last : {false, true}) {
      CUDA_MEMCPY3D copy = one_element(CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_ARRAY);
      copy.srcHost = &word;
      copy.srcPitch = sizeof word;
      copy.srcHeight = 1;
      copy.dstArray = arrays_[slot];
      copy.dstXInBytes = last ? extent_.width_bytes - sizeof word : 0;
      copy.dstY = last ? extent_.num_rows - 1 : 0;
      copy.dstZ = last ? extent_.num_slices - 1 : 0;
      driver().call(symbol::memcpy_3d)(&copy);
    }
  }
  bool holds(std::size_t slot, Word word) override {
    Word ends[2] = {~word, ~word};
    for (const bool last : {false, true}) {
      CUDA_MEMCPY3D copy = one_element(CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_HOST);
      copy.srcArray = arrays_[slot];
      copy.srcXInBytes = last ? extent_.width_bytes - sizeof word : 0;
      copy.srcY = last ? extent_.num_rows - 1 : 0;
      copy.srcZ = last ? extent_.num_slices - 1 : 0;
      copy.dstHost = &ends[last ? 1 : 0];
      copy.dstPitch = sizeof word;
      copy.dstHeight = 1;
      driver().call(symbol::memcpy_3d)(&copy);
    }
    return ends[0] == word && ends[1] == word;
  }

private:
  const Driver& driver() const noexcept { return context_.driver(); }

  static CUDA_MEMCPY3D one_element(CUmemorytype source, CUmemorytype target) {
    // NOLINTNEXTLINE(bugprone-invalid-enum-default-initialization): set in the next lines
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = source;
    copy.dstMemoryType = target;
    copy.WidthInBytes = sizeof(Word);
    copy.Height = 1;
    copy.Depth = 1;
    return copy;
  }

  Context context_;
  bool is_3d_;
  Extent extent_;
  std::vector<CUarray> arrays_;
};

}  // namespace

std::unique_ptr<Allocator> make_array_allocator(const Context& context,
                                                const AllocationShape& shape) {
  return std::make_unique<Arrays>(context, shape);
}

}  // namespace isthmus::measure
