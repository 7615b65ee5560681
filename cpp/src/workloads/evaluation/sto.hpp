// Hashes of a sliding window.
#pragma once

#include <cstdint>

#include "workloads/evaluation/sto_kernel.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct StoSizes {
  std::uint32_t windows = 49152;
};

/// 192 KiB of random bytes and the 48 after them, with windows of 52 bytes every 4. SHA-1, as the
/// suite's repository builds it; ISPASS'09 says MD5, but its count of instructions fits SHA-1.
class Sto : public Workload {
public:
  static constexpr std::uint32_t kThreadsPerCta = 128;

  using Sizes = StoSizes;
  static constexpr SizeOf<StoSizes> kSizes[] = {{{.name = "windows",
                                                  .meaning = "windows to hash, one every 4 bytes",
                                                  .least = 128,
                                                  .most = 1U << 26U,
                                                  .multiple = kThreadsPerCta},
                                                 &StoSizes::windows}};

  Sto(const StoSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;
  KernelCall call(std::uint32_t launch) const override;

  const StoSizes& sizes() const { return sizes_; }
  const StoArguments& arguments() const { return arguments_; }

private:
  StoSizes sizes_;
  StoArguments arguments_{};
};

}  // namespace isthmus::workloads
