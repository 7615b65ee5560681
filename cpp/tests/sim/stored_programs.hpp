// A recording whose blocks can be read again, like those of a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "trace/recorded.hpp"

namespace isthmus::sim::small {

/// Memory, by its addresses.
class MemoryStore : public trace::BlockStore {
public:
  void read(std::uint64_t offset_bytes, std::span<std::byte> bytes) const override {
    ++num_reads_;
    std::memcpy(bytes.data(), reinterpret_cast<const void*>(offset_bytes), bytes.size());
  }
  std::uint64_t num_reads() const { return num_reads_; }

private:
  mutable std::uint64_t num_reads_ = 0;
};

/// Replays a recording from a store.
class StoredReplay : public trace::Source {
public:
  explicit StoredReplay(std::shared_ptr<const trace::Recording> recording)
      : replay_(std::move(recording)) {}

  const trace::Program& program() const override { return replay_.program(); }
  void rewind() override { replay_.rewind(); }
  std::optional<trace::Block> next() override {
    auto block = replay_.next();
    if (!block) return block;
    const auto offset = [](auto array) { return reinterpret_cast<std::uint64_t>(array.data()); };
    block->stored = {store_, offset(block->kinds), offset(block->compute),
                     offset(block->line_begin), offset(block->lines)};
    return block;
  }
  std::uint64_t num_reads() const { return store_->num_reads(); }

private:
  trace::Replay replay_;
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

}  // namespace isthmus::sim::small
