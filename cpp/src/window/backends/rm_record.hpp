// The driver's record of an allocation: the structure whose address cuMemRetainAllocationHandle
// gives as the allocation's handle. It is private, and differs between drivers: nothing is known of
// it but that the number of the memory object lies somewhere in it, or behind one of its pointers.
//
// Source: docs/adr/0016-memory-without-a-handle.md, as seen on driver 580.159.04.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "window/backends/device_files.hpp"
#include "window/backends/rm_abi.hpp"

namespace isthmus::window::rm {

/// Where a record has a number: in the structure behind one of its pointers, or in itself.
struct Place {
  static constexpr std::uint32_t kInTheRecord = UINT32_MAX;
  std::uint32_t pointer_offset = kInTheRecord;  ///< of the pointer in the record
  std::uint32_t number_offset = 0;              ///< in the structure, or in the record

  auto operator<=>(const Place&) const = default;
};

/// "[0x60]->[0x38]", or "[0x38]" for a place in the record itself.
std::string text_of(Place place);

struct NumberAtPlace {
  Place place;
  Handle number = 0;

  bool operator==(const NumberAtPlace&) const = default;
};

/// Reads records by the kernel (process_vm_readv): a wrong address gives no number, and no signal.
/// May be used from any thread.
///
/// record      a handle of cuMemRetainAllocationHandle, retained during the call
/// Throws      (all members) Unavailable if this process may not read its own memory that way.
class RecordReader {
public:
  explicit RecordReader(std::shared_ptr<const DeviceFiles> files) : files_(std::move(files)) {}

  /// All words that may be numbers in the first 512 bytes of the record, and of each structure that
  /// a word of these points to: those whose highest byte is that of `known`. Up to 65 reads.
  ///
  /// known       the number of another object: the driver numbers its objects in order
  std::vector<NumberAtPlace> numbers_like(Handle known, std::uint64_t record) const;
  /// The word at a place; nothing if it can't be read.
  std::optional<Handle> number_at(std::uint64_t record, Place place) const;

private:
  std::size_t read(std::uint64_t address, void* target, std::size_t size_bytes) const;

  std::shared_ptr<const DeviceFiles> files_;
};

}  // namespace isthmus::window::rm
