// The bytes of a trace's file, read by offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "trace/trace.hpp"

namespace isthmus::trace {

/// Reads from an open file. Unlike a mapped file's pages, the bytes don't count as the process's
/// memory.
class FileStore : public BlockStore {
public:
  /// label       the file's name in error messages
  /// descriptor  of a file open for reading; it is duplicated, and may be closed
  /// Throws      UsageError if it isn't one.
  FileStore(std::string label, int descriptor);
  ~FileStore() override;

  void read(std::uint64_t offset_bytes, std::span<std::byte> bytes) const override;

private:
  std::string label_;
  int descriptor_;
};

}  // namespace isthmus::trace
