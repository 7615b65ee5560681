// CUDA arrays, which have a shape and no address: copies in and out are boxes.
#include <isthmus/errors.hpp>

#include "measure/memory/allocator_parts.hpp"

namespace isthmus::measure {
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
