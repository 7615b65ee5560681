#include "arena.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "host/memory/pattern.hpp"

namespace {

constexpr int kHostToDevice = 1;  // Source: cudaMemcpyKind, driver_types.h
constexpr int kDeviceToHost = 2;
constexpr std::byte kPoison{0xa5};

/// Touched memory as malloc gives it for a large array. Lives as long as the program.
std::byte* touched_pages(std::size_t size_bytes) {
  void* const pages =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(pages);
}

}  // namespace

std::string_view name_of(Way way) { return way == Way::to_device ? "h2d" : "d2h"; }
std::string_view name_of(Host host) { return host == Host::pageable ? "pageable" : "pinned"; }

Rival::Rival(const isthmus::Driver& driver, const char* path) : driver_(driver) {
  if (path == nullptr) return;
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  memcpy_ = reinterpret_cast<Memcpy>(dlsym(library, "cudaMemcpy"));
  if (memcpy_ == nullptr) throw std::runtime_error("no cudaMemcpy in it");
}

void Rival::copy(Way way, std::byte* host, CUdeviceptr device, std::size_t size_bytes) const {
  if (memcpy_ != nullptr) {
    auto* const other = reinterpret_cast<void*>(device);
    const int failed = way == Way::to_device ? memcpy_(other, host, size_bytes, kHostToDevice)
                                             : memcpy_(host, other, size_bytes, kDeviceToHost);
    if (failed != 0) throw std::runtime_error("cudaMemcpy: " + std::to_string(failed));
  } else if (way == Way::to_device) {
    driver_.call(isthmus::symbol::memcpy_htod)(device, host, size_bytes);
  } else {
    driver_.call(isthmus::symbol::memcpy_dtoh)(host, device, size_bytes);
  }
}

Arena::Arena(std::size_t max_bytes, const char* cudart_path)
    : max_bytes_(max_bytes),
      driver_(isthmus::Driver::open()),
      context_(isthmus::Context::retain(driver_, 0)),
      current_(context_),
      device_(context_, max_bytes),
      pageable_(touched_pages(max_bytes)),
      pinned_(context_, max_bytes),
      expected_(max_bytes),
      transfers_(driver_),
      rival_(driver_, cudart_path) {
  isthmus::host::fill_pattern(expected_.data(), max_bytes, 1);
  for (const Host kind : {Host::pageable, Host::pinned})
    std::memcpy(host(kind), expected_.data(), max_bytes);
}

std::byte* Arena::host(Host kind) const {
  return kind == Host::pageable ? pageable_ : pinned_.data();
}

Task Arena::ours(Way way, Host kind, std::size_t size_bytes, const isthmus::CopyOptions& options) {
  void* const there = reinterpret_cast<void*>(device());
  void* const here = host(kind);
  void* const target = way == Way::to_device ? there : here;
  const void* const source = way == Way::to_device ? here : there;
  return [this, target, source, size_bytes, options] {
    transfers_.copy(target, source, size_bytes, options);
  };
}

Task Arena::theirs(Way way, Host kind, std::size_t size_bytes) const {
  return [this, way, kind, size_bytes] { rival_.copy(way, host(kind), device(), size_bytes); };
}

void Arena::verify(Way way, Host kind, std::size_t size_bytes, const Task& copy) const {
  std::byte* const here = host(kind);
  std::memcpy(here, expected_.data(), size_bytes);
  if (way == Way::to_host)
    driver_.call(isthmus::symbol::memcpy_htod)(device(), static_cast<const void*>(here),
                                               size_bytes);
  else
    driver_.call(isthmus::symbol::memset_d8_async)(
        device(), std::to_integer<unsigned char>(kPoison), size_bytes, nullptr);
  driver_.call(isthmus::symbol::stream_synchronize)(nullptr);
  if (way == Way::to_host) std::memset(here, std::to_integer<int>(kPoison), size_bytes);
  copy();
  if (way == Way::to_device) {
    std::memset(here, std::to_integer<int>(kPoison), size_bytes);
    driver_.call(isthmus::symbol::memcpy_dtoh)(static_cast<void*>(here), device(), size_bytes);
  }
  const auto wrong = std::mismatch(here, here + size_bytes, expected_.begin()).first - here;
  if (static_cast<std::size_t>(wrong) != size_bytes)
    throw std::runtime_error("a copy of " + std::to_string(size_bytes) + " bytes, " +
                             std::string(name_of(way)) + ", " + std::string(name_of(kind)) +
                             ", is wrong at byte " + std::to_string(wrong));
}
