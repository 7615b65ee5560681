#include "bindings/arrays/structure.hpp"

#include <isthmus/errors.hpp>

#include <utility>

#include "bindings/arrays/protocols.hpp"

namespace nb = nanobind;
using isthmus::UsageError;

namespace {

// A structure that contains itself is deeper.
constexpr std::size_t kMaxDepth = 100;

std::string text_of(nb::handle object) {
  PyObject* const text = into_python([&] { return PyObject_Str(object.ptr()); });
  if (text == nullptr) throw nb::python_error();
  const nb::object held = nb::steal(text);
  Py_ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (bytes != nullptr) return {bytes, static_cast<std::size_t>(size)};
  PyErr_Clear();
  return "?";
}

std::string type_of(nb::handle object) {
  return nb::borrow<nb::str>(object.type().attr("__name__")).c_str();
}

bool is_sequence(nb::handle object) {
  return PyList_Check(object.ptr()) || PyTuple_Check(object.ptr());
}

/// A dictionary with the members of any mapping; the object itself if it is one.
nb::object dictionary_of(nb::handle mapping) {
  if (PyDict_Check(mapping.ptr())) return nb::borrow(mapping);
  nb::dict members;
  if (into_python([&] { return PyDict_Update(members.ptr(), mapping.ptr()); }) != 0)
    throw nb::python_error();
  return std::move(members);
}

}  // namespace

StructurePairs::StructurePairs(ArrayReader& reader, nb::handle target, nb::handle source)
    : reader_(reader) {
  containers_.push_back({});
  add(target, source, 0, {});
}

void StructurePairs::add(nb::handle target, nb::handle source, std::size_t container,
                         nb::object key) {
  const bool in_target = reader_.is_structure(target);
  const bool in_source = reader_.is_structure(source);
  if (!in_target && !in_source) {
    pairs_.push_back({nb::borrow(target), nb::borrow(source), container, std::move(key)});
    return;
  }
  std::size_t inner = container;
  if (key.is_valid()) {
    inner = containers_.size();
    containers_.push_back({container, std::move(key)});
  }
  if (in_target != in_source || is_sequence(target) != is_sequence(source))
    throw UsageError(place_of(inner) + "the target's type is " + type_of(target) +
                     ", the source's " + type_of(source) +
                     ": both must be arrays, both sequences, or both mappings");
  if (++depth_ > kMaxDepth)
    throw UsageError(place_of(inner) + "this is nested " + std::to_string(kMaxDepth) +
                     " levels deep, or contains itself");
  add_members(target, source, inner);
  --depth_;
}

void StructurePairs::add_members(nb::handle target, nb::handle source, std::size_t container) {
  if (is_sequence(target)) return add_sequences(target, source, container);
  const nb::object targets = dictionary_of(target);
  const nb::object sources = dictionary_of(source);
  // A copy: a key's comparison may run code that changes the dictionary.
  const nb::object items = from_python([&] { return PyDict_Items(targets.ptr()); });
  const Py_ssize_t count = PyList_Size(items.ptr());
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const item = PyList_GetItem(items.ptr(), i);
    nb::object key = nb::borrow(PyTuple_GetItem(item, 0));
    PyObject* const found =
        into_python([&] { return PyDict_GetItemWithError(sources.ptr(), key.ptr()); });
    if (found == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
    if (found == nullptr)
      throw UsageError(path_of(container, key) + " is in the target and not in the source");
    const nb::object held = nb::borrow(found);
    add(PyTuple_GetItem(item, 1), held, container, std::move(key));
  }
  if (PyDict_Size(sources.ptr()) == count) return;
  const nb::object keys = from_python([&] { return PyDict_Keys(sources.ptr()); });
  for (Py_ssize_t i = 0; i < PyList_Size(keys.ptr()); ++i) {
    const nb::object key = nb::borrow(PyList_GetItem(keys.ptr(), i));
    const int found = into_python([&] { return PyDict_Contains(targets.ptr(), key.ptr()); });
    if (found < 0) throw nb::python_error();
    if (found == 0)
      throw UsageError(path_of(container, key) + " is in the source and not in the target");
  }
}

void StructurePairs::add_sequences(nb::handle target, nb::handle source, std::size_t container) {
  const nb::object targets = from_python([&] { return PySequence_Tuple(target.ptr()); });
  const nb::object sources = from_python([&] { return PySequence_Tuple(source.ptr()); });
  const Py_ssize_t count = PyTuple_Size(targets.ptr());
  if (count != PyTuple_Size(sources.ptr()))
    throw UsageError(place_of(container) + "the target has " + std::to_string(count) +
                     " members and the source " + std::to_string(PyTuple_Size(sources.ptr())));
  pairs_.reserve(pairs_.size() + static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i)
    add(PyTuple_GetItem(targets.ptr(), i), PyTuple_GetItem(sources.ptr(), i), container,
        nb::int_(i));
}

std::string StructurePairs::path_of(std::size_t pair) const {
  return path_of(pairs_.at(pair).container, pairs_.at(pair).key);
}

std::string StructurePairs::path_of(std::size_t container, nb::handle key) const {
  std::string path = key.is_valid() ? text_of(key) : "";
  for (; containers_[container].key.is_valid(); container = containers_[container].parent)
    path.insert(0, text_of(containers_[container].key).append(path.empty() ? "" : "."));
  return path;
}

/// A prefix for messages; empty for the whole.
std::string StructurePairs::place_of(std::size_t container) const {
  const std::string path = path_of(container, {});
  return path.empty() ? path : path + ": ";
}
