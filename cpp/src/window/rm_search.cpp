#include "window/rm_search.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <isthmus/errors.hpp>

#include "window/streaming_copy.hpp"

namespace isthmus::window::rm {
namespace {

// A passing cause, such as used-up memory, may be gone at the next attempt.
constexpr int kMaxFailures = 3;
constexpr std::size_t kPageBytes = 4096;

std::string hex(Handle number) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%x", number);
  return text.data();
}

std::string_view name_of(AddressSpace space) {
  switch (space) {
    case AddressSpace::host:
      return "host memory";
    case AddressSpace::video:
      return "video memory";
    case AddressSpace::registers:
      return "the GPU's registers";
    case AddressSpace::other:
      break;
  }
  return "another address space (as fabric and multicast memory do)";
}

void require_same_memory(Handle number, const MemoryFacts& facts, const Allocation& allocation) {
  const std::string object = "object " + hex(number);
  if (facts.address_space != AddressSpace::video)
    refuse_handleless(object + " lies in " + std::string(name_of(facts.address_space)) +
                      ", not in video memory");
  if (facts.size_bytes == allocation.size_bytes) return;
  const std::string sizes = object + " has " + std::to_string(facts.size_bytes) +
                            " bytes, the memory at the pointer " +
                            std::to_string(allocation.size_bytes);
  refuse_handleless(facts.size_bytes > allocation.size_bytes ? sizes + ": it is mapped only in part"
                                                             : sizes + ": it is another object");
}

/// The number at a place; nothing if there is none.
std::optional<Handle> number_of(const std::vector<NumberAtPlace>& numbers, Place place) {
  const auto found = std::find_if(numbers.begin(), numbers.end(),
                                  [=](const NumberAtPlace& one) { return one.place == place; });
  return found != numbers.end() ? std::optional(found->number) : std::nullopt;
}

}  // namespace

ObjectSearch::ObjectSearch(std::shared_ptr<const DeviceFiles> files, std::shared_ptr<Client> client)
    : reader_(std::move(files)), client_(std::move(client)) {}

std::unique_ptr<OwnedObject> ObjectSearch::duplicate(const Gpu& gpu, Handle client,
                                                     Handle number) const {
  return std::make_unique<OwnedObject>(client_, gpu, client_->duplicate(gpu, client, number));
}

/// True if the object with that number has the size and shows the bytes of a sample.
bool ObjectSearch::is_sample(const Gpu& gpu, Handle client, Handle number, const Samples& samples,
                             std::size_t index) const try {
  const auto object = duplicate(gpu, client, number);
  const MemoryFacts facts = object->facts();
  if (facts.address_space != AddressSpace::video || facts.size_bytes != samples.size_bytes(index))
    return false;
  const MappedObject mapped(*object, 0, kPageBytes, nullptr);
  Samples::Mark seen{};
  best_streaming_copy().read(seen.data(), mapped.data(), seen.size());
  return seen == samples.mark(index);
} catch (const Unavailable&) {
  // Most words that look like numbers aren't: they can't be duplicated, or aren't memory.
  return false;
}

/// The places of a sample's record that have the number of its object.
std::vector<NumberAtPlace> ObjectSearch::own_numbers(const Gpu& gpu, const Samples& samples,
                                                     std::size_t index) const {
  const MemoryObject known = samples.buffer_object();
  auto numbers = reader_.numbers_like(known.object, samples.record(index));
  std::map<Handle, bool> is_own;
  for (const NumberAtPlace& one : numbers)
    if (!is_own.contains(one.number))
      is_own[one.number] = is_sample(gpu, known.client, one.number, samples, index);
  std::erase_if(numbers, [&](const NumberAtPlace& one) { return !is_own[one.number]; });
  if (numbers.empty())
    refuse_handleless("the number of an object of our own isn't in the driver's record of it");
  return numbers;
}

/// The places where each record has the number of its own object, and still the same one.
std::vector<Place> ObjectSearch::confirmed_places(const Samples& samples,
                                                  const OwnNumbers& numbers) const {
  std::vector<Place> places;
  for (const NumberAtPlace& one : numbers.front())
    if (std::all_of(numbers.begin(), numbers.end(),
                    [&](const auto& each) { return number_of(each, one.place).has_value(); }))
      places.push_back(one.place);
  if (places.empty())
    refuse_handleless(
        "the driver's records of three objects of our own have their numbers at "
        "different places");
  const Place leading = places.front();
  std::erase_if(places, [&](Place place) {
    for (std::size_t index = 0; index < Samples::kNum; ++index) {
      const std::optional<Handle> number = number_of(numbers[index], place);
      if (number != number_of(numbers[index], leading) ||
          number != reader_.number_at(samples.record(index), place))
        return true;
    }
    return false;
  });
  if (places.empty())
    refuse_handleless("the number in the driver's record of an object of our own changes");
  return places;
}

ObjectSearch::Lesson ObjectSearch::learn(const Context& context, const Gpu& gpu,
                                         Attempts& attempts) const try {
  if (attempts.samples == nullptr) attempts.samples = std::make_unique<Samples>(context);
  const Samples& samples = *attempts.samples;
  OwnNumbers numbers;
  for (std::size_t index = 0; index < Samples::kNum; ++index)
    numbers[index] = own_numbers(gpu, samples, index);
  return {samples.buffer_object().client, confirmed_places(samples, numbers)};
} catch (const DriverError& error) {
  refuse_handleless(std::string("there is no memory of our own to learn from: ") + error.what());
}

ObjectSearch::Lesson ObjectSearch::lesson(const Context& context, const Gpu& gpu) {
  const std::lock_guard lock(mutex_);
  Attempts& attempts = attempts_[gpu.file];
  if (!attempts.lesson.places.empty()) return attempts.lesson;
  if (attempts.num_failed >= kMaxFailures && attempts.last_refusal)
    throw Unavailable(*attempts.last_refusal);
  try {
    attempts.lesson = learn(context, gpu, attempts);
  } catch (const Unavailable& refusal) {
    ++attempts.num_failed;
    attempts.last_refusal = refusal;
    throw;
  }
  return attempts.lesson;
}

/// The number that all places have.
Handle ObjectSearch::number_in(std::uint64_t record, const std::vector<Place>& places) const {
  Handle number = 0;
  for (const Place place : places) {
    const std::optional<Handle> found = reader_.number_at(record, place);
    if (!found) refuse_handleless("the driver's record can't be read at " + text_of(place));
    if (place == places.front()) number = *found;
    if (*found != number)
      refuse_handleless("the driver's record has " + hex(number) + " at " +
                        text_of(places.front()) + ", but " + hex(*found) + " at " + text_of(place));
  }
  return number;
}

std::unique_ptr<OwnedObject> ObjectSearch::find(const Context& context, const Gpu& gpu,
                                                const Allocation& allocation,
                                                const CreatedObject& created) {
  const Lesson learned = lesson(context, gpu);
  const Handle number = number_in(created.handle(), learned.places);
  auto object = duplicate(gpu, learned.client, number);
  require_same_memory(number, object->facts(), allocation);
  if (number_in(created.handle(), learned.places) != number)
    refuse_handleless("the number in the driver's record changed during the search");
  if (require_buffer_id_at(context, allocation.base) != allocation.buffer_id)
    refuse_handleless("it was freed during the search");
  return object;
}

}  // namespace isthmus::window::rm
