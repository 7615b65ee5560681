#include "paged/file_loading.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <isthmus/errors.hpp>

#include "host/cpu/cgroup.hpp"
#include "host/cpu/signal_block.hpp"
#include "transfer/staging/file_source.hpp"

namespace isthmus {
namespace {

// As saving does: a disk serves several requests at a time. Source: benchmarks/frontdoor/save.py.
constexpr std::size_t kMaxThreads = 8;
constexpr std::size_t kPieceBytes = std::size_t{4} << 20U;

/// The pieces of one part, which threads take one after the other.
class Pieces {
public:
  Pieces(const transfer::FileSource& file, std::byte* memory, std::size_t size_bytes)
      : file_(file), memory_(memory), size_bytes_(size_bytes) {}

  std::size_t count() const noexcept { return (size_bytes_ + kPieceBytes - 1) / kPieceBytes; }

  /// Returns     false if none is left.
  bool read_next() noexcept {
    const std::size_t begin = next_.fetch_add(kPieceBytes);
    if (begin >= size_bytes_) return false;
    try {
      // A piece begins with a block, so that the bytes come to where they are asked for.
      file_.fill(memory_ + begin, begin, std::min(kPieceBytes, size_bytes_ - begin));
    } catch (...) {
      fail(std::current_exception());
    }
    return true;
  }
  /// Keeps the first failure; no further piece is taken.
  void fail(std::exception_ptr failure) noexcept {
    const std::scoped_lock lock(failing_);
    if (failure_ == nullptr) failure_ = std::move(failure);
    next_ = size_bytes_;
  }
  void rethrow() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

private:
  const transfer::FileSource& file_;
  std::byte* const memory_;
  const std::size_t size_bytes_;
  std::atomic<std::size_t> next_{0};
  std::mutex failing_;
  std::exception_ptr failure_;
};

std::size_t num_helpers(const Pieces& pieces) {
  const auto num_cores = std::max<std::size_t>(1, std::size_t(host::effective_cores()));
  return std::min({kMaxThreads, num_cores, pieces.count()}) - 1;
}

/// Threads that read until no piece is left. They end before their object does.
class Helpers {
public:
  Helpers(Pieces& pieces, std::size_t count) {
    const host::ScopedSignalBlock block;
    threads_.reserve(count);
    try {
      while (threads_.size() < count)
        threads_.emplace_back([&pieces] {
          while (pieces.read_next()) {
          }
        });
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): those that exist do all
    }
  }
  ~Helpers() {
    for (std::thread& thread : threads_) thread.join();
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

private:
  std::vector<std::thread> threads_;
};

}  // namespace

void load_blocks(const FilePart& part, std::byte* memory,
                 const std::function<bool()>& interrupted) {
  if (part.size_bytes == 0) return;
  const transfer::FileSource file(part.descriptor, part.offset_bytes, part.size_bytes);
  Pieces pieces(file, memory, part.size_bytes);
  {
    const Helpers helpers(pieces, num_helpers(pieces));
    do {
      if (interrupted())
        pieces.fail(std::make_exception_ptr(Interrupted("reading the file was interrupted")));
    } while (pieces.read_next());
  }
  pieces.rethrow();
}

}  // namespace isthmus
