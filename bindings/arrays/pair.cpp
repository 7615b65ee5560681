#include "bindings/arrays/pair.hpp"

#include <algorithm>

namespace nb = nanobind;

namespace {

// cuda.h: CU_STREAM_LEGACY, another name of stream 0.
constexpr std::uintptr_t kLegacyDefault = 1;

}  // namespace

Ordering::Ordering(ArrayReader& reader, nb::handle stream, std::span<Array* const> arrays)
    : reader_(reader), named_(!stream.is_none()) {
  if (named_) {
    stream_ = reader.stream_of(stream);
    return;
  }
  for (const Array* const array : arrays) {
    if (array->use != Use::library) continue;
    stream_ = array->stream;
    device_ = array->device;
    return;
  }
}

void Ordering::include(nb::handle object, Array& array) {
  if (array.use == Use::library) include_work_of_library(object, array);
  if (array.use == Use::named && !named_) include_named(array);
  if (array.use == Use::unknown) include_unknown(object, array);
}

void Ordering::include_work_of_library(nb::handle object, Array& array) {
  const bool same_device = array.device == device_;
  const bool in_order = named_ || (same_device && array.stream == stream_);
  if (!in_order && same_device) return reader_.export_after(object, stream_, array);
  if (!in_order) reader_.wait_for(array);
  if (!array.exported) reader_.export_after(object, std::nullopt, array);
}

void Ordering::include_named(const Array& array) {
  if (!stream_)
    stream_ = array.stream;
  else if (array.stream != *stream_ && !(array.stream == kLegacyDefault && *stream_ == 0))
    reader_.wait_for(array);
}

void Ordering::include_unknown(nb::handle object, Array& array) {
  if (!stream_) stream_ = reader_.own_stream(array.device);
  reader_.export_after(object, stream_, array);
}

namespace {

bool same_shape(const Array& one, const Array& other) {
  return !one.has_shape() || !other.has_shape() ||
         std::equal(one.shape, one.shape + one.num_dimensions, other.shape,
                    other.shape + other.num_dimensions);
}

isthmus::MemoryKind kind_of(const Array& array) {
  if (array.place == Place::managed) return isthmus::MemoryKind::unknown;
  return array.on_device() ? isthmus::MemoryKind::device : array.host_kind;
}

}  // namespace

void read_pair(ArrayReader& reader, nb::handle target, nb::handle source, nb::handle stream,
               Hold hold, ArrayPair& pair) {
  reader.read(target, Role::target, hold, pair.target);
  reader.read(source, Role::source, hold, pair.source);
  Array* const both[] = {&pair.target, &pair.source};
  Ordering ordering(reader, stream, both);
  ordering.include(target, pair.target);
  ordering.include(source, pair.source);
  pair.stream = ordering.stream();
}

bool is_plain(const ArrayPair& pair) {
  const Array& target = pair.target;
  const Array& source = pair.source;
  return !target.read_only && target.size_bytes == source.size_bytes && target.contiguous() &&
         source.contiguous() && same_items(target.item, source.item) && same_shape(target, source);
}

isthmus::CopyOptions options_of(const ArrayPair& pair) {
  isthmus::CopyOptions options;
  options.stream = pair.stream;
  options.target_kind = kind_of(pair.target);
  options.source_kind = kind_of(pair.source);
  return options;
}
