// SHA-256. Written here because no implementation is always available: libcrypto is no dependency
// and missing on slim systems, Linux's AF_ALG is forbidden in most containers, and no package has a
// small one for C++. The tests check it with NIST's vectors.
// Compiled kernels on disk, so that NVRTC runs once per kernel, device architecture and version.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "device/nvrtc.hpp"

namespace isthmus {

/// Hashes bytes that are added in pieces.
/// Source   FIPS 180-4, sections 5 and 6.2.
class Sha256 {
public:
  void add(const void* data, std::size_t size_bytes);

  /// The hash of all added bytes, as 64 hexadecimal digits. The object can't be used afterwards.
  std::string hex();

private:
  void add_block(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};
  std::uint64_t num_bytes_ = 0;
};

/// $XDG_CACHE_HOME/isthmus/kernels, or below $HOME/.cache; empty for a user without a home.
std::filesystem::path default_kernel_cache_folder();

/// A folder of kernel images. It has value semantics. Safe for several processes: files appear
/// complete, by rename.
///
/// Images run on the GPU, so an image that somebody else may have put there is never used: the
/// folder and the file must belong to this process's user and be writable by nobody else, and links
/// aren't followed. A file is named by the SHA-256 of its key, and contains the SHA-256 of its key
/// and image: the image of another key, an old format or a damaged file is a miss and never a wrong
/// kernel.
class KernelCache {
public:
  /// folder   created at the first write, for this user alone; empty: nothing is cached
  explicit KernelCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// key   everything the image depends on: source texts, options, compiler version
  std::optional<KernelImage> find(const std::string& key) const;

  /// Replaces the image of a key. Best effort: if the disk is full or the folder can't be used, the
  /// next process compiles again.
  void store(const std::string& key, const KernelImage& image) const noexcept;

  /// Why an existing folder isn't used, and what to do; empty if it can be used.
  std::string refusal() const;

private:
  std::filesystem::path folder_;
};

}  // namespace isthmus
