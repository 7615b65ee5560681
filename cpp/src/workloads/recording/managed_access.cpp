#include "workloads/recording/managed_access.hpp"

#include <array>
#include <string>

#include <isthmus/errors.hpp>

#include "page_order.cuh"
#include "trace/block_builder.hpp"

namespace isthmus::workloads {
namespace {

using trace::kLineBytes;

// Where CUDA's managed memory usually begins.
constexpr std::uint64_t kAddress = 0x7f00'0000'0000;
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kStrideBytes = std::uint64_t{2} << 20U;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 36U;
constexpr std::uint32_t kMaxCores = 256;
constexpr std::uint32_t kMaxPages = 4096;
constexpr std::uint32_t kMaxReads = 16;

constexpr std::uint32_t kCtasPerCore = 8;
constexpr std::uint32_t kWarpsPerCta = 8;
constexpr std::uint32_t kWarpLanes = 32;
constexpr std::uint64_t kWarpBytes = kWarpLanes * sizeof(std::uint64_t);
constexpr std::uint64_t kWarpLines = kWarpBytes / kLineBytes;
// Instructions between two loads, counted in the source: the word that is expected, and the loop.
constexpr std::uint32_t kReadCompute = 14;
constexpr std::uint32_t kTurnCompute = 19;  // more: the page of the turn, and whether it ends early
constexpr std::uint32_t kFillCompute = 13;  // the same without the comparison
constexpr std::uint32_t kChaseCompute = 4;

trace::Program program_of(const char* name, std::uint64_t size_bytes, const trace::Launch& launch,
                          std::uint32_t num_launches = 1) {
  trace::Program program;
  program.name = name;
  program.description = "managed memory on the host, as isthmus bench --managed accesses it";
  program.allocations.push_back({"memory", kAddress, size_bytes});
  program.launches.assign(num_launches, launch);
  return program;
}

/// Launches of one kernel that do the same, CTA by CTA.
class SameLaunches : public trace::Source {
public:
  explicit SameLaunches(trace::Program program) : program_(std::move(program)) {}

  const trace::Program& program() const override { return program_; }
  void rewind() override { launch_ = next_cta_ = 0; }
  std::optional<trace::Block> next() override {
    builder_.clear();
    if (next_cta_ == program_.launches.front().num_ctas) {
      next_cta_ = 0;
      ++launch_;
    }
    if (launch_ == program_.launches.size()) return std::nullopt;
    const std::uint32_t first = next_cta_;
    while (next_cta_ < program_.launches.front().num_ctas && !builder_.full()) {
      for (std::uint32_t warp = 0; warp < program_.launches.front().warps_per_cta; ++warp) {
        add_warp(builder_, next_cta_, warp);
      }
      builder_.end_cta();
      ++next_cta_;
    }
    return builder_.block(launch_, first);
  }

private:
  virtual void add_warp(trace::BlockBuilder& builder, std::uint32_t cta,
                        std::uint32_t warp) const = 0;

  trace::Program program_;
  trace::BlockBuilder builder_;
  std::uint32_t launch_ = 0;
  std::uint32_t next_cta_ = 0;
};

class ManagedRead final : public SameLaunches {
public:
  ManagedRead(std::uint64_t size_bytes, std::uint32_t num_cores, PageOrder order,
              std::uint32_t num_reads)
      : SameLaunches(
            program_of("managed-read", size_bytes,
                       {order == PageOrder::forward ? "pattern_verify" : "pattern_verify_pages",
                        kCtasPerCore * num_cores,
                        kWarpsPerCta,
                        kWarpsPerCta * kWarpLanes,
                        0,
                        0,
                        {}},
                       num_reads)),
        size_bytes_(size_bytes),
        order_(order),
        pages_(isthmus_page_order(size_bytes / kPageBytes)),
        num_warps_(std::uint64_t{kCtasPerCore} * num_cores * kWarpsPerCta) {}

private:
  void add_warp(trace::BlockBuilder& builder, std::uint32_t cta,
                std::uint32_t warp) const override {
    const std::uint32_t compute =
        order_ == PageOrder::forward ? kReadCompute : kReadCompute + kTurnCompute;
    std::uint64_t at = (std::uint64_t{cta} * kWarpsPerCta + warp) * kWarpBytes;
    for (; at < size_bytes_; at += num_warps_ * kWarpBytes) {
      std::array<std::uint64_t, kWarpLines> lines{};
      for (std::uint64_t i = 0; i < kWarpLines; ++i) lines[i] = address_of(at) / kLineBytes + i;
      builder.add(trace::OpKind::load, compute, lines);
    }
    builder.end_warp(1);
  }
  /// Of what a read in order would read at `at`.
  std::uint64_t address_of(std::uint64_t at) const {
    if (order_ == PageOrder::forward) return kAddress + at;
    const std::uint64_t page = isthmus_page_of_turn(pages_, at / kPageBytes);
    return kAddress + page * kPageBytes + at % kPageBytes;
  }

