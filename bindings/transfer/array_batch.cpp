#include "bindings/transfer/array_batch.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <isthmus/errors.hpp>

#include "bindings/arrays/protocols.hpp"
#include "transfer/many/disjoint.hpp"

namespace nb = nanobind;
using isthmus::UsageError;

namespace {

constexpr std::size_t kMaxDepth = 100;
constexpr std::size_t kMaxNames = 8;  // in a message

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

/// A value that no copy moves: a number, a string or None, as optimizers' states have.
bool is_value(nb::handle object) {
  return object.is_none() || PyLong_Check(object.ptr()) || PyFloat_Check(object.ptr()) ||
         PyUnicode_Check(object.ptr()) || PyComplex_Check(object.ptr());
}

/// "a, b and 3 more are in the target and not in the source"
std::string lacking(const std::vector<std::string>& paths, const char* where) {
  std::string text;
  for (std::size_t i = 0; i < std::min(paths.size(), kMaxNames); ++i)
    text.append(i == 0 ? "" : ", ").append(paths[i]);
  if (paths.size() > kMaxNames)
    text += " and " + std::to_string(paths.size() - kMaxNames) + " more";
  return text + (paths.size() == 1 ? " is " : " are ") + where;
}

}  // namespace

StructurePairs::StructurePairs(ArrayReader& reader, nb::handle target, nb::handle source)
    : reader_(reader) {
  containers_.push_back({});
  add(target, source, 0, {});
  if (pairs_.empty() && has_values_)
    throw UsageError(
        "there is no array in these structures: numbers, strings and None stay as "
        "they are");
}

void StructurePairs::add(nb::handle target, nb::handle source, std::size_t container,
                         nb::object key) {
  const bool in_target = reader_.is_structure(target);
  const bool in_source = reader_.is_structure(source);
  if (!in_target && !in_source) {
    if (is_value(target) && is_value(source))
      has_values_ = true;
    else
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
  for (const auto& [outer_target, outer_source] : open_)
    if (target.is(outer_target) || source.is(outer_source))
      throw UsageError(place_of(inner) + "the " +
                       (target.is(outer_target) ? "target's " : "source's ") +
                       type_of(target.is(outer_target) ? target : source) +
                       " here contains itself: there is no end of its arrays");
  if (open_.size() == kMaxDepth)
    throw UsageError(place_of(inner) + "this is nested " + std::to_string(kMaxDepth) +
                     " levels deep, and no deeper structure is copied: flatten it");
  open_.emplace_back(target, source);
  add_members(target, source, inner);
  open_.pop_back();
}

void StructurePairs::add_members(nb::handle target, nb::handle source, std::size_t container) {
  if (is_sequence(target)) return add_sequences(target, source, container);
  const nb::object targets = reader_.members_of(target, Role::target);
  const nb::object sources = reader_.members_of(source, Role::source);
  // A copy: a key's comparison may run code that changes the dictionary.
  const nb::object items = from_python([&] { return PyDict_Items(targets.ptr()); });
  const Py_ssize_t count = PyList_Size(items.ptr());
  std::vector<nb::object> absent;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const item = PyList_GetItem(items.ptr(), i);
    nb::object key = nb::borrow(PyTuple_GetItem(item, 0));
    PyObject* const found =
        into_python([&] { return PyDict_GetItemWithError(sources.ptr(), key.ptr()); });
    if (found == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
    if (found == nullptr) {
      absent.push_back(nb::borrow(item));
      continue;
    }
    const nb::object held = nb::borrow(found);
    add(PyTuple_GetItem(item, 1), held, container, std::move(key));
  }
  const Py_ssize_t num_absent = std::ssize(absent);
  if (num_absent != 0) drop_tied(absent);
  if (absent.empty() && PyDict_Size(sources.ptr()) == count - num_absent) return;
  std::vector<std::string> missing;
  missing.reserve(absent.size());
  for (const nb::object& item : absent) missing.push_back(path_of(container, item[0]));
  refuse_keys(targets, sources, container, missing);
}

/// Drops targets that are written under another name: files of safetensors leave the twins of tied
/// weights out.
void StructurePairs::drop_tied(std::vector<nb::object>& items) const {
  std::set<Memory> written;
  for (const Pair& pair : pairs_) written.insert(memory_of(pair.target));
  written.erase(Memory{});
  std::erase_if(items, [&](const nb::object& item) {
    return written.contains(memory_of(PyTuple_GetItem(item.ptr(), 1)));
  });
}

/// Where an array in one piece lies; nothing if it can't be read, or has yet to be exported.
StructurePairs::Memory StructurePairs::memory_of(nb::handle object) const try {
  Array array;
  if (!reader_.is_structure(object) && !is_value(object))
    reader_.read(object, Role::target, Hold::call, array);
  if (array.data == nullptr || array.size_bytes == 0 || !array.contiguous()) return {};
  return {array.data, array.size_bytes};
} catch (const nb::python_error&) {
  return {};
}

/// Names all keys that only one of two dictionaries has.
void StructurePairs::refuse_keys(nb::handle targets, nb::handle sources, std::size_t container,
                                 const std::vector<std::string>& missing) const {
  std::vector<std::string> unexpected;
  const nb::object keys = from_python([&] { return PyDict_Keys(sources.ptr()); });
  for (Py_ssize_t i = 0; i < PyList_Size(keys.ptr()); ++i) {
    const nb::object key = nb::borrow(PyList_GetItem(keys.ptr(), i));
    const int found = into_python([&] { return PyDict_Contains(targets.ptr(), key.ptr()); });
    if (found < 0) throw nb::python_error();
    if (found == 0) unexpected.push_back(path_of(container, key));
  }
  std::string text;
  if (!missing.empty()) text = lacking(missing, "in the target and not in the source");
  if (!missing.empty() && !unexpected.empty()) text += "; ";
  if (!unexpected.empty()) text += lacking(unexpected, "in the source and not in the target");
  if (!text.empty()) throw UsageError(text);
}

void StructurePairs::add_sequences(nb::handle target, nb::handle source, std::size_t container) {
  const nb::object targets = from_python([&] { return PySequence_Tuple(target.ptr()); });
  const nb::object sources = from_python([&] { return PySequence_Tuple(source.ptr()); });
  const Py_ssize_t count = PyTuple_Size(targets.ptr());
  if (count != PyTuple_Size(sources.ptr()))
    throw UsageError(place_of(container) + "the target has " + std::to_string(count) +
                     " members and the source " + std::to_string(PyTuple_Size(sources.ptr())));
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

ArrayBatch::ArrayBatch(ArrayReader& reader, nb::handle target, nb::handle source, nb::handle stream,
                       Hold hold)
    : reader_(reader), pairs_(reader, target, source) {
  const std::size_t count = pairs_.pairs().size();
  copies_.reserve(count);
  pair_of_copy_.reserve(count);
  held_.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [its_target, its_source, container, key] = pairs_.pairs()[i];
    ArrayPair pair;
    try {
      read_pair(reader, its_target, its_source, stream, hold, pair);
    } catch (const nb::python_error& error) {
      reader.refuse_at(path_of(i), error.value());
    }
    if (pair.target.is_tensor) tensors_.append(its_target);
    if (leader_.is_none() && pair.target.use == Use::library) leader_ = its_target;
    if (leader_.is_none() && pair.source.use == Use::library) leader_ = its_source;
    if (!is_plain(pair)) {
      const nb::tuple described = describe(reader, its_target, its_source, pair);
      unlike_.append(nb::make_tuple(i, described[0], described[1], described[2]));
      continue;
    }
    copies_.push_back(
        {pair.target.data, pair.source.data, pair.target.size_bytes, options_of(pair)});
    pair_of_copy_.push_back(i);
    for (Array* const array : {&pair.target, &pair.source})
      if (array->held.keeps_something()) held_.push_back(std::move(array->held));
  }
}

std::vector<isthmus::transfer::TouchedRange> ArrayBatch::touched() const {
  std::vector<isthmus::transfer::TouchedRange> ranges;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const auto target = reinterpret_cast<std::uintptr_t>(copies_[i].target);
    const auto source = reinterpret_cast<std::uintptr_t>(copies_[i].source);
    ranges.push_back({target, target + copies_[i].size_bytes, pair_of_copy_[i], true, source});
    ranges.push_back({source, source + copies_[i].size_bytes, pair_of_copy_[i], false});
  }
  return ranges;
}

