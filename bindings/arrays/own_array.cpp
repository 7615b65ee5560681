#include "bindings/arrays/own_array.hpp"

#include "bindings/arrays/protocols.hpp"
#include "bindings/arrays/reader.hpp"

namespace nb = nanobind;

OwnArray::OwnArray(std::uintptr_t pointer, const nb::sequence& lengths, nb::handle example)
    : data_(reinterpret_cast<void*>(pointer)) {
  Array read;
  read_numpy(example, read);
  item_ = read.item;
  for (const nb::handle length : lengths) lengths_.push_back(nb::cast<std::int64_t>(length));
}

void OwnArray::read(Array& array) const {
  if (!array.copy_shape(lengths_.data(), static_cast<int>(lengths_.size())))
    throw Refusal{"dimensions"};
  array.item = item_;
  array.data = data_;
  array.place = Place::device;
  array.finish(nullptr, 8);
}
