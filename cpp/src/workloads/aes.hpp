// AES-128 of a picture.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "workloads/aes_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// 263,168 bytes: random ones in place of the original's picture.
class Aes : public Workload {
public:
  static constexpr std::uint32_t kNumBytes = 263168;
  static constexpr std::uint32_t kKeyBytes = 16;

  explicit Aes(std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const AesArguments& arguments() const { return arguments_; }
  const std::array<std::uint8_t, kKeyBytes>& key() const { return key_; }

private:
  void make_tables();
  void expand_key();

  std::array<unsigned char, 256> box_{};
  std::array<unsigned, 256> table_{};
  std::array<std::uint8_t, kKeyBytes> key_{};
  AesArguments arguments_{};
};

std::unique_ptr<Workload> make_aes(std::uint64_t seed);

}  // namespace isthmus::workloads
