#include "copier.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "device/capture.hpp"

namespace isthmus::stress {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{3} << 20U;
constexpr std::uint8_t kVictim = 0x5B;
constexpr std::size_t kNumVictims = 8;

/// Host memory that a dropped copy writes to. After its release it is reused, and a late write is
/// detected.
class Dropped final : public transfer::CopyNeeds {
public:
  explicit Dropped(std::size_t size_bytes) : memory_(size_bytes) {}
  ~Dropped() override { std::fill(memory_.begin(), memory_.end(), kVictim); }
  std::uint8_t* data() { return memory_.data(); }

private:
  Bytes memory_;
};

}  // namespace

Copier::Copier(Workplace& place, std::uint64_t seed)
    : place_(place),
      dice_(seed),
      device_(place.context, 2 * kMaxBytes),
      stream_(place.context),
      ordinary_(kMaxBytes),
      in_file_(dice_.bytes(kMaxBytes)) {
  std::array<char, 32> name{"/tmp/isthmus_stress_XXXXXX"};
  file_ = mkstemp(name.data());
  if (file_ < 0 || unlink(name.data()) != 0 ||
      pwrite(file_, in_file_.data(), kMaxBytes, 0) != static_cast<ssize_t>(kMaxBytes))
    throw std::runtime_error("no file to work on in /tmp");
  void* const mapped =
      mmap(nullptr, kMaxBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mapped_ = static_cast<std::uint8_t*>(mapped);
}

Copier::~Copier() {
  munmap(mapped_, kMaxBytes);
  close(file_);
}

void* Copier::device(std::size_t offset_bytes) const {
  return reinterpret_cast<void*>(device_.pointer() + offset_bytes);
}

void Copier::synchronize() const {
  const CurrentContext current(place_.context);
  const ScopedRelaxedCapture relaxed(place_.context.driver());
  for (int tries = 0; tries < 100; ++tries) {
    if (place_.context.driver().raw(symbol::stream_synchronize)(stream()) == CUDA_SUCCESS) return;
  }
  throw std::runtime_error("the stream doesn't become idle");
}

void Copier::step() {
  switch (dice_.below(16)) {
    case 0:
      return copy_a_file();
    case 1:
      return use_a_window();
    case 2:
      return use_pinned_memory();
    case 3:
    case 4:
    case 5:
      return begin_and_drop();
    case 6:
      return dice_.seldom() ? trim() : there_and_back();
    default:
      return there_and_back();
  }
}

CopyOptions Copier::some_options() {
  static constexpr std::array<std::string_view, 6> kPaths{
      "", "", "window", "window_threads", "driver", "staged"};
  CopyOptions options;
  if (dice_.often()) options.stream = reinterpret_cast<std::uintptr_t>(stream());
  options.path = kPaths[dice_.below(kPaths.size())];
  return options;
}

/// Returns false if it was refused.
bool Copier::copy(void* target, const void* source, std::size_t size_bytes) {
  const CopyOptions options = some_options();
  const std::string what = "copy by " + std::string(options.path.empty() ? "any" : options.path);
  const bool asynchronous = dice_.often();
  const bool copied = allowed(place_.tally, what, [&] {
    if (!asynchronous) return place_.transfers.copy(target, source, size_bytes, options);
    CopyOptions chosen = options;
    chosen.path = {};
    const SourceOrder order = dice_.often() ? SourceOrder::call : SourceOrder::stream;
    place_.transfers.copy_async(target, source, size_bytes, chosen, order).wait();
  });
  if (copied) place_.tally.count(asynchronous ? "asynchronous copy" : what, size_bytes);
  return copied;
}

void Copier::compare(const std::uint8_t* found, const Bytes& wanted, const char* what) {
  const auto [wrong, unused] = std::mismatch(wanted.begin(), wanted.end(), found);
  if (wrong == wanted.end()) return;
  place_.tally.fail(std::string(what) + ": byte " + std::to_string(wrong - wanted.begin()) +
                    " of " + std::to_string(wanted.size()) + " differs");
}

/// Ordinary memory, or shared memory as a file's is.
std::uint8_t* Copier::host(std::size_t size_bytes) {
  std::uint8_t* const memory = dice_.often() ? ordinary_.data() : mapped_;
  return memory + dice_.below(kMaxBytes - size_bytes + 1);
}

void Copier::there_and_back() {
  const std::size_t size_bytes = dice_.size(kMaxBytes);
  const std::size_t offset = dice_.below(kMaxBytes);
  const Bytes sent = dice_.bytes(size_bytes);
  std::uint8_t* const source = host(size_bytes);
  std::copy(sent.begin(), sent.end(), source);
  if (!copy(device(offset), source, size_bytes)) return synchronize();
  std::fill_n(source, size_bytes, std::uint8_t{0});
  if (!copy(source, device(offset), size_bytes)) return synchronize();
  compare(source, sent, "there and back");
}

/// A download without a wait; while it is in flight, others use the free memory.
void Copier::begin_and_drop() {
  const std::size_t size_bytes = dice_.size(kMaxBytes);
  auto needs = std::make_unique<Dropped>(size_bytes);
  std::uint8_t* const target = needs->data();
  CopyOptions options;
  options.stream = reinterpret_cast<std::uintptr_t>(stream());
  allowed(place_.tally, "dropped copy", [&] {
    const auto kept = place_.keeper.begin(std::move(needs), [&] {
      return place_.transfers.copy_async(target, device(), size_bytes, options);
    });
    place_.tally.count("dropped copy", size_bytes);
    if (dice_.often()) place_.keeper.ask(kept);
    place_.keeper.drop(kept);
  });
  victims_.emplace_back(size_bytes, kVictim);
  if (victims_.size() < kNumVictims) return;
  if (std::ranges::any_of(victims_.front(), [](std::uint8_t byte) { return byte != kVictim; }))
    place_.tally.fail("memory that was let go was written to");
  victims_.pop_front();
}

void Copier::copy_a_file() {
  const std::size_t size_bytes = dice_.size(kMaxBytes);
  const std::size_t offset = dice_.below(kMaxBytes - size_bytes + 1);
  const bool copied = allowed(place_.tally, "file", [&] {
    CopyOptions options;
    options.stream = reinterpret_cast<std::uintptr_t>(stream());
    place_.transfers.copy_file(device(kMaxBytes), file_, offset, size_bytes, options);
  });
  if (!copied) return synchronize();
  place_.tally.count("file", size_bytes);
  Bytes found(size_bytes);
  if (!copy(found.data(), device(kMaxBytes), size_bytes)) return synchronize();
  const auto first = in_file_.begin() + static_cast<std::ptrdiff_t>(offset);
  compare(found.data(), Bytes(first, first + static_cast<std::ptrdiff_t>(size_bytes)), "file");
}

void Copier::use_a_window() {
  const std::size_t size_bytes = dice_.size(kMaxBytes / 4);
  const std::size_t offset = dice_.below(kMaxBytes);
  WindowOptions options;
  options.num_threads = dice_.often() ? 1 : 3;
  const Bytes sent = dice_.bytes(size_bytes);
  Bytes found(size_bytes);
  const bool used = allowed(place_.tally, "window", [&] {
    Window window =
        place_.transfers.windows().open(device_.pointer() + offset, size_bytes, options);
    window.write(0, sent.data(), size_bytes);
    window.read(found.data(), 0, size_bytes);
  });
  if (!used) return;
  place_.tally.count("window", 2 * size_bytes);
  compare(found.data(), sent, "window");
}

/// Memory of the pool, freed in the order of a stream that still writes to it.
void Copier::use_pinned_memory() {
  const std::size_t size_bytes = dice_.size(kMaxBytes);
  const auto own = reinterpret_cast<std::uintptr_t>(stream());
  void* block = nullptr;
  if (!allowed(place_.tally, "pinned memory", [&] { block = place_.pool.allocate(size_bytes); }))
    return;
  auto* const bytes = static_cast<std::uint8_t*>(block);
  const Bytes sent = dice_.bytes(size_bytes);
  std::copy(sent.begin(), sent.end(), bytes);
  bool intact = copy(device(), bytes, size_bytes);
  if (!intact) synchronize();
  std::fill_n(bytes, size_bytes, std::uint8_t{0});
  intact = intact && copy(bytes, device(), size_bytes);
  if (!intact) synchronize();
  if (intact) compare(bytes, sent, "pinned memory");
  place_.tally.count("pinned memory", 2 * size_bytes);
  const bool freed = dice_.often() && allowed(place_.tally, "pinned memory of a stream",
                                              [&] { place_.pool.free(block, own); });
  if (!freed) place_.pool.free(block);
}

void Copier::trim() {
  if (!allowed(place_.tally, "trim", [this] { place_.transfers.trim(); })) return;
  place_.tally.count("trim");
}

}  // namespace isthmus::stress
