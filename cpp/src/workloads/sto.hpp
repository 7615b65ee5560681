// Hashes of a sliding window.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/sto_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// 192 KiB of random bytes and the 48 after them, with windows of 52 bytes every 4. SHA-1, as the
/// suite's repository builds it; ISPASS'09 says MD5, but its count of instructions fits SHA-1.
class Sto : public Workload {
public:
  static constexpr std::uint32_t kNumWindows = 49152;

  explicit Sto(std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const StoArguments& arguments() const { return arguments_; }

private:
  StoArguments arguments_{};
};

std::unique_ptr<Workload> make_sto(std::uint64_t seed);

}  // namespace isthmus::workloads
