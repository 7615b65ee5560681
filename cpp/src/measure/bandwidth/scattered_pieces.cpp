#include "measure/bandwidth/scattered_pieces.hpp"

#include <cstring>
#include <numeric>

#include <isthmus/errors.hpp>

namespace isthmus::measure {
namespace {

constexpr int kPoison = 0x3C;
constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kWordBytes = 4;

std::size_t checked_piece(std::size_t piece_bytes, std::size_t num_pieces,
                          const CopyBuffers& buffers) {
  if (piece_bytes == 0 || piece_bytes % kWordBytes != 0 || num_pieces == 0) {
    throw UsageError("pieces of " + std::to_string(piece_bytes) + " bytes, " +
                     std::to_string(num_pieces) + " of them: needs 1 at least, of 4, 8, ... bytes");
  }
  if (buffers.host_memory() == HostMemory::pageable) {
    throw UsageError("many copies need pinned memory");
  }
  buffers.check_size(piece_bytes * num_pieces);
  return piece_bytes;
}

/// Whole cache lines, and one more that isn't copied.
std::size_t slot_for(std::size_t piece_bytes) {
  return (piece_bytes + kLineBytes - 1) / kLineBytes * kLineBytes + kLineBytes;
}

/// A step that visits each slot once, far from the one before: near the golden section of their
/// number.
std::size_t step_for(std::size_t num_pieces) {
  auto step = static_cast<std::size_t>(static_cast<double>(num_pieces) * 0.618);
  while (std::gcd(step, num_pieces) != 1) ++step;
  return step;
}

}  // namespace

ScatteredPieces::ScatteredPieces(CopyBuffers& buffers, std::size_t piece_bytes,
                                 std::size_t num_pieces)
    : buffers_(buffers),
      piece_bytes_(checked_piece(piece_bytes, num_pieces, buffers)),
      slot_bytes_(slot_for(piece_bytes)),
      num_pieces_(num_pieces),
      slot_step_(step_for(num_pieces)),
      slots_(buffers.context(), slot_bytes_ * num_pieces) {}

std::vector<LinkCopy> ScatteredPieces::copies(Direction direction) const {
  std::vector<LinkCopy> found;
  found.reserve(num_pieces_);
  for (std::size_t i = 0; i < num_pieces_; ++i) {
    found.push_back({slot(i), buffers_.device() + i * piece_bytes_, piece_bytes_,
                     direction == Direction::host_to_device});
  }
  return found;
}

void ScatteredPieces::pack() const {
  for (std::size_t i = 0; i < num_pieces_; ++i)
    std::memcpy(buffers_.host() + i * piece_bytes_, slot(i), piece_bytes_);
}

void ScatteredPieces::unpack() const {
  for (std::size_t i = 0; i < num_pieces_; ++i)
    std::memcpy(slot(i), buffers_.host() + i * piece_bytes_, piece_bytes_);
}

void ScatteredPieces::prepare(const Kernels* kernels) {
  buffers_.prepare(kernels);
  unpack();
}

void ScatteredPieces::poison(Direction direction) {
  buffers_.poison(direction, total_bytes());
  // The CPU packs and unpacks here: no bytes of an earlier copy may remain.
  std::memset(buffers_.host(), kPoison, total_bytes());
  if (direction == Direction::device_to_host)
    std::memset(slots_.data(), kPoison, slots_.size_bytes());
}

VerifiedOn ScatteredPieces::verify(Direction direction, const Kernels* kernels) {
  if (direction == Direction::device_to_host) {
    pack();
    return buffers_.verify(direction, total_bytes(), kernels);
  }
  const VerifiedOn where = buffers_.verify(direction, total_bytes(), kernels);
  pack();  // the slots still hold the pattern: now both sides do
  return where;
}

}  // namespace isthmus::measure
