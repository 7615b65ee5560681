#include "measure/bandwidth/block_copies.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "device/link_copies.hpp"
#include "device/stream.hpp"
#include "transfer/movers/block_mover.hpp"

namespace isthmus::measure {
namespace {

constexpr std::size_t kWarmUpRounds = 3;
constexpr std::size_t kSpareFactor = 2;  // blocks in a pool for each that is copied
constexpr int kPoison = 0x3C;

std::vector<std::int32_t> random_places(std::size_t count, std::size_t wanted, unsigned seed) {
  std::vector<std::int32_t> places(count);
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), std::mt19937(seed));
  places.resize(wanted);
  return places;
}

/// Both pools, and which block goes where.
class ScatteredBlocks {
public:
  ScatteredBlocks(const Context& context, const BlockCopiesOptions& options)
      : context_(context),
        up_(options.direction == Direction::host_to_device),
        block_bytes_(options.block_bytes),
        count_(options.num_blocks * kSpareFactor),
        host_(context, count_ * block_bytes_),
        device_(context, count_ * block_bytes_),
        targets_(random_places(count_, options.num_blocks, 1)),
        sources_(random_places(count_, options.num_blocks, 2)),
        indices_(context, 2 * options.num_blocks * sizeof targets_[0]) {
    fill();
    send(indices_.pointer(), targets_.data(), index_bytes());
    send(indices_.pointer() + index_bytes(), sources_.data(), index_bytes());
  }

  IsthmusBlocks for_kernel() const {
    IsthmusBlocks blocks;
    blocks.num_layers = 1;
    blocks.targets[0] = target();
    blocks.sources[0] = source();
    blocks.target_stride = blocks.source_stride = blocks.block_bytes = block_bytes_;
    blocks.target_count = blocks.source_count = count_;
    blocks.num_blocks = targets_.size();
    blocks.target_index = indices_.pointer();
    blocks.source_index = indices_.pointer() + index_bytes();
    blocks.target_index_bytes = blocks.source_index_bytes = sizeof targets_[0];
    return blocks;
  }
  std::vector<LinkCopy> link_copies() const {
    std::vector<LinkCopy> copies;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const std::size_t host = static_cast<std::size_t>(up_ ? sources_[i] : targets_[i]);
      const std::size_t there = static_cast<std::size_t>(up_ ? targets_[i] : sources_[i]);
      copies.push_back({host_.data() + host * block_bytes_,
                        device_.pointer() + there * block_bytes_, block_bytes_, up_});
    }
    return copies;
  }

  void poison() {
    if (!up_) std::memset(host_.data(), kPoison, host_.size_bytes());
    const Driver& driver = context_.driver();
    if (up_) driver.call(symbol::memset_d8_async)(target(), kPoison, host_.size_bytes(), nullptr);
    driver.call(symbol::stream_synchronize)(nullptr);
  }
  void verify() const {
    std::vector<std::byte> fetched(up_ ? host_.size_bytes() : 0);
    const std::byte* const arrived = up_ ? fetched.data() : host_.data();
    if (up_) context_.driver().call(symbol::memcpy_dtoh)(fetched.data(), target(), fetched.size());
    std::vector<std::uint64_t> expected(block_bytes_ / sizeof(std::uint64_t));
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      fill_block(expected.data(), static_cast<std::size_t>(sources_[i]));
      const std::byte* const found = arrived + static_cast<std::size_t>(targets_[i]) * block_bytes_;
      if (std::memcmp(found, expected.data(), block_bytes_) != 0)
        throw CorruptTransfer("block " + std::to_string(i) + " of a copy of blocks is wrong");
    }
  }

