// Compiled kernels on disk, so that NVRTC runs once per kernel, device architecture and version.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "device/nvrtc.hpp"

namespace isthmus {

/// $XDG_CACHE_HOME/isthmus/kernels, or below $HOME/.cache; empty for a user without a home.
std::filesystem::path default_kernel_cache_folder();

/// A folder of kernel images. A value. Safe for several processes: files appear whole, by rename.
///
/// Images run on the GPU, so none is taken that somebody else may have put there: the folder and
/// the file must be this process's user's and writable by nobody else, and links in their place
/// aren't followed. A file is named by the SHA-256 of its key, and holds that of its key and image:
/// the image of another key, an old format or damage is a miss and never a wrong kernel.
class KernelCache {
public:
  /// folder   made when first written to, for this user alone; empty: nothing is cached
  explicit KernelCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// key   everything the image depends on: source texts, options, compiler version
  std::optional<KernelImage> find(const std::string& key) const;

  /// Replaces what is there under the key. Best effort: a full disk or a folder that can't be used
  /// only means that the next process compiles again.
  void store(const std::string& key, const KernelImage& image) const noexcept;

  /// Why the folder isn't used though it is there, and what to do; empty if nothing keeps it from
  /// being used.
  std::string refusal() const;

private:
  std::filesystem::path folder_;
};

}  // namespace isthmus
