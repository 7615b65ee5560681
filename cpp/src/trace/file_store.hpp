// The bytes of a trace's file, read by offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "trace/trace.hpp"

namespace isthmus::trace {

/// Reads from an open file. What is read this way is no memory of the process, as a mapped file's
/// pages are.
class FileStore : public BlockStore {
public:
  /// label       what errors name: the file
  /// descriptor  of a file open for reading; it is duplicated, and may be closed
  /// Throws      UsageError if it is none.
  FileStore(std::string label, int descriptor);
  ~FileStore() override;

  void read(std::uint64_t offset_bytes, std::span<std::byte> bytes) const override;

private:
  std::string label_;
  int descriptor_;
};

}  // namespace isthmus::trace
