#include "device/kernel_cache.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/sha256.hpp"
#include "driver/environment.hpp"

namespace isthmus {
namespace {

constexpr std::string_view kMagic = "isthmus-kernel-cache 2\n";
constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kHeaderBytes = kMagic.size() + kHashDigits + 1;
/// Some thousand times as large as the largest kernel.
constexpr off_t kMaxBytes = off_t{64} * 1024 * 1024;
constexpr mode_t kOthersMayWrite = 0022;
constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

class Descriptor {
public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;

  explicit operator bool() const noexcept { return number_ >= 0; }
  int number() const noexcept { return number_; }
  /// False if the written bytes may be lost.
  bool close() noexcept { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

private:
  int number_;
};

/// Why a folder or a file can't be trusted; empty if it can.
std::string why_not_ours(const struct stat& found) {
  if (found.st_uid != geteuid())
    return "it belongs to user " + std::to_string(found.st_uid) + ", not to " +
           std::to_string(geteuid());
  if ((found.st_mode & kOthersMayWrite) != 0) return "others may write to it";
  return {};
}

/// An open folder, or the reason why it isn't used. Neither if it doesn't exist.
struct OpenedFolder {
  Descriptor folder{-1};
  std::string refusal;
};

OpenedFolder open_folder(const std::filesystem::path& path) {
  // Checks the opened folder, not its name: the name could be changed in between.
  Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) {
    if (errno == ENOENT) return {};
    if (errno == ENOTDIR || errno == ELOOP) return {Descriptor(-1), "it is a link or no folder"};
    return {Descriptor(-1), "it can't be opened"};
  }
  struct stat found{};
  if (fstat(folder.number(), &found) != 0) return {Descriptor(-1), "it can't be looked at"};
  std::string refusal = why_not_ours(found);
  if (!refusal.empty()) return {Descriptor(-1), std::move(refusal)};
  return {std::move(folder), {}};
}

std::string hash_of_key(const std::string& key) {
  Sha256 hash;
  hash.add(key.data(), key.size());
  return hash.hex();
}

std::string file_name(const std::string& key) { return hash_of_key(key) + ".kernel"; }

std::string header_of(const std::string& key, std::string_view image) {
  Sha256 hash;
  // The key's own hash has a fixed length, so no other key and image give the same bytes.
  const std::string first = hash_of_key(key);
  hash.add(first.data(), first.size());
  hash.add(image.data(), image.size());
  return std::string(kMagic) + hash.hex() + "\n";
}

std::optional<std::string> content_of(int file) {
  std::string content;
  std::array<char, 65536> part{};
  for (;;) {
    const ssize_t count = read(file, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return content;
    content.append(part.data(), static_cast<std::size_t>(count));
  }
}

bool write_all(int file, std::string_view data) {
  while (!data.empty()) {
    const ssize_t count = write(file, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string temporary_name() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return {};
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "new-%016llx", static_cast<unsigned long long>(number));
  return text.data();
}

/// Not synced: an incomplete file after a crash counts as a miss.
void write_file(int folder, const std::string& name, std::string_view header,
                std::string_view image) {
  const std::string temporary = temporary_name();
  if (temporary.empty()) return;
  Descriptor file(openat(folder, temporary.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!file) return;
  bool whole = write_all(file.number(), header) && write_all(file.number(), image);
  whole = file.close() && whole;
  if (!whole || renameat(folder, temporary.c_str(), folder, name.c_str()) != 0)
    unlinkat(folder, temporary.c_str(), 0);
}

}  // namespace

std::filesystem::path default_kernel_cache_folder() {
  const auto folder = user_folder("XDG_CACHE_HOME", ".cache");
  return folder.empty() ? folder : folder / "isthmus" / "kernels";
}

std::optional<KernelImage> KernelCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const OpenedFolder opened = open_folder(folder_);
  if (!opened.folder) return std::nullopt;
  // Opening a pipe without O_NONBLOCK would wait for a writer.
  const Descriptor file(openat(opened.folder.number(), file_name(key).c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat found{};
  if (!file || fstat(file.number(), &found) != 0 || !S_ISREG(found.st_mode) ||
      found.st_size > kMaxBytes || !why_not_ours(found).empty())
    return std::nullopt;
  const auto content = content_of(file.number());
  if (!content || content->size() <= kHeaderBytes) return std::nullopt;
  const std::string_view image = std::string_view(*content).substr(kHeaderBytes);
  if (!content->starts_with(header_of(key, image))) return std::nullopt;
  return KernelImage(image.begin(), image.end());
}

void KernelCache::store(const std::string& key, const KernelImage& image) const noexcept {
  if (folder_.empty()) return;
  try {
    std::filesystem::create_directories(folder_.parent_path());
    // Whether it existed before, and who owns it, is checked when it is opened.
    mkdir(folder_.c_str(), kFolderMode);
    const OpenedFolder opened = open_folder(folder_);
    if (!opened.folder) return;
    const std::string_view bytes(image.data(), image.size());
    write_file(opened.folder.number(), file_name(key), header_of(key, bytes), bytes);
  } catch (...) {  // NOLINT(bugprone-empty-catch): see the header: not caching is not an error
  }
}

std::string KernelCache::refusal() const {
  if (folder_.empty()) return {};
  const OpenedFolder opened = open_folder(folder_);
  if (opened.refusal.empty()) return {};
  return "compiled kernels are not kept in " + folder_.string() + ": " + opened.refusal +
         "; remove it, and it is made anew";
}

}  // namespace isthmus
