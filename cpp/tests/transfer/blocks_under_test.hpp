// Pools of blocks on both sides of the link, for tests of copies by index.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {

/// Pools on both sides, with bytes between their blocks, and indices that hit each block once.
class BlocksUnderTest : public TransfersUnderTest {
protected:
  static constexpr std::size_t kCount = 50;  ///< blocks in a pool

  struct Shape {
    std::size_t block_bytes = 4096;
    std::size_t gap_bytes = 0;
    std::size_t num_layers = 1;
    std::size_t num_blocks = 20;
    std::size_t stride() const { return block_bytes + gap_bytes; }
    std::size_t layer_bytes() const { return stride() * kCount; }
    std::size_t bytes() const { return layer_bytes() * num_layers; }
  };

  void make(const Shape& shape, unsigned seed = 1) {
    shape_ = shape;
    host_ = pinned_memory(shape.bytes());
    device_ = device_memory(shape.bytes());
    std::mt19937 random(seed);
    const auto shuffled = [&] {
      std::vector<std::int64_t> all(kCount);
      for (std::size_t i = 0; i < kCount; ++i) all[i] = static_cast<std::int64_t>(i);
      std::ranges::shuffle(all, random);
      all.resize(shape.num_blocks);
      return all;
    };
    targets_ = shuffled();
    sources_ = shuffled();
    host_pools_ = pools(host_);
    device_pools_ = pools(to_pointer(device_));
  }
  std::vector<BlockPool> pools(void* memory) const {
    std::vector<BlockPool> made;
    for (std::size_t layer = 0; layer < shape_.num_layers; ++layer)
      made.push_back({static_cast<std::byte*>(memory) + layer * shape_.layer_bytes(), kCount,
                      shape_.stride()});
    return made;
  }
  BlockCopy up() {
    return {device_pools_,   host_pools_,     shape_.block_bytes,
            targets_.data(), sources_.data(), targets_.size()};
  }
  BlockCopy down() {
    BlockCopy copy = up();
    std::swap(copy.targets, copy.sources);
    return copy;
  }
  /// What the target holds after the copy.
  Bytes expected(const Bytes& source, Bytes target) const {
    for (std::size_t layer = 0; layer < shape_.num_layers; ++layer)
      for (std::size_t i = 0; i < targets_.size(); ++i) {
        const auto at = [&](std::int64_t block) {
          return static_cast<std::ptrdiff_t>(layer * shape_.layer_bytes() +
                                             static_cast<std::size_t>(block) * shape_.stride());
        };
        std::copy_n(source.begin() + at(sources_[i]), shape_.block_bytes,
                    target.begin() + at(targets_[i]));
      }
    return target;
  }
  void expect_up_and_down(const BlockOptions& options = {}) {
    const Bytes sent = pattern(shape_.bytes(), 3);
    std::ranges::copy(sent, host_);
    fill(device_, shape_.bytes(), kGuard);
    transfers().copy_blocks(up(), options).wait();
    const Bytes there = expected(sent, Bytes(shape_.bytes(), kGuard));
    EXPECT_EQ(on_device(device_, shape_.bytes()), there);
    std::fill_n(host_, shape_.bytes(), kGuard);
    transfers().copy_blocks(down(), options).wait();
    EXPECT_EQ(Bytes(host_, host_ + shape_.bytes()), expected(there, Bytes(there.size(), kGuard)));
  }
  std::string refusal(const BlockCopy& copy, const BlockOptions& options = {}) {
    return message_of<UsageError>([&] { transfers().copy_blocks(copy, options); });
  }
  CUdeviceptr send_index(const std::vector<std::int64_t>& index) {
    const CUdeviceptr there = device_memory(index.size() * sizeof index[0]);
    driver().call(symbol::memcpy_htod)(there, index.data(), index.size() * sizeof index[0]);
    driver().call(symbol::ctx_synchronize)();
    return there;
  }
  /// The same copy with indices on the device.
  BlockCopy with_device_indices(BlockCopy copy) {
    copy.target_index.data = to_pointer(send_index(targets_));
    copy.source_index.data = to_pointer(send_index(sources_));
    return copy;
  }
  BlockOptions by_way(std::string_view way) {
    BlockOptions options;
    options.stream = reinterpret_cast<std::uintptr_t>(stream());
    options.way = way;
    return options;
  }

  Shape shape_;
  std::uint8_t* host_ = nullptr;
  CUdeviceptr device_ = 0;
  std::vector<std::int64_t> targets_;
  std::vector<std::int64_t> sources_;

private:
  std::vector<BlockPool> host_pools_;
  std::vector<BlockPool> device_pools_;
};

}  // namespace isthmus::transfer