private:
  CUdeviceptr target() const { return up_ ? device_.pointer() : host_address(); }
  CUdeviceptr source() const { return up_ ? host_address() : device_.pointer(); }
  CUdeviceptr host_address() const { return reinterpret_cast<CUdeviceptr>(host_.data()); }
  std::size_t index_bytes() const { return targets_.size() * sizeof targets_[0]; }
  void send(CUdeviceptr to, const void* bytes, std::size_t size_bytes) const {
    context_.driver().call(symbol::memcpy_htod)(to, bytes, size_bytes);
    context_.driver().call(symbol::stream_synchronize)(nullptr);
  }
  void fill_block(std::uint64_t* words, std::size_t block) const {
    for (std::size_t i = 0; i < block_bytes_ / sizeof *words; ++i)
      words[i] = block * 0x9E3779B97F4A7C15 + i;
  }
  void fill() const {
    for (std::size_t block = 0; block < count_; ++block)
      fill_block(reinterpret_cast<std::uint64_t*>(host_.data() + block * block_bytes_), block);
    if (!up_) send(device_.pointer(), host_.data(), host_.size_bytes());
  }

  Context context_;
  bool up_;
  std::size_t block_bytes_;
  std::size_t count_;
  PinnedBuffer host_;
  DeviceBuffer device_;
  std::vector<std::int32_t> targets_;
  std::vector<std::int32_t> sources_;
  DeviceBuffer indices_;
};

using Enqueue = std::function<void(CUstream)>;

Enqueue by_batch(const Context& context, const ScatteredBlocks& blocks,
                 CUmemcpySrcAccessOrder order) {
  return [batch = std::make_shared<CopyBatch>(context, blocks.link_copies()),
          order](CUstream stream) { batch->enqueue(stream, order); };
}

Enqueue by_kernel(transfer::BlockMover& mover, const ScatteredBlocks& blocks,
                  const transfer::BlockLaunch& how, const Kernels* kernels) {
  const std::string why =
      kernels != nullptr ? mover.obstacle(*kernels) : "there is no NVRTC to compile it";
  const IsthmusBlocks told = blocks.for_kernel();
  if (!why.empty()) throw Unavailable("a kernel that copies blocks", why, "another way");
  return [&mover, told, how](CUstream stream) { mover.move(told, how, stream); };
}

void check(const BlockCopiesOptions& options) {
  if (options.block_bytes == 0 || options.block_bytes % 16 != 0 || options.num_blocks == 0 ||
      options.num_multiprocessors < 1)
    throw UsageError("copies of blocks need 1 block at least, of 16, 32, ... bytes");
}

}  // namespace

Measurement measure_block_copies(const Context& context, const Kernels* kernels,
                                 const BlockCopiesOptions& options) {
  check(options);
  const CurrentContext current(context);
  ScatteredBlocks blocks(context, options);
  transfer::BlockMover mover(context);
  const bool by_driver =
      options.way == BlockCopiesWay::batch || options.way == BlockCopiesWay::batch_in_order;
  const auto order = options.way == BlockCopiesWay::batch ? CU_MEMCPY_SRC_ACCESS_ORDER_ANY
                                                          : CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  const Enqueue enqueue = by_driver
                              ? by_batch(context, blocks, order)
                              : by_kernel(mover, blocks, {options.num_multiprocessors}, kernels);
  const Stream stream(context);
  double asked_seconds = 0;
  const auto one = [&] {
    const auto start = Clock::now();
    enqueue(stream.handle());
    asked_seconds = seconds_since(start);
    stream.synchronize();
    return seconds_since(start);
  };
  Measurement measurement;
  measurement.first_call_seconds = one();
  for (std::size_t i = 0; i < kWarmUpRounds; ++i) one();
  blocks.poison();
  std::vector<double> asked;
  Samples completion = sample(options.stopping, "completion", 1, [&] {
    const double seconds = one();
    asked.push_back(asked_seconds);
    return seconds;
  });
  measurement.verified_on = VerifiedOn::nobody;
  if (options.stopping.verify) {
    blocks.verify();
    measurement.verified_on = VerifiedOn::host;
  }
  measurement.samples.push_back({"api_return", std::move(asked), 1, completion.stopped_by});
  measurement.samples.push_back(std::move(completion));
  return measurement;
}

}  // namespace isthmus::measure
