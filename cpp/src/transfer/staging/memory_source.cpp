#include "transfer/staging/memory_source.hpp"

#include <algorithm>
#include <string>

#include <isthmus/errors.hpp>

#include "transfer/request/mapped_file_copy.hpp"
#include "transfer/staging/host_copy.hpp"

namespace isthmus::transfer {
namespace {

// A disk of 10 GB/s delivers this in 6 ms: more than its latency, and too little to fill a cgroup.
constexpr std::size_t kReadAheadBytes = std::size_t{64} << 20U;

[[noreturn]] void throw_shorter(std::size_t offset_bytes) {
  throw UsageError("the source can't be read at byte " + std::to_string(offset_bytes) +
                   ": the mapped file has become shorter");
}

}  // namespace

void MemorySource::fill(std::byte* place, std::size_t offset_bytes, std::size_t size_bytes) const {
  const std::byte* const first = memory_ + offset_bytes;
  const std::size_t last = size_bytes - 1;
  if (backing_ == Backing::unknown && !readable(first + last)) throw_shorter(offset_bytes + last);
  copy_by(filling_.at(begin_ + offset_bytes), place, first, size_bytes);
}

void MappedFileSource::fill(std::byte* place, std::size_t offset_bytes,
                            std::size_t size_bytes) const {
  const std::size_t ahead = offset_bytes == 0 ? 0 : offset_bytes + kReadAheadBytes;
  if (ahead < size_bytes_) {
    const std::size_t wanted = offset_bytes == 0 ? kReadAheadBytes : size_bytes;
    read_ahead(memory_ + ahead, std::min(wanted, size_bytes_ - ahead));
  }
  const std::size_t copied = copy_from_mapped_file(place, memory_ + offset_bytes, size_bytes);
  if (copied < size_bytes) throw_shorter(offset_bytes + copied);
}

void ListedSource::fill(std::byte* place, std::size_t offset_bytes, std::size_t size_bytes) const {
  const Backing backing = backing_.get();
  if (backing == Backing::file)
    return MappedFileSource(memory_, size_bytes_).fill(place, offset_bytes, size_bytes);
  MemorySource(memory_, backing, filling_, begin_).fill(place, offset_bytes, size_bytes);
}

}  // namespace isthmus::transfer
