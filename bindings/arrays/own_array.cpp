#include "bindings/arrays/own_array.hpp"

#include "bindings/arrays/reader.hpp"

namespace nb = nanobind;

OwnArray::OwnArray(std::uintptr_t pointer, const nb::sequence& lengths, int type_code,
                   std::int64_t item_bits)
    : data_(reinterpret_cast<void*>(pointer)), type_code_(type_code), item_bits_(item_bits) {
  for (const nb::handle length : lengths) lengths_.push_back(nb::cast<std::int64_t>(length));
}

void OwnArray::read(Array& array) const {
  if (!array.copy_shape(lengths_.data(), static_cast<int>(lengths_.size())))
    throw Refusal{"dimensions"};
  array.item.code = type_code_;
  array.item.bits = item_bits_;
  array.data = data_;
  array.place = Place::device;
  array.finish(nullptr, 8);
}
