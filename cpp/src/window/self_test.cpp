#include "window/self_test.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include <isthmus/errors.hpp>

#include "window/streaming_copy.hpp"

namespace isthmus::window {
namespace {

constexpr std::size_t kTestBytes = 256;
constexpr std::size_t kLineBytes = 64;
constexpr std::uintptr_t kPageMask = ~std::uintptr_t{4095};
// If a kernel keeps changing the ends, the comparison proves nothing; three tries are enough.
constexpr int kTries = 3;
using TestBytes = std::array<std::byte, kTestBytes>;
using EndBytes = std::array<std::byte, 2 * kLineBytes>;

TestBytes random_bytes(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TestBytes bytes;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Only has to differ between runs, so that bytes of an earlier test can't pass for this one's.
std::uint64_t fresh_seed() { return std::random_device{}() | 1ULL << 32U; }

[[noreturn]] void refuse(const Mapping& mapping, const std::string& why) {
  throw Unavailable(std::string(name_of(mapping.backend())) + " windows", why,
                    "another way to the memory (ISTHMUS_WINDOW), or a driver that Isthmus was "
                    "tested with; please report this one");
}

std::vector<std::byte> through_window(const Mapping& mapping, std::uintptr_t pointer,
                                      std::size_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes);
  best_streaming_copy().read(bytes.data(), mapping.at(pointer), size_bytes);
  return bytes;
}

EndBytes ends_through_window(const Mapping& mapping, DevicePages range, std::size_t end_bytes) {
  EndBytes ends{};
  const StreamingCopy& copy = best_streaming_copy();
  copy.read(ends.data(), mapping.at(range.begin), end_bytes);
  copy.read(ends.data() + end_bytes, mapping.at(range.begin + range.size_bytes - end_bytes),
            end_bytes);
  return ends;
}

}  // namespace

CopyEngineView::CopyEngineView(const Context& context)
    : context_(context), stream_(context), staging_(context, kMaxBytes) {}

const std::byte* CopyEngineView::read(std::uintptr_t device_pointer, std::size_t size_bytes) {
  context_.driver().call(symbol::memcpy_dtoh_async)(staging_.data(), CUdeviceptr{device_pointer},
                                                    size_bytes, stream_.handle());
  stream_.synchronize();
  return staging_.data();
}

const std::byte* CopyEngineView::read_ends(DevicePages range, std::size_t end_bytes) {
  const auto copy = context_.driver().call(symbol::memcpy_dtoh_async);
  copy(staging_.data(), CUdeviceptr{range.begin}, end_bytes, stream_.handle());
  copy(staging_.data() + end_bytes, CUdeviceptr{range.begin + range.size_bytes - end_bytes},
       end_bytes, stream_.handle());
  stream_.synchronize();
  return staging_.data();
}

void CopyEngineView::write(std::uintptr_t device_pointer, const std::byte* source,
                           std::size_t size_bytes) {
  std::memcpy(staging_.data(), source, size_bytes);
  context_.driver().call(symbol::memcpy_htod_async)(CUdeviceptr{device_pointer}, staging_.data(),
                                                    size_bytes, stream_.handle());
  stream_.synchronize();
}

void set_sync_memops(const Driver& driver, const Allocation& allocation) noexcept {
  unsigned on = 1;
  if (driver.has(symbol::pointer_set_attribute))
    driver.raw(symbol::pointer_set_attribute)(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                              CUdeviceptr{allocation.base});
}

SelfTest::SelfTest(const Context& context)
    : context_(context),
      copy_engine_(context),
      first_(context, kTestBytes),
      second_(context, kTestBytes) {}

void SelfTest::qualify(Backend& backend, const std::shared_ptr<Bar1Budget>& budget) {
  for (const DeviceBuffer* buffer : {&first_, &second_}) {
    const std::uintptr_t pointer = buffer->pointer();
    std::vector<Allocation> allocations =
        allocations_of(context_.driver(), pointer, buffer->size_bytes());
    set_sync_memops(context_.driver(), allocations.front());
    const std::uintptr_t begin = pointer & kPageMask;
    const std::uintptr_t end = (pointer + kTestBytes + ~kPageMask) & kPageMask;
    const Mapping mapping(context_, backend, budget, std::move(allocations), {begin, end - begin});
    send_both_ways(mapping, pointer, fresh_seed());
  }
}

void SelfTest::send_both_ways(const Mapping& mapping, std::uintptr_t pointer, std::uint64_t seed) {
  const TestBytes from_device = random_bytes(seed);
  copy_engine_.write(pointer, from_device.data(), kTestBytes);
  if (std::memcmp(through_window(mapping, pointer, kTestBytes).data(), from_device.data(),
                  kTestBytes) != 0)
    refuse(mapping, "the self-test failed: what the copy engine wrote is not what the CPU reads");
  const TestBytes from_host = random_bytes(seed + 1);
  best_streaming_copy().write(mapping.at(pointer), from_host.data(), kTestBytes);
  store_fence();
  if (std::memcmp(copy_engine_.read(pointer, kTestBytes), from_host.data(), kTestBytes) != 0)
    refuse(mapping, "the self-test failed: what the CPU wrote is not what the copy engine reads");
}

void SelfTest::compare(const Mapping& mapping, std::uintptr_t pointer, std::size_t size_bytes) {
  const std::uintptr_t end = pointer + size_bytes;
  for (const Allocation& allocation : mapping.allocations()) {
    const std::uintptr_t piece_begin = std::max(allocation.base, pointer);
    const std::uintptr_t piece_end = std::min(allocation.base + allocation.size_bytes, end);
    compare_ends(mapping, {piece_begin, piece_end - piece_begin});
  }
}

void SelfTest::compare_ends(const Mapping& mapping, DevicePages range) {
  const std::size_t end_bytes = std::min(range.size_bytes, kLineBytes);
  const auto same_as = [end_bytes](const EndBytes& bytes, const std::byte* others) {
    return std::memcmp(bytes.data(), others, 2 * end_bytes) == 0;
  };
  for (int tries = 0; tries < kTries; ++tries) {
    EndBytes before{};
    std::memcpy(before.data(), copy_engine_.read_ends(range, end_bytes), 2 * end_bytes);
    if (same_as(ends_through_window(mapping, range, end_bytes), before.data())) return;
    if (same_as(before, copy_engine_.read_ends(range, end_bytes)))
      refuse(mapping, "the mapping shows other bytes than the buffer has");
  }
}

}  // namespace isthmus::window
