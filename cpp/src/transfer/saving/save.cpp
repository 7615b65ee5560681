#include "transfer/saving/save.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/stream.hpp"
#include "transfer/request/failed_copy.hpp"
#include "transfer/request/mapped_file_copy.hpp"
#include "transfer/saving/save_job.hpp"

namespace isthmus::transfer {
namespace {

/// A piece of the file on its way to the disk: memory that it is collected in, and the streams of
/// the copies to it. Used by one thread.
class StagedPiece {
public:
  /// memory      [piece_bytes], aligned to FileTarget::kBlockBytes
  StagedPiece(SaveJob& job, std::byte* memory) noexcept : job_(job), memory_(memory) {}
  /// Waits for copies that are still running; records in the job if that isn't possible.
  ~StagedPiece();
  StagedPiece(const StagedPiece&) = delete;
  StagedPiece& operator=(const StagedPiece&) = delete;

  /// Begins to collect a piece: the device copies while the caller goes on.
  ///
  /// Throws      DriverError that names the array; UsageError if host memory can't be read.
  void begin(const SavedPiece& piece);
  /// Waits until the piece is there, and writes it.
  ///
  /// Throws      as begin(); std::system_error.
  void write();

private:
  void collect(const SavedSegment& segment);
  void enqueue(const SavedSegment& segment);
  void await_copies();
  bool is_readable_as_it_is() const noexcept;

  SaveJob& job_;
  std::byte* memory_;
  std::map<int, Stream> streams_;       // of each device
  std::vector<int> devices_under_way_;  // whose copies nobody has waited for
  SavedPiece piece_;
  std::vector<SavedSegment> segments_;
};

[[noreturn]] void throw_unreadable(const SavedSegment& segment) {
  throw UsageError(segment.range->name +
                   ": its memory can't be read; it was freed, or is a mapped file that has become "
                   "shorter");
}

StagedPiece::~StagedPiece() {
  for (const int device : devices_under_way_) {
    const Context& context = job_.context(device);
    try {
      const CurrentContext current(context);
      if (becomes_idle(context.driver(), streams_.at(device).handle())) continue;
    } catch (...) {  // NOLINT(bugprone-empty-catch): nobody knows what is running
    }
    job_.note_in_use();
  }
}

void StagedPiece::begin(const SavedPiece& piece) {
  piece_ = piece;
  segments_ = job_.bytes.segments(piece.begin, piece.size_bytes);
  if (is_readable_as_it_is()) return;
  // First what the devices copy by themselves.
  for (const SavedSegment& segment : segments_) {
    if (segment.range->device != kOnHost) enqueue(segment);
  }
  for (const SavedSegment& segment : segments_) {
    if (segment.range->device == kOnHost) collect(segment);
  }
}

/// True if the piece is in one array's memory on the host, from where it can be written.
bool StagedPiece::is_readable_as_it_is() const noexcept {
  return segments_.size() == 1 && segments_[0].range->device == kOnHost &&
         job_.file.takes(segments_[0].memory);
}

void StagedPiece::collect(const SavedSegment& segment) {
  // The kernel copies: memory that has gone is an error, not a signal.
  const std::size_t copied =
      copy_from_mapped_file(memory_ + segment.place, segment.memory, segment.size_bytes);
  if (copied < segment.size_bytes) throw_unreadable(segment);
}

void StagedPiece::enqueue(const SavedSegment& segment) {
  const int device = segment.range->device;
  const Context& context = job_.context(device);
  const CurrentContext current(context);
  const Stream& stream = streams_.try_emplace(device, context).first->second;
  if (std::ranges::find(devices_under_way_, device) == devices_under_way_.end())
    devices_under_way_.push_back(device);
  try {
    context.driver().call(symbol::memcpy_dtoh_async)(static_cast<void*>(memory_ + segment.place),
                                                     reinterpret_cast<CUdeviceptr>(segment.memory),
                                                     segment.size_bytes, stream.handle());
  } catch (const DriverError& error) {
    error.throw_adding(segment.range->name + " can't be read");
  }
}

void StagedPiece::await_copies() {
  while (!devices_under_way_.empty()) {
    const Context& context = job_.context(devices_under_way_.back());
    const CurrentContext current(context);
    try {
      streams_.at(devices_under_way_.back()).synchronize();
    } catch (const DriverError& error) {
      error.throw_adding(segments_.front().range->name + ", or one after it, can't be read");
    }
    devices_under_way_.pop_back();
  }
}

void StagedPiece::write() {
  const bool as_it_is = is_readable_as_it_is();
  await_copies();
  const std::byte* const from = as_it_is ? segments_[0].memory : memory_;
  try {
    job_.file.write({from, piece_.size_bytes}, piece_.begin);
  } catch (const std::system_error& error) {
    if (as_it_is && error.code().value() == EFAULT) throw_unreadable(segments_[0]);
    throw;
  }
}

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