nb::list ArrayBatch::touching(std::uintptr_t begin, std::uintptr_t end) const {
  nb::list found;
  for (const auto& range : touched())
    if (range.begin < end && begin < range.end)
      found.append(nb::make_tuple(range.copy, range.begin, range.end - range.begin, range.written,
                                  range.source));
  return found;
}

void ArrayBatch::require_disjoint(const nb::list& unlike) const {
  std::vector<isthmus::transfer::TouchedRange> ranges = touched();
  for (const nb::handle range : unlike) {
    const auto begin = nb::cast<std::uintptr_t>(range[1]);
    ranges.push_back({begin, begin + nb::cast<std::size_t>(range[2]),
                      nb::cast<std::size_t>(range[0]), nb::cast<bool>(range[3]),
                      nb::cast<std::uintptr_t>(range[4])});
  }
  try {
    (void)isthmus::transfer::require_disjoint(std::move(ranges));
  } catch (const isthmus::transfer::RefusedCopy& refusal) {
    throw isthmus::UsageError(refusal.text([this](std::size_t pair) { return path_of(pair); }));
  }
}

void ArrayBatch::note_writes() const {
  if (nb::len(tensors_) != 0) reader_.note_writes(tensors_);
}

void ArrayBatch::add(std::size_t pair, const isthmus::ManyCopy& copy, nb::object needs) {
  copies_.push_back(copy);
  pair_of_copy_.push_back(pair);
  added_needs_.append(std::move(needs));
}

std::unique_ptr<PythonNeeds> ArrayBatch::take_needs(nb::object follow_up) {
  nb::list objects;
  for (const auto& pair : pairs_.pairs()) {
    objects.append(pair.target);
    objects.append(pair.source);
  }
  return std::make_unique<PythonNeeds>(std::move(held_), nb::make_tuple(objects, added_needs_),
                                       std::move(follow_up));
}
