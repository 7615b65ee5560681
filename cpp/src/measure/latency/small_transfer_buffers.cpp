#include "measure/latency/small_transfer.hpp"

#include <cstring>
#include <string>

#include <isthmus/errors.hpp>

#include "host/cpu/topology.hpp"
#include "host/memory/pattern.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr int kPoison = 0xA5;
constexpr std::uint64_t kSeed = 0x736d616c6cULL;

std::size_t checked(std::size_t size_bytes, std::size_t num_places) {
  if (size_bytes == 0 || size_bytes % sizeof(SmallTransferBuffers::Word) != 0 || num_places == 0) {
    throw UsageError("small transfers of " + std::to_string(size_bytes) +
                     " bytes: needs a multiple of 4 bytes, and an iteration");
  }
  return size_bytes;
}

}  // namespace

SmallTransferBuffers::SmallTransferBuffers(const Context& context, std::size_t size_bytes,
                                           std::size_t num_places, std::optional<int> numa_node)
    : context_(context),
      reference_(checked(size_bytes, num_places)),
      pageable_(size_bytes),
      pinned_([&] {
        std::optional<host::ScopedMemoryPolicy> policy;
        if (numa_node) policy.emplace(*numa_node);
        std::memset(pageable_.data(), kPoison, size_bytes);  // so that its pages exist
        return PinnedBuffer(context, size_bytes + (num_places - 1) * kPlaceBytes);
      }()),
      device_(context, size_bytes) {
  host::fill_pattern(reference_.data(), size_bytes, kSeed);
}

SmallTransferBuffers::Word SmallTransferBuffers::word_at(const std::byte* host) {
  Word word = 0;
  std::memcpy(&word, host, sizeof word);
  return word;
}

void SmallTransferBuffers::put_word(std::byte* host, Word word) {
  std::memcpy(host, &word, sizeof word);
}

void SmallTransferBuffers::poison_host() const {
  std::memset(pageable_.data(), kPoison, pageable_.size_bytes());
  std::memset(pinned_.data(), kPoison, pinned_.size_bytes());
}

void SmallTransferBuffers::reset() {
  const auto finish = context_.driver().call(symbol::ctx_synchronize);
  context_.driver().call(symbol::memcpy_htod)(device(), static_cast<const void*>(reference_.data()),
                                              size_bytes());
  finish();
  poison_host();
}

void SmallTransferBuffers::reset_for_upload() {
  const auto finish = context_.driver().call(symbol::ctx_synchronize);
  context_.driver().call(symbol::memset_d8_async)(device(), static_cast<unsigned char>(kPoison),
                                                  size_bytes(), static_cast<CUstream>(nullptr));
  finish();
  poison_host();
  std::memcpy(pinned(), reference_.data(), size_bytes());
}

void SmallTransferBuffers::check(std::uint64_t sum, std::size_t num_values,
                                 const std::byte* last) const {
  const std::uint64_t expected = std::uint64_t{num_values} * (num_values - 1) / 2;
  if (sum != expected) {
    throw CorruptTransfer("verification failed: the values of " + std::to_string(num_values) +
                          " small transfers add up to " + std::to_string(sum) + ", not to " +
                          std::to_string(expected));
  }
  const std::size_t rest_bytes = size_bytes() - sizeof(Word);
  if (std::memcmp(last + sizeof(Word), reference_.data() + sizeof(Word), rest_bytes) != 0) {
    throw CorruptTransfer("verification failed: a transfer of " + std::to_string(size_bytes()) +
                          " bytes did not bring what was sent");
  }
}

}  // namespace isthmus::measure
