#include "bindings/transfer/array_batch.hpp"

#include <utility>

#include "transfer/many/disjoint.hpp"

namespace nb = nanobind;

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
