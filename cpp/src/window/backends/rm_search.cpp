#include "window/backends/rm_search.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <vector>

#include <isthmus/errors.hpp>

#include "window/copies/streaming_copy.hpp"

namespace isthmus::window::rm {
namespace {

// The least that cuMemCreate gives is 2 MiB. One of another size shows that sizes are told apart.
constexpr std::size_t kGranuleBytes = std::size_t{2} << 20U;
constexpr std::array<std::size_t, Samples::kNum> kSizesBytes{kGranuleBytes, 2 * kGranuleBytes,
                                                             kGranuleBytes};
constexpr std::size_t kBufferBytes = 256;

// Must differ from all other memory of the process.
Samples::Mark random_mark() {
  std::random_device random;
  Samples::Mark mark;
  for (std::byte& byte : mark) byte = static_cast<std::byte>(random());
  return mark;
}

/// Blocks of the process's heap with as many gaps between them. What the driver allocates next lies
/// in these, so that what is beside a record by chance differs from sample to sample. Without this
/// a place just behind a record's structure was learned, where each sample's next structure had the
/// same number, and it named another object for memory that PyTorch had made (driver 580).
/// Device memory that is made and freed would do the same, but may wait for the program's kernels.
class HeapGaps {
public:
  HeapGaps() {
    for (std::size_t size = kMinBytes; size <= kMaxBytes; size += kStepBytes) {
      std::vector<std::unique_ptr<std::byte[]>> gaps;
      for (int pair = 0; pair < kNumGaps; ++pair) {
        gaps.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
        blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
      }
    }
  }

private:
  // Of the driver's structures, whose sizes aren't known, and of glibc's sizes of blocks.
  static constexpr std::size_t kMinBytes = 56;
  static constexpr std::size_t kMaxBytes = 568;
  static constexpr std::size_t kStepBytes = 16;
  static constexpr int kNumGaps = 7;  // as many as glibc keeps for a thread without joining them

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

}  // namespace

Samples::Samples(const Context& context)
    : context_(context), copy_engine_(context), buffer_(context, kBufferBytes) {
  for (std::size_t index = 0; index < kNum; ++index) {
    const HeapGaps gaps;
    Sample& one = each_[index];
    one.memory =
        std::make_unique<CreatedMemory>(context, kSizesBytes[index], CU_MEM_HANDLE_TYPE_NONE);
    one.created = std::make_unique<CreatedObject>(
        context.driver(), allocations_of(context.driver(), one.memory->pointer(), 1).front());
    one.mark = random_mark();
    copy_engine_.write(one.memory->pointer(), one.mark.data(), kMarkBytes);
  }
}

MemoryObject Samples::buffer_object() const {
  const Driver& driver = context_.driver();
  const auto found =
      object_behind(driver, allocations_of(driver, buffer_.pointer(), kBufferBytes).front());
  if (!found)
    refuse_handleless(
        "CUDA's client can't be found, because CUDA gives no IPC handle of its memory "
        "(cuIpcGetMemHandle)");
  return *found;
}

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

bool has_number(const std::vector<NumberAtPlace>& numbers, Handle number) {
  return std::any_of(numbers.begin(), numbers.end(),
                     [=](const NumberAtPlace& one) { return one.number == number; });
}

}  // namespace

ObjectSearch::ObjectSearch(std::shared_ptr<const DeviceFiles> files, std::shared_ptr<Client> client)
    : reader_(std::move(files)), client_(std::move(client)) {}

std::unique_ptr<OwnedObject> ObjectSearch::duplicate(const Gpu& gpu,
                                                     const NumberOfClient& number) const {
  return std::make_unique<OwnedObject>(client_, gpu,
                                       client_->duplicate(gpu, number.client, number.object));
}

/// Why the object with that number isn't a sample; empty if it has the sample's size and bytes.
std::string ObjectSearch::why_not_sample(const Gpu& gpu, const NumberOfClient& number,
                                         const Samples& samples, std::size_t index) const try {
  const auto object = duplicate(gpu, number);
  const MemoryFacts facts = object->facts();
  if (facts.address_space != AddressSpace::video) return "it isn't in video memory";
  if (facts.size_bytes != samples.size_bytes(index))
    return "it has " + std::to_string(facts.size_bytes) + " bytes";
  const MappedObject mapped(*object, 0, kPageBytes, nullptr);
  Samples::Mark seen{};
  best_streaming_copy().read(seen.data(), mapped.data(), seen.size());
  return seen == samples.mark(index) ? "" : "it shows other bytes";
} catch (const Unavailable& refusal) {
  // Most words that look like numbers aren't: they can't be duplicated, or aren't memory.
  return refusal.reason();
}

/// The places of a sample's record that have the number of its object.
std::vector<NumberAtPlace> ObjectSearch::own_numbers(const Gpu& gpu, const Samples& samples,
                                                     std::size_t index) const {
  const MemoryObject known = samples.buffer_object();
  auto numbers = reader_.numbers_like(known.object, samples.record(index));
  std::map<Handle, std::string> reasons;
  std::string last_reason = "no word looks like one";
  for (const NumberAtPlace& one : numbers) {
    if (reasons.contains(one.number)) continue;
    reasons[one.number] = why_not_sample(gpu, {known.client, one.number}, samples, index);
    last_reason = "the last of those that look like one, " + hex(one.number) + " at " +
                  text_of(one.place) + ": " + reasons[one.number];
  }
  std::erase_if(numbers, [&](const NumberAtPlace& one) { return !reasons[one.number].empty(); });
  if (numbers.empty())
    refuse_handleless("the number of an object of our own isn't in the driver's record of it (" +
                      last_reason + ")");
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

/// The numbers at the places, each once; usually one. Behind a pointer that the driver no longer
/// uses, a place may have any word, and another one a moment later.
std::vector<NumberAtPlace> ObjectSearch::numbers_at(std::uint64_t record,
                                                    const std::vector<Place>& places) const {
  std::vector<NumberAtPlace> numbers;
  for (const Place place : places) {
    const std::optional<Handle> found = reader_.number_at(record, place);
    if (found && !has_number(numbers, *found)) numbers.push_back({place, *found});
  }
  if (numbers.empty())
    refuse_handleless("the driver's record can't be read at " + text_of(places.front()));
  return numbers;
}

/// The only one of the objects with these numbers that can be the allocation.
ObjectSearch::Match ObjectSearch::only_match(const Gpu& gpu, Handle client,
                                             const std::vector<NumberAtPlace>& numbers,
                                             const Allocation& allocation) const {
  Match match;
  std::optional<Unavailable> refused;
  std::string matches;
  int num_matches = 0;
  for (const NumberAtPlace& one : numbers) {
    try {
      auto object = duplicate(gpu, {client, one.number});
      require_same_memory(one.number, object->facts(), allocation);
      matches += (matches.empty() ? "" : " and ") + hex(one.number) + " at " + text_of(one.place);
      match = {std::move(object), one.number};
      ++num_matches;
    } catch (const Unavailable& refusal) {
      if (!refused) refused = refusal;
    }
  }
  if (num_matches > 1)
    refuse_handleless("the driver's record names more than one object that it can be: " + matches);
  if (num_matches == 0 && refused) throw Unavailable(*refused);
  return match;
}

std::unique_ptr<OwnedObject> ObjectSearch::find(const Context& context, const Gpu& gpu,
                                                const Allocation& allocation,
                                                const CreatedObject& created) {
  const Lesson learned = lesson(context, gpu);
  Match match =
      only_match(gpu, learned.client, numbers_at(created.handle(), learned.places), allocation);
  if (!has_number(numbers_at(created.handle(), learned.places), match.number))
    refuse_handleless("the number in the driver's record changed during the search");
  if (require_buffer_id_at(context, allocation.base) != allocation.buffer_id)
    refuse_handleless("it was freed during the search");
  return std::move(match.object);
}

}  // namespace isthmus::window::rm
