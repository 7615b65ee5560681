#include "transfer/movers/layouts.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include <isthmus/errors.hpp>

namespace isthmus::transfer {
namespace {

std::ptrdiff_t signed_of(std::size_t number) { return static_cast<std::ptrdiff_t>(number); }

/// True if walking the inner dimension to its end leads to the outer one's next item, at both ends.
bool continues(const Dimension& outer, const Dimension& inner) {
  const std::ptrdiff_t length = signed_of(inner.length);
  return outer.target_stride == inner.target_stride * length &&
         outer.source_stride == inner.source_stride * length;
}

/// The rows of one end. The rows of a slice are whole rows apart.
bool nests(std::ptrdiff_t row, std::ptrdiff_t slice, std::size_t num_rows, std::size_t row_bytes) {
  // cuMemcpy2D's limit on most devices: CU_DEVICE_ATTRIBUTE_MAX_PITCH. Longer ones are the kernel's.
  if (row < signed_of(row_bytes) || row > std::numeric_limits<std::int32_t>::max()) return false;
  return slice == 0 || (slice % row == 0 && slice / row >= signed_of(num_rows));
}

}  // namespace

Layouts::Layouts(const StridedCopy& copy)
    : types_{copy.target_type, copy.source_type},
      target_item_bytes_(converts() ? bytes_of(types_.target) : copy.item_bytes),
      source_item_bytes_(converts() ? bytes_of(types_.source) : copy.item_bytes) {
  const std::size_t count = copy.shape.size();
  if (copy.target_strides.size() != count || copy.source_strides.size() != count ||
      target_item_bytes_ == 0 || source_item_bytes_ == 0)
    throw UsageError("a strided copy needs an item and one stride of each end for each dimension");
  for (std::size_t i = 0; i < count; ++i) {
    const Dimension next{copy.shape[i], copy.target_strides[i], copy.source_strides[i]};
    if (next.length != 1) add(next);
  }
  if (dimensions_.size() > kMaxDimensions)
    throw UsageError("these two layouts can't be described with less than " +
                     std::to_string(dimensions_.size()) + " dimensions; a copy takes " +
                     std::to_string(kMaxDimensions) + " at most");
  split_item();
}

/// Adds the innermost dimension.
void Layouts::add(const Dimension& next) {
  if (dimensions_.empty() || !continues(dimensions_.back(), next)) {
    dimensions_.push_back(next);
    return;
  }
  const std::size_t length = dimensions_.back().length * next.length;
  dimensions_.back() = {length, next.target_stride, next.source_stride};
}

void Layouts::split_item() {
  if (converts()) return;  // these are words
  // A lane of kernels/strided.cu moves so many at once.
  std::size_t word_bytes = 16;
  while (target_item_bytes_ % word_bytes != 0) word_bytes /= 2;
  if (word_bytes == target_item_bytes_) return;
  add({target_item_bytes_ / word_bytes, signed_of(word_bytes), signed_of(word_bytes)});
  target_item_bytes_ = source_item_bytes_ = word_bytes;
}

std::size_t Layouts::num_items() const noexcept {
  std::size_t items = 1;
  for (const Dimension& dimension : dimensions_) items *= dimension.length;
  return items;
}

Layouts::Span Layouts::span_of(std::ptrdiff_t Dimension::* stride,
                               std::size_t item_bytes) const noexcept {
  Span span{0, item_bytes};
  for (const Dimension& dimension : dimensions_) {
    const std::ptrdiff_t reach = dimension.*stride * signed_of(dimension.length - 1);
    span.begin += std::min<std::ptrdiff_t>(reach, 0);
    span.size_bytes += static_cast<std::size_t>(std::abs(reach));
  }
  return span;
}

bool Layouts::is_dense(std::ptrdiff_t Dimension::* stride, std::size_t item_bytes) const noexcept {
  std::ptrdiff_t expected = signed_of(item_bytes);
  for (auto it = dimensions_.rbegin(); it != dimensions_.rend(); ++it) {
    if ((*it).*stride != expected) return false;
    expected *= signed_of(it->length);
  }
  return true;
}

bool Layouts::has_rows() const noexcept {
  if (dimensions_.empty() || converts()) return false;
  const Dimension& last = dimensions_.back();
  return last.target_stride == signed_of(target_item_bytes_) &&
         last.source_stride == signed_of(source_item_bytes_);
}

std::size_t Layouts::row_bytes() const noexcept {
  return has_rows() ? dimensions_.back().length * target_item_bytes_ : target_item_bytes_;
}

bool Layouts::fits_driver() const noexcept {
  if (converts()) return false;
  const std::size_t num_outer = dimensions_.size() - (has_rows() ? 1 : 0);
  if (num_outer == 0) return true;
  if (num_outer > 2) return false;
  const Dimension& rows = dimensions_[num_outer - 1];
  const Dimension slices = num_outer == 2 ? dimensions_[0] : Dimension{1, 0, 0};
  // Slices that lie in one place have no height; only the kernel can read them again and again.
  if (num_outer == 2 && slices.source_stride == 0) return false;
  return nests(rows.target_stride, slices.target_stride, rows.length, row_bytes()) &&
         nests(rows.source_stride, slices.source_stride, rows.length, row_bytes());
}

void enqueue_by_driver(const Driver& driver, const Layouts& layouts, const void* target,
                       bool target_on_device, const void* source, bool source_on_device,
                       CUstream stream) {
  const std::vector<Dimension>& all = layouts.dimensions();
  const std::size_t row_bytes = layouts.row_bytes();
  const std::size_t num_outer = all.size() - (row_bytes > layouts.target_item_bytes() ? 1 : 0);
  const Dimension whole{1, signed_of(row_bytes), signed_of(row_bytes)};
  const Dimension rows = num_outer == 0 ? whole : all[num_outer - 1];
  const Dimension slices = num_outer == 2 ? all[0] : Dimension{1, 0, 0};
  // Both memory types are set below; the enum has no value 0.
  // NOLINTNEXTLINE(bugprone-invalid-enum-default-initialization)
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = source_on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  copy.dstMemoryType = target_on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  copy.srcHost = source;
  copy.srcDevice = reinterpret_cast<CUdeviceptr>(source);
  copy.dstHost = const_cast<void*>(target);
  copy.dstDevice = reinterpret_cast<CUdeviceptr>(target);
  copy.srcPitch = static_cast<std::size_t>(rows.source_stride);
  copy.dstPitch = static_cast<std::size_t>(rows.target_stride);
  const auto rows_apart = [](std::ptrdiff_t slice, std::ptrdiff_t row, std::size_t num_rows) {
    return slice == 0 ? num_rows : static_cast<std::size_t>(slice / row);
  };
  copy.srcHeight = rows_apart(slices.source_stride, rows.source_stride, rows.length);
  copy.dstHeight = rows_apart(slices.target_stride, rows.target_stride, rows.length);
  copy.WidthInBytes = row_bytes;
  copy.Height = rows.length;
  copy.Depth = slices.length;
  driver.call(symbol::memcpy_3d_async)(&copy, stream);
}

}  // namespace isthmus::transfer
