// Reads arrays from any library; Python code decides about special cases.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <utility>

#include "bindings/arrays/array.hpp"
#include "bindings/arrays/pair.hpp"
#include "bindings/arrays/protocols.hpp"
#include "bindings/arrays/reader.hpp"
#include "bindings/bindings.hpp"
#include "bindings/text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

const char* name_of_place(Place place) {
  switch (place) {
    case Place::pinned:
      return "pinned";
    case Place::device:
      return "device";
    case Place::managed:
      return "managed";
    default:
      return "host";
  }
}

nb::object tuple_of(const std::int64_t* numbers, int count) {
  nb::list items;
  for (int i = 0; i < count; ++i) items.append(nb::int_(numbers[i]));
  return nb::tuple(items);
}

/// Reads an array: its work is complete when the stream that it names is.
nb::object read_alone(ArrayReader& reader, nb::handle object, Role role, bool ordered) {
  Array array;
  try {
    reader.read(object, role, Hold::copy, array);
  } catch (const HoldsArrays&) {
    reader.refuse_structure(object);
  }
  if (!ordered) array.use = Use::none;
  if (array.use == Use::unknown) {
    array.stream = reader.own_stream(array.device);
    reader.export_after(object, array.stream, array);
  } else if (!array.exported) {
    reader.export_after(object, std::nullopt, array);
  }
  return reader.describe(object, array);
}

nb::tuple read_two(ArrayReader& reader, nb::handle target, nb::handle source, nb::handle stream) {
  ArrayPair pair;
  try {
    read_pair(reader, target, source, stream, Hold::copy, pair);
  } catch (const HoldsArrays&) {
    reader.refuse_structure(reader.is_structure(target) ? target : source);
  }
  return describe(reader, target, source, pair);
}

}  // namespace

nb::object ArrayReader::describe(nb::handle object, Array& array) const {
  static const Name described("described");
  const std::string item = array.item.name();
  nb::dict said;
  said["what"] = object.type().attr("__name__");
  said["pointer"] = reinterpret_cast<std::uintptr_t>(array.data);
  // A library may give no lengths of no dimensions.
  said["shape"] = array.has_shape() ? tuple_of(array.shape, array.num_dimensions) : nb::none();
  said["strides"] = array.contiguous() ? nb::none() : tuple_of(array.strides, array.num_dimensions);
  said["item"] = item.empty() ? nb::none() : nb::object(nb::str(item.c_str()));
  said["item_bits"] =
      array.has_shape() ? array.item.bits : static_cast<std::int64_t>(8 * array.size_bytes);
  said["place"] = name_of_place(array.place);
  said["device"] = array.device < 0 ? nb::none() : nb::object(nb::int_(array.device));
  said["read_only"] = array.read_only;
  said["stream"] = array.use == Use::none ? nb::none() : nb::object(nb::int_(array.stream));
  // The object alone if that is enough: garbage collection can see through it.
  said["owner"] = array.held.keeps_something()
                      ? nb::object(nb::make_tuple(object, std::move(array.held)))
                      : nb::borrow(object);
  const nb::object function = described.of(asked_);
  const nb::tuple nothing;
  return from_python([&] { return PyObject_Call(function.ptr(), nothing.ptr(), said.ptr()); });
}

nb::tuple describe(const ArrayReader& reader, nb::handle target, nb::handle source,
                   ArrayPair& pair) {
  return nb::make_tuple(reader.describe(target, pair.target), reader.describe(source, pair.source),
                        pair.stream);
}

void bind_arrays(nb::module_& m) {
  const nb::class_<Export> held(
      m, "HeldMemory", "Keeps an array's memory in place for as long as this object lives.");
  const nb::class_<OwnArray> own =
      nb::class_<OwnArray>(m, "OwnArray", "What the native module reads of a DeviceArray.")
          .def(nb::init<std::uintptr_t, const nb::sequence&, nb::handle>(), "pointer"_a, "shape"_a,
               "example"_a,
               nb::sig("def __init__(self, pointer: int, shape: Sequence[int], example: object) "
                       "-> None"),
               "The example is a NumPy array with such items.")
          .def_prop_ro("type_code", &OwnArray::type_code,
                       "DLPack's number of the items' type; below 0 if it has none.");
  nb::class_<ArrayReader>(m, "ArrayReader", "Reads arrays from any library.")
      .def(nb::init<nb::object>(), "asked"_a, "asked: an isthmus.move.arrays.reading.Answers.")
      .def(
          "read",
          [](ArrayReader& reader, nb::handle array, bool ordered) {
            return read_alone(reader, array, Role::target, ordered);
          },
          "array"_a.none(), nb::kw_only(), "ordered"_a,
          nb::sig(
              "def read(self, array: object, *, ordered: bool) -> isthmus.move.arrays.array.Array"),
          "Find an array's memory, for writing. If ordered, the work in the result's `stream` "
          "must be complete before the memory is touched. UsageError: not an array.")
      .def(
          "read_source",
          [](ArrayReader& reader, nb::handle array) {
            return read_alone(reader, array, Role::source, true);
          },
          "array"_a.none(),
          nb::sig("def read_source(self, array: object) -> isthmus.move.arrays.array.Array"),
          "Find an array's memory, for reading. The work in the result's `stream` must be "
          "complete before the memory is read. UsageError: not an array.")
      .def("pair", &read_two, "target"_a.none(), "source"_a.none(), "stream"_a.none(),
           nb::sig("def pair(self, target: object, source: object, stream: object) -> "
                   "tuple[isthmus.move.arrays.array.Array, isthmus.move.arrays.array.Array, int]"),
           "Find the memory of both ends of a copy, and a stream for the copy that orders it after "
           "all work that uses either. UsageError: one of them isn't an array.");
}