  std::uint64_t size_bytes_;
  PageOrder order_;
  IsthmusPageOrder pages_;
  std::uint64_t num_warps_;
};

class ManagedWrite final : public SameLaunches {
public:
  ManagedWrite(std::uint64_t size_bytes, std::uint32_t num_cores)
      : SameLaunches(program_with_read(size_bytes, num_cores)),
        size_bytes_(size_bytes),
        num_warps_(std::uint64_t{kCtasPerCore} * num_cores * kWarpsPerCta) {}

private:
  static trace::Program program_with_read(std::uint64_t size_bytes, std::uint32_t num_cores) {
    trace::Program program = program_of("managed-write", size_bytes,
                                        {"pattern_fill",
                                         kCtasPerCore * num_cores,
                                         kWarpsPerCta,
                                         kWarpsPerCta * kWarpLanes,
                                         0,
                                         0,
                                         {}});
    program.after.push_back({trace::HostStep::Kind::read, kAddress, size_bytes});
    return program;
  }
  void add_warp(trace::BlockBuilder& builder, std::uint32_t cta,
                std::uint32_t warp) const override {
    std::uint64_t at = (std::uint64_t{cta} * kWarpsPerCta + warp) * kWarpBytes;
    for (; at < size_bytes_; at += num_warps_ * kWarpBytes) {
      std::array<std::uint64_t, kWarpLines> lines{};
      for (std::uint64_t i = 0; i < kWarpLines; ++i) lines[i] = (kAddress + at) / kLineBytes + i;
      builder.add(trace::OpKind::store, kFillCompute, lines);
    }
    builder.end_warp(1);
  }

  std::uint64_t size_bytes_;
  std::uint64_t num_warps_;
};

class PageChase final : public SameLaunches {
public:
  PageChase(std::uint32_t num_pages, Chaser chaser)
      : SameLaunches(program_with_reads(num_pages, chaser)), num_pages_(num_pages) {}

private:
  static trace::Program program_with_reads(std::uint32_t num_pages, Chaser chaser) {
    trace::Program program =
        program_of("page-chase", num_pages * kStrideBytes, {"pointer_chase", 1, 1, 1, 0, 0, {}});
    if (chaser == Chaser::gpu) return program;
    for (std::uint32_t page = 0; page < num_pages; ++page) {
      const std::uint64_t word = kAddress + page * kStrideBytes;
      program.after.push_back({trace::HostStep::Kind::read, word, sizeof(std::uint64_t)});
    }
    return program;
  }
  void add_warp(trace::BlockBuilder& builder, std::uint32_t /*cta*/,
                std::uint32_t /*warp*/) const override {
    for (std::uint32_t page = 0; page < num_pages_; ++page) {
      const std::array<std::uint64_t, 1> line{(kAddress + page * kStrideBytes) / kLineBytes};
      builder.add(trace::OpKind::load, kChaseCompute, line);
    }
    builder.end_warp(1);
  }

  std::uint32_t num_pages_;
};

void check(const std::string& what, std::uint64_t size_bytes, std::uint32_t num_cores) {
  if (size_bytes == 0 || size_bytes > kMaxBytes || size_bytes % kPageBytes != 0)
    throw UsageError(what + " of " + std::to_string(size_bytes) +
                     " bytes of managed memory: needs a multiple of 4096, up to 64 GiB");
  if (num_cores == 0 || num_cores > kMaxCores)
    throw UsageError(what + " by " + std::to_string(num_cores) + " cores: needs 1 to 256");
}

}  // namespace

std::unique_ptr<trace::Source> make_managed_read(std::uint64_t size_bytes, std::uint32_t num_cores,
                                                 PageOrder order, std::uint32_t num_reads) {
  check("a read", size_bytes, num_cores);
  if (num_reads == 0 || num_reads > kMaxReads)
    throw UsageError(std::to_string(num_reads) + " reads: needs 1 to 16");
  return std::make_unique<ManagedRead>(size_bytes, num_cores, order, num_reads);
}

std::unique_ptr<trace::Source> make_managed_write(std::uint64_t size_bytes,
                                                  std::uint32_t num_cores) {
  check("a write", size_bytes, num_cores);
  return std::make_unique<ManagedWrite>(size_bytes, num_cores);
}

std::unique_ptr<trace::Source> make_page_chase(std::uint32_t num_pages, Chaser chaser) {
  if (num_pages == 0 || num_pages > kMaxPages)
    throw UsageError("a chase through " + std::to_string(num_pages) + " pages: needs 1 to 4096");
  return std::make_unique<PageChase>(num_pages, chaser);
}

}  // namespace isthmus::workloads
