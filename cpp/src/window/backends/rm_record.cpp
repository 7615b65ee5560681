#include "window/backends/rm_record.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <isthmus/errors.hpp>

#include "window/backends/rm_memory.hpp"

namespace isthmus::window::rm {
namespace {

constexpr std::size_t kStructureBytes = 512;

// User addresses: above the first pages, below 2^47 (x86-64) and 2^48 (Arm). Structures are aligned
// to 8 bytes. What only looks like an address can't be read, or has no number.
constexpr std::uint64_t kFirstAddress = 0x10000;
constexpr std::uint64_t kEndOfAddresses = std::uint64_t{1} << 48U;

/// The first bytes of a structure, as far as they could be read.
struct Structure {
  std::array<std::byte, kStructureBytes> bytes{};
  std::size_t size_bytes = 0;

  template <typename Word>
  Word word(std::size_t offset) const {
    Word value = 0;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  }
};

bool may_be_address(std::uint64_t word) {
  return word >= kFirstAddress && word < kEndOfAddresses && word % 8 == 0;
}

void add_numbers_like(Handle known, const Structure& structure, std::uint32_t pointer_offset,
                      std::vector<NumberAtPlace>& found) {
  for (std::size_t offset = 0; offset + sizeof(Handle) <= structure.size_bytes;
       offset += sizeof(Handle)) {
    const auto word = structure.word<Handle>(offset);
    if (word >> 24U != known >> 24U) continue;
    found.push_back({{pointer_offset, static_cast<std::uint32_t>(offset)}, word});
  }
}

}  // namespace

std::string text_of(Place place) {
  std::array<char, 40> text{};
  if (place.pointer_offset == Place::kInTheRecord) {
    std::snprintf(text.data(), text.size(), "[0x%x]", place.number_offset);
  } else {
    std::snprintf(text.data(), text.size(), "[0x%x]->[0x%x]", place.pointer_offset,
                  place.number_offset);
  }
  return text.data();
}

std::size_t RecordReader::read(std::uint64_t address, void* target, std::size_t size_bytes) const {
  const ssize_t result = files_->read_memory(address, target, size_bytes);
  if (result >= 0) return std::min(static_cast<std::size_t>(result), size_bytes);
  if (result == -EFAULT) return 0;
  refuse_handleless("this process may not read its own memory (process_vm_readv: " +
                    error_text(static_cast<int>(-result)) +
                    (result == -EPERM || result == -ENOSYS ? "; refused by a sandbox?)" : ")"));
}

std::vector<NumberAtPlace> RecordReader::numbers_like(Handle known, std::uint64_t record) const {
  std::vector<NumberAtPlace> found;
  Structure first;
  first.size_bytes = read(record, first.bytes.data(), kStructureBytes);
  add_numbers_like(known, first, Place::kInTheRecord, found);
  for (std::size_t offset = 0; offset + sizeof(std::uint64_t) <= first.size_bytes;
       offset += sizeof(std::uint64_t)) {
    const auto pointer = first.word<std::uint64_t>(offset);
    if (!may_be_address(pointer)) continue;
    Structure behind;
    behind.size_bytes = read(pointer, behind.bytes.data(), kStructureBytes);
    add_numbers_like(known, behind, static_cast<std::uint32_t>(offset), found);
  }
  return found;
}

std::optional<Handle> RecordReader::number_at(std::uint64_t record, Place place) const {
  std::uint64_t structure = record;
  if (place.pointer_offset != Place::kInTheRecord &&
      (read(record + place.pointer_offset, &structure, sizeof structure) != sizeof structure ||
       !may_be_address(structure)))
    return std::nullopt;
  Handle number = 0;
  if (read(structure + place.number_offset, &number, sizeof number) != sizeof number)
    return std::nullopt;
  return number;
}

}  // namespace isthmus::window::rm
