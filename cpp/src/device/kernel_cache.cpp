#include "device/kernel_cache.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <unistd.h>

namespace isthmus {
namespace {

constexpr std::string_view kMagic = "isthmus-kernel-cache 1\n";

/// FNV-1a, 64 bit. Only a name and a damage check: the key itself is compared in full.
/// Source   draft-eastlake-fnv, constants of the 64-bit variant.
template <typename Bytes>
std::uint64_t fnv1a(const Bytes& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  return hash;
}

std::string hex(std::uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value));
  return text.data();
}

std::string header_of(const std::string& key, std::uint64_t image_hash) {
  return std::string(kMagic) + hex(image_hash) + "\n" + std::to_string(key.size()) + "\n" + key;
}

// C's streams, for the reason in host/text_file.cpp.
struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string content_of(std::FILE* file) {
  std::string content;
  std::array<char, 4096> part{};
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), file))
    content.append(part.data(), read);
  return content;
}

}  // namespace

std::filesystem::path KernelCache::file_of(const std::string& key) const {
  return folder_ / (hex(fnv1a(key)) + ".kernel");
}

std::optional<KernelImage> KernelCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const File file(std::fopen(file_of(key).c_str(), "rb"));
  if (file == nullptr) return std::nullopt;
  const std::string content = content_of(file.get());
  const std::size_t header_bytes = header_of(key, 0).size();
  if (content.size() <= header_bytes) return std::nullopt;
  KernelImage image(content.begin() + static_cast<std::ptrdiff_t>(header_bytes), content.end());
  if (!content.starts_with(header_of(key, fnv1a(image)))) return std::nullopt;
  return image;
}

void KernelCache::store(const std::string& key, const KernelImage& image) const noexcept {
  if (folder_.empty()) return;
  try {
    std::filesystem::create_directories(folder_);
    std::string temporary = (folder_ / "new-XXXXXX").string();
    const int descriptor = mkstemp(temporary.data());
    if (descriptor < 0) return;
    const std::string header = header_of(key, fnv1a(image));
    File file(fdopen(descriptor, "wb"));
    bool whole = std::fwrite(header.data(), 1, header.size(), file.get()) == header.size() &&
                 std::fwrite(image.data(), 1, image.size(), file.get()) == image.size();
    whole = std::fclose(file.release()) == 0 && whole;
    std::error_code refused;
    if (whole) std::filesystem::rename(temporary, file_of(key), refused);
    if (!whole || refused) std::filesystem::remove(temporary, refused);
  } catch (...) {  // NOLINT(bugprone-empty-catch): see the header: not caching is not an error
  }
}

}  // namespace isthmus
