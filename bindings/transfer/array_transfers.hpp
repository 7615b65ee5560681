// What Python's Transfers are made of, for the files that bind its copies.
#pragma once

#include <nanobind/nanobind.h>

#include <isthmus/transfer.hpp>

#include <cstdint>
#include <memory>
#include <utility>

#include "bindings/arrays/reader.hpp"
#include "bindings/gil.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/words.hpp"

using SharedWindows = Unlocked<isthmus::Windows>;

/// Transfers, and the reader for arrays from Python.
struct ArrayTransfers {
  /// reader      an ArrayReader
  ArrayTransfers(const SharedWindows& windows, nanobind::object reader)
      : transfers(std::make_unique<isthmus::Transfers>(*windows)),
        reader_object(std::move(reader)),
        reader(nanobind::cast<ArrayReader&>(reader_object)) {}
  ArrayTransfers(const ArrayTransfers&) = delete;
  ArrayTransfers& operator=(const ArrayTransfers&) = delete;
  ~ArrayTransfers() {
    // When the interpreter ends, a copy may still wait for a stream that nobody will continue: it
    // ends with the process.
    if (interpreter_is_ending()) {
      [[maybe_unused]] const isthmus::Transfers* const kept = transfers.release();
      return;
    }
    const GilReleased released;  // destroying it may end threads and unpin memory
    transfers.reset();
  }

  isthmus::Transfers* operator->() const noexcept { return transfers.get(); }

  std::unique_ptr<isthmus::Transfers> transfers;
  nanobind::object reader_object;
  ArrayReader& reader;
};

inline constexpr isthmus::MemoryKind kMemoryKinds[] = {
    isthmus::MemoryKind::unknown, isthmus::MemoryKind::pageable, isthmus::MemoryKind::pinned,
    isthmus::MemoryKind::device,  isthmus::MemoryKind::managed,  isthmus::MemoryKind::host};
inline constexpr Word<isthmus::SourceOrder> kSourceOrders[] = {
    {"call", isthmus::SourceOrder::call}, {"stream", isthmus::SourceOrder::stream}};

inline void* address(std::uintptr_t pointer) { return reinterpret_cast<void*>(pointer); }

void bind_address_copies(nanobind::class_<ArrayTransfers>& transfers);
