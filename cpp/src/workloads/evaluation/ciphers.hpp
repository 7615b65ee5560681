// AES-128 of a picture, and hashes of a sliding window.
#pragma once

#include <array>
#include <cstdint>

#include "workloads/evaluation/aes_kernel.hpp"
#include "workloads/evaluation/sto_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct AesSizes {
  std::uint32_t bytes = 263168;
};

/// 263,168 bytes: random ones in place of the original's picture.
class Aes : public Workload {
public:
  using Sizes = AesSizes;
  static constexpr SizeOf<AesSizes> kSizes[] = {{{.name = "bytes",
                                                  .meaning = "bytes to encrypt",
                                                  .least = 4 * kAesThreads,
                                                  .most = 1U << 30U,
                                                  .multiple = 4 * kAesThreads,
                                                  .in_bytes = true},
                                                 &AesSizes::bytes}};
  static constexpr std::uint32_t kKeyBytes = 16;

  Aes(const AesSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;
  KernelCall call(std::uint32_t launch) const override;

  const AesSizes& sizes() const { return sizes_; }
  const AesArguments& arguments() const { return arguments_; }
  const std::array<std::uint8_t, kKeyBytes>& key() const { return key_; }

private:
  void make_tables();
  void expand_key();

  AesSizes sizes_;
  std::array<unsigned char, 256> box_{};
  std::array<unsigned, 256> table_{};
  std::array<std::uint8_t, kKeyBytes> key_{};
  AesArguments arguments_{};
};

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
