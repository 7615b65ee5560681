#include "window/self_test.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include <isthmus/errors.hpp>

#include "host/memory/pages.hpp"
#include "window/copies/streaming_copy.hpp"

namespace isthmus::window {
namespace {

constexpr std::size_t kTestBytes = 256;
using host::kLineBytes;
constexpr std::uintptr_t kPageMask = ~std::uintptr_t{4095};
// If a kernel keeps changing the ends, the comparison proves nothing; three tries are enough.
constexpr int kTries = 3;
using TestBytes = std::array<std::byte, kTestBytes>;
// A record that names the wrong object should show more than two lines that differ. 16 copies of a
// line take about as long as opening.
constexpr std::size_t kNumLines = 16;

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

std::vector<std::byte> through_window(const Mapping& mapping,
                                      const std::vector<DevicePages>& ranges) {
  std::vector<std::byte> bytes;
  for (const DevicePages range : ranges) {
    const std::vector<std::byte> piece = through_window(mapping, range.begin, range.size_bytes);
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  return bytes;
}

std::vector<DevicePages> ends_of(DevicePages range) {
  const std::size_t end_bytes = std::min(range.size_bytes, kLineBytes);
  return {{range.begin, end_bytes}, {range.begin + range.size_bytes - end_bytes, end_bytes}};
}

/// Lines at equal distances, whole ones.
std::vector<DevicePages> lines_across(DevicePages pages) {
  const std::size_t distance_bytes = pages.size_bytes / kNumLines / kLineBytes * kLineBytes;
  std::vector<DevicePages> lines;
  lines.reserve(kNumLines);
  for (std::size_t index = 0; index < kNumLines; ++index)
    lines.push_back({pages.begin + index * distance_bytes, kLineBytes});
  return lines;
}

/// The part of [begin, end) in an allocation.
DevicePages part_in(const Allocation& allocation, std::uintptr_t begin, std::uintptr_t end) {
  const std::uintptr_t part_begin = std::max(allocation.base, begin);
  return {part_begin, std::min(allocation.base + allocation.size_bytes, end) - part_begin};
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

std::vector<std::byte> CopyEngineView::read(const std::vector<DevicePages>& ranges) {
  const auto copy = context_.driver().call(symbol::memcpy_dtoh_async);
  std::byte* target = staging_.data();
  for (const DevicePages range : ranges) {
    copy(target, CUdeviceptr{range.begin}, range.size_bytes, stream_.handle());
    target += range.size_bytes;
  }
  stream_.synchronize();
  return {staging_.data(), target};
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
  const DevicePages pages = mapping.pages();
  for (const Allocation& allocation : mapping.allocations()) {
    compare_lines(mapping, ends_of(part_in(allocation, pointer, pointer + size_bytes)));
    if (mapping.found_by() == FoundBy::record)
      compare_lines(mapping,
                    lines_across(part_in(allocation, pages.begin, pages.begin + pages.size_bytes)));
  }
}

void SelfTest::compare_lines(const Mapping& mapping, const std::vector<DevicePages>& lines) {
  for (int tries = 0; tries < kTries; ++tries) {
    const std::vector<std::byte> before = copy_engine_.read(lines);
    const std::vector<std::byte> seen = through_window(mapping, lines);
    if (seen == before) return;
    const std::vector<std::byte> after = copy_engine_.read(lines);
    std::size_t offset = 0;
    for (const DevicePages line : lines) {
      const auto same = [&](const auto& one, const auto& other) {
        return std::memcmp(one.data() + offset, other.data() + offset, line.size_bytes) == 0;
      };
      if (!same(seen, before) && same(before, after))
        refuse(mapping, "the mapping shows other bytes than the buffer has");
      offset += line.size_bytes;
    }
  }
}

}  // namespace isthmus::window
