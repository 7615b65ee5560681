// A trace whose blocks Python reads: from a file, through Arrow, without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "trace/checking.hpp"
#include "trace/trace.hpp"

/// Asks Python for one block after the other and holds the memory of the last. `read_block(i)`
/// gives seven contiguous buffers: the launch and the CTA of every warp, then the arrays of
/// trace::Block.
class PythonBlocks : public isthmus::trace::Source {
public:
  /// label       what errors name: the file
  /// Throws      UsageError for a program that can't be.
  PythonBlocks(std::string label, isthmus::trace::Program program, std::uint64_t num_blocks,
               nanobind::callable read_block);
  ~PythonBlocks() override;

  const isthmus::trace::Program& program() const override { return program_; }
  /// Takes the GIL while Python reads. Whatever Python raises passes through.
  std::optional<isthmus::trace::Block> next() override;
  void rewind() override;

private:
  static constexpr std::size_t kNumBuffers = 7;

  void hold(nanobind::handle buffers);
  void release() noexcept;
  isthmus::trace::Block held_block() const;
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
};
