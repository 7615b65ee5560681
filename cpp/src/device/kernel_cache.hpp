// Compiled kernels on disk, so that NVRTC runs once per kernel, device architecture and version.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "device/nvrtc.hpp"

namespace isthmus {

/// A folder of kernel images. A value. Safe for several processes: files appear whole, by rename.
///
/// A file holds its whole key and a checksum beside the image, so a name collision, an old format
/// or damage is a miss and never a wrong kernel.
class KernelCache {
public:
  /// folder   made when first written to; empty: nothing is cached
  explicit KernelCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// key   everything the image depends on: source texts, options, compiler version
  std::optional<KernelImage> find(const std::string& key) const;

  /// Best effort: a full disk or an unwritable folder only means that the next process compiles
  /// again.
  void store(const std::string& key, const KernelImage& image) const noexcept;

private:
  std::filesystem::path file_of(const std::string& key) const;

  std::filesystem::path folder_;
};

}  // namespace isthmus
