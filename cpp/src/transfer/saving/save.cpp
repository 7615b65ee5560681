#include "transfer/saving/save.hpp"

#include <isthmus/errors.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "device/capture.hpp"
#include "transfer/saving/save_job.hpp"
#include "transfer/saving/staged_piece.hpp"

namespace isthmus::transfer {
namespace {

/// Saves pieces until none is left: one is collected while the one before it is written.
void save_pieces(SaveJob& job, std::byte* memory, std::size_t piece_bytes) {
  StagedPiece one(job, memory);
  StagedPiece other(job, memory + piece_bytes);
  StagedPiece* ready = &one;
  StagedPiece* next = &other;
  auto piece = job.take();
  if (piece) ready->begin(*piece);
  while (piece) {
    piece = job.take();
    if (piece) next->begin(*piece);
    ready->write();
    std::swap(ready, next);
  }
}

/// Counts the threads that have ended.
class Ended {
public:
  void note_one() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_one();
  }
  /// Returns true once so many have ended, and false after a while.
  bool await(std::size_t count) {
    std::unique_lock lock(mutex_);
    // How long the caller sleeps between two questions whether it is interrupted.
    return changed_.wait_for(lock, std::chrono::milliseconds{50}, [&] { return count_ >= count; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
};

void fail_as_interrupted(SaveJob& job) noexcept {
  try {
    throw Interrupted("saving was interrupted");
  } catch (...) {
    job.fail();
  }
}

void work(const std::optional<Driver>& driver, SaveJob& job, std::byte* memory,
          std::size_t piece_bytes) noexcept {
  try {
    std::optional<ScopedRelaxedCapture> relaxed;
    if (driver) relaxed.emplace(*driver);
    save_pieces(job, memory, piece_bytes);
  } catch (...) {
    job.fail();
  }
}

/// The staging memory from its first whole block on.
///
/// Throws      UsageError if it hasn't room for two pieces.
std::span<std::byte> blocks_of(std::span<std::byte> staging, std::size_t piece_bytes) {
  void* first = staging.data();
  std::size_t size_bytes = staging.size();
  const bool has_room = piece_bytes > 0 && piece_bytes % FileTarget::kBlockBytes == 0 &&
                        std::align(FileTarget::kBlockBytes, 2 * piece_bytes, first, size_bytes);
  if (!has_room) throw UsageError("saving needs staging memory for two pieces of whole blocks");
  return {static_cast<std::byte*>(first), size_bytes};
}

}  // namespace

bool save(const std::optional<Driver>& driver, int descriptor, const SavedBytes& bytes,
          std::span<std::byte> staging, const SaveSettings& settings,
          const std::function<bool()>& interrupted) {
  const std::size_t piece_bytes = settings.piece_bytes;
  const std::span<std::byte> blocks = blocks_of(staging, piece_bytes);
  const FileTarget file(descriptor, bytes.size_bytes(), settings.writing);
  SaveJob job(driver, bytes, file, piece_bytes);
  const std::size_t num_wanted =
      std::min(blocks.size() / (2 * piece_bytes), std::max<std::size_t>(1, job.num_pieces()));
  Ended ended;
  std::vector<std::thread> threads;
  threads.reserve(num_wanted);
  try {
    while (threads.size() < num_wanted) {
      std::byte* const memory = blocks.data() + threads.size() * 2 * piece_bytes;
      threads.emplace_back([&driver, &job, &ended, memory, piece_bytes] {
        work(driver, job, memory, piece_bytes);
        ended.note_one();
      });
    }
  } catch (const std::exception&) {
    // No thread, or no memory for one: with fewer, or none but this one.
    if (threads.empty()) work(driver, job, blocks.data(), piece_bytes);
  }
  for (bool stopped = false; !ended.await(threads.size());) {
    if (stopped || !interrupted()) continue;
    fail_as_interrupted(job);
    stopped = true;
  }
  for (std::thread& thread : threads) thread.join();
  job.rethrow();
  return file.writes_directly();
}

}  // namespace isthmus::transfer
