#include "memory/allocation_record.hpp"

namespace isthmus::emulator {
namespace {

template <typename Words>
auto& word_at(Words& words, std::size_t offset_bytes) {
  return words[offset_bytes / sizeof(typename Words::value_type)];
}

}  // namespace

AllocationRecord::AllocationRecord(std::uint32_t number, std::uintptr_t neighbour) {
  word_at(memory_, 0x38) = number;
  word_at(mapping_, 0x58) = number;
  word_at(words_, 0x60) = structure();
  word_at(words_, 0xe8) = reinterpret_cast<std::uintptr_t>(mapping_.data());
  word_at(words_, 0x18) = neighbour;
}

}  // namespace isthmus::emulator
