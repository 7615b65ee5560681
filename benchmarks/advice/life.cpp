#include "life.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "host/memory/pages.hpp"

namespace {

using Clock = std::chrono::steady_clock;

// In the order of Way.
constexpr std::array<std::string_view, 9> kNames = {
    "PAGEABLE", "PINNED",        "REGISTERED",      "ISTHMUS",     "NEW_PINNED",
    "POOL",     "KEPT_PAGEABLE", "KEPT_REGISTERED", "KEPT_ISTHMUS"};
// As cudaMallocHost and cudaHostRegister do with unified addresses.
constexpr unsigned int kAllocated = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
// Copies through windows that weren't open earn an opening by less.
constexpr int kEarning = 1000;
constexpr unsigned int kRegistered = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;

void write_to_pages(std::byte* memory, std::size_t size_bytes) {
  auto* const bytes = static_cast<volatile std::byte*>(memory);
  const std::size_t page_bytes = isthmus::host::page_bytes();
  for (std::size_t offset = 0; offset < size_bytes; offset += page_bytes)
    bytes[offset] = std::byte{1};
}

std::byte* from_malloc(std::size_t size_bytes) {
  void* const memory = std::malloc(size_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

bool copies_by_isthmus(Way way) {
  return way == Way::isthmus || way == Way::new_pinned || way == Way::pool ||
         way == Way::kept_isthmus;
}

}  // namespace

Way way_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Way>(i);
  throw std::invalid_argument("no way '" + std::string(name) + "'");
}

std::string_view name_of(Way way) { return kNames[static_cast<std::size_t>(way)]; }

/// One life, step by step, by the calls that a C++ program makes.
class Machine::Life {
public:
  Life(Machine& machine, const Question& question, Way way)
      : machine_(machine), question_(question), way_(way), size_bytes_(question.size_bytes) {}

  void prepare() {
    const isthmus::Driver& driver = machine_.driver_;
    switch (way_) {
      case Way::pageable:
      case Way::isthmus:
        memory_ = from_malloc(size_bytes_);
        // A download touches the pages itself.
        if (question_.up_bytes > 0) write_to_pages(memory_, size_bytes_);
        break;
      case Way::registered:
        memory_ = from_malloc(size_bytes_);
        write_to_pages(memory_, size_bytes_);
        pin();
        break;
      case Way::pinned: {
        void* memory = nullptr;
        driver.call(isthmus::symbol::mem_host_alloc)(&memory, size_bytes_, kAllocated);
        memory_ = static_cast<std::byte*>(memory);
        break;
      }
      case Way::pool:
      case Way::new_pinned:
        memory_ = static_cast<std::byte*>(pool().allocate(size_bytes_));
        break;
      case Way::kept_pageable:
      case Way::kept_isthmus:
        memory_ = machine_.kept_;
        break;
      case Way::kept_registered:
        memory_ = machine_.kept_;
        pin();
        break;
    }
  }

  void use(std::size_t times) {
    const bool ours = copies_by_isthmus(way_);
    for (std::size_t i = 0; i < times; ++i) {
      if (question_.up_bytes > 0) ours ? upload_by_isthmus() : upload_by_driver();
      if (question_.down_bytes > 0) ours ? download_by_isthmus() : download_by_driver();
    }
  }

  void release() {
    switch (way_) {
      case Way::pageable:
      case Way::isthmus:
        std::free(memory_);
        break;
      case Way::registered:
        unpin();
        std::free(memory_);
        break;
      case Way::pinned:
        machine_.driver_.call(isthmus::symbol::mem_free_host)(static_cast<void*>(memory_));
        break;
      case Way::pool:
        pool().free(memory_);
        break;
      case Way::new_pinned:
        pool().free(memory_);
        pool().trim();
        break;
      case Way::kept_registered:
        unpin();
        break;
      case Way::kept_pageable:
      case Way::kept_isthmus:
        break;
    }
  }

private:
  isthmus::PinnedPool& pool() { return way_ == Way::pool ? machine_.filled_ : machine_.empty_; }

  void pin() {
    machine_.driver_.call(isthmus::symbol::mem_host_register)(static_cast<void*>(memory_),
                                                              size_bytes_, kRegistered);
  }
  void unpin() {
    machine_.driver_.call(isthmus::symbol::mem_host_unregister)(static_cast<void*>(memory_));
  }

  void* device() const { return reinterpret_cast<void*>(machine_.device_.pointer()); }
  void upload_by_isthmus() { machine_.transfers_.copy(device(), memory_, question_.up_bytes); }
  void download_by_isthmus() { machine_.transfers_.copy(memory_, device(), question_.down_bytes); }

  /// From pageable memory, the driver's call may return before the last bytes have arrived.
  void upload_by_driver() {
    const isthmus::Driver& driver = machine_.driver_;
    driver.call(isthmus::symbol::memcpy_htod)(
        machine_.device_.pointer(), static_cast<const void*>(memory_), question_.up_bytes);
    const bool pageable =
        way_ == Way::pageable || (way_ == Way::kept_pageable && !machine_.kept_is_pinned_);
    if (pageable) driver.call(isthmus::symbol::stream_synchronize)(nullptr);
  }
  void download_by_driver() {
    machine_.driver_.call(isthmus::symbol::memcpy_dtoh)(
        static_cast<void*>(memory_), machine_.device_.pointer(), question_.down_bytes);
  }

  Machine& machine_;
  const Question& question_;
  Way way_;
  std::size_t size_bytes_;
  std::byte* memory_ = nullptr;
};

Machine::Machine(std::size_t max_bytes, const std::string& profile)
    : driver_(isthmus::Driver::open()),
      context_(isthmus::Context::retain(driver_, 0)),
      current_(context_),
      device_(context_, max_bytes),
      after_kernels_(context_),
      transfers_(driver_),
      filled_(driver_, 0),
      empty_(driver_, 0) {
  if (!profile.empty()) transfers_.use_profile(profile);
  filled_.free(filled_.allocate(max_bytes));
}

void Machine::prepare(const Question& question) {
  if (kept_is_pinned_) {
    filled_.free(kept_);
  } else {
    std::free(kept_);
  }
  kept_ = nullptr;
  kept_is_pinned_ = question.buffer == "pinned";
  if (kept_is_pinned_)
    kept_ = static_cast<std::byte*>(filled_.allocate(question.size_bytes));
  else if (question.buffer == "pageable")
    kept_ = from_malloc(question.size_bytes);
  if (kept_ != nullptr) std::memset(kept_, 1, question.size_bytes);
  const std::uint32_t word = 1;
  for (int i = 0; i < kEarning; ++i)
    transfers_.copy(reinterpret_cast<void*>(device_.pointer()), &word, sizeof word);
}

void Machine::live(const Question& question, Way way, Parts* parts) {
  Life life(*this, question, way);
  if (parts == nullptr) {
    life.prepare();
    life.use(question.uses);
    return life.release();
  }
  auto since = Clock::now();
  const auto lap = [&since] {
    const auto now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(since, now)).count();
  };
  life.prepare();
  parts->prepare = lap();
  life.use(1);
  parts->first = lap();
  life.use(question.uses - 1);
  parts->others = lap();
  life.release();
  parts->release = lap();
}
