// One version of the library behind the functions of version.hpp. This file is compiled in each
// version's own tree, so it may only use what all versions have: the public headers, and the way to
// open a driver.
#include "version.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>

#include <isthmus/pinned.hpp>
#include <isthmus/transfer.hpp>
#include <isthmus/window.hpp>

#include "driver/driver.hpp"

namespace {

constexpr int kThreads[] = {1, 2, 4, 8};

class Version {
public:
  explicit Version(const Memory& memory)
      : memory_(memory), transfers_(isthmus::Driver::open()), pool_(transfers_.driver(), 0) {
    if (memory.window_bytes == 0) return;
    for (const int num_threads : kThreads) {
      isthmus::WindowOptions options;
      options.num_threads = num_threads;
      windows_.emplace(num_threads,
                       transfers_.windows().open(reinterpret_cast<std::uintptr_t>(memory.device),
                                                 memory.window_bytes, options));
    }
  }

  double sample(const Request& request, std::size_t num_calls) {
    switch (request.call) {
      case Call::copy:
        return copies(request, num_calls);
      case Call::copy_async:
        return futures(request, num_calls);
      case Call::window:
        return window_copies(request, num_calls);
      case Call::pool:
        return allocations(request, num_calls);
    }
    return -1;
  }

private:
  template <typename Once>
  static double seconds(std::size_t num_calls, Once once) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < num_calls; ++i) once();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
           static_cast<double>(num_calls);
  }

  void* host(const Request& request) const {
    return request.pinned ? memory_.pinned : memory_.pageable;
  }
  void* target(const Request& request) const {
    return request.upload ? memory_.device : host(request);
  }
  const void* source(const Request& request) const {
    return request.upload ? host(request) : memory_.device;
  }

  static isthmus::CopyOptions options(const Request& request) {
    isthmus::CopyOptions options;
    options.path = request.path;
    options.ordered = request.ordered;
    if (!request.told) return options;
    const auto here = request.pinned ? isthmus::MemoryKind::pinned : isthmus::MemoryKind::pageable;
    options.source_kind = request.upload ? here : isthmus::MemoryKind::device;
    options.target_kind = request.upload ? isthmus::MemoryKind::device : here;
    return options;
  }

  double copies(const Request& request, std::size_t num_calls) {
    return seconds(num_calls,
                   [&, to = target(request), from = source(request), told = options(request)] {
                     transfers_.copy(to, from, request.size_bytes, told);
                   });
  }

  double futures(const Request& request, std::size_t num_calls) {
    return seconds(num_calls,
                   [&, to = target(request), from = source(request), told = options(request)] {
                     transfers_.copy_async(to, from, request.size_bytes, told).wait();
                   });
  }

  double window_copies(const Request& request, std::size_t num_calls) {
    isthmus::Window& window = windows_.at(request.num_threads);
    if (request.upload)
      return seconds(num_calls,
                     [&, from = host(request)] { window.write(0, from, request.size_bytes); });
    return seconds(num_calls, [&, to = host(request)] { window.read(to, 0, request.size_bytes); });
  }

  double allocations(const Request& request, std::size_t num_calls) {
    return seconds(num_calls, [&] { pool_.free(pool_.allocate(request.size_bytes)); });
  }

  Memory memory_;
  isthmus::Transfers transfers_;
  isthmus::PinnedPool pool_;
  std::map<int, isthmus::Window> windows_;
};

template <typename Result, typename Work>
Result told_if_failed(const char* what, Result failed, Work work) noexcept {
  try {
    return work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", what, error.what());
    return failed;
  }
}

}  // namespace

void* version_open(const Memory* memory) {
  return told_if_failed<void*>("version_open", nullptr, [&] { return new Version(*memory); });
}

void version_close(void* version) { delete static_cast<Version*>(version); }

double version_sample(void* version, const Request* request, std::size_t num_calls) {
  return told_if_failed("version_sample", -1.0, [&] {
    return static_cast<Version*>(version)->sample(*request, num_calls);
  });
}
