// The bytes of a trace's file, read by offset.
// A trace in memory, for any number of readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

/// A block with memory of its own.
class BlockCopy {
public:
  explicit BlockCopy(const Block& block);
  /// Valid as long as the copy.
  Block block() const;
  std::uint64_t size_bytes() const noexcept;

private:
  Block shape_;  // without its arrays
  std::vector<std::uint32_t> op_begin_;
  std::vector<std::uint8_t> kinds_;
  std::vector<std::uint32_t> compute_;
  std::vector<std::uint32_t> line_begin_;
  std::vector<std::uint64_t> lines_;
};

/// A program with all its operations: about 8 bytes for each line and 9 for each operation.
class Recording {
public:
  explicit Recording(Program program);

  /// Adds a copy of a block.
  void add(const Block& block);

  const Program& program() const { return program_; }
  /// Of its operations and lines.
  std::uint64_t size_bytes() const noexcept;
  std::size_t num_blocks() const { return blocks_.size(); }
  /// Equal for recordings that ask for the same: of all that a simulation reads, which excludes
  /// names and descriptions. Different recordings have the same one by chance alone (2^-64).
  std::uint64_t digest() const noexcept { return digest_; }
  /// Valid as long as the recording.
  Block block(std::size_t index) const { return blocks_[index].block(); }

private:
  Program program_;
  std::vector<BlockCopy> blocks_;
  std::uint64_t digest_ = 0;
};

/// Reads all of a source into memory, from its first block.
std::shared_ptr<const Recording> record(Source& source);

/// Reads a recording; several may read it at the same time.
class Replay : public Source {
public:
  explicit Replay(std::shared_ptr<const Recording> recording) : recording_(std::move(recording)) {}

  const Program& program() const override { return recording_->program(); }
  std::optional<Block> next() override;
  void rewind() override { next_block_ = 0; }

private:
  std::shared_ptr<const Recording> recording_;
  std::size_t next_block_ = 0;
};

}  // namespace isthmus::trace
