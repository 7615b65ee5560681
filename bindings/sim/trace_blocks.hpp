// A trace whose blocks Python reads: from a file, through Arrow, without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "trace/checking.hpp"
#include "trace/recorded.hpp"
#include "trace/trace.hpp"

/// A file that is mapped into memory, and its descriptor. A negative descriptor: no file.
struct MappedFile {
  nanobind::object mapping;
  int descriptor = -1;
};

/// Asks Python for one block after the other and holds the memory of the last. `read_block(i)`
/// returns seven contiguous buffers: the launch and the CTA of every warp, then the arrays of
/// trace::Block. Blocks in a mapped file can be read again from it.
class PythonBlocks : public isthmus::trace::Source {
public:
  /// label       the file's name for error messages
  /// Throws      UsageError for an invalid program.
  PythonBlocks(std::string label, isthmus::trace::Program program, std::uint64_t num_blocks,
               nanobind::callable read_block, const MappedFile& file);
  ~PythonBlocks() override;

  const isthmus::trace::Program& program() const override { return program_; }
  /// Takes the GIL while Python reads. Python exceptions pass through.
  std::optional<isthmus::trace::Block> next() override;
  void rewind() override;

private:
  static constexpr std::size_t kNumBuffers = 7;

  void hold(nanobind::handle buffers);
  void release() noexcept;
  isthmus::trace::Block held_block() const;
  void map(const MappedFile& file);
  isthmus::trace::StoredBlock stored(const isthmus::trace::Block& block) const;
  template <typename Item>
  std::span<const Item> items(std::size_t buffer, const char* name) const;
  [[noreturn]] void fail(const std::string& why) const;

  std::string label_;
  isthmus::trace::Program program_;
  std::uint64_t num_blocks_;
  nanobind::callable read_block_;
  isthmus::trace::BlockOrder order_;
  std::uint64_t next_block_ = 0;
  std::array<Py_buffer, kNumBuffers> buffers_{};
  Py_buffer mapping_{};
  std::shared_ptr<const isthmus::trace::FileStore> store_;  // of the mapped file, if there is one
};
