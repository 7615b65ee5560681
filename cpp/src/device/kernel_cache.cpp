#include "device/kernel_cache.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "driver/environment.hpp"

namespace isthmus {
namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kLengthBytes = 8;

// The fractional parts of the cube roots of the first 64 primes.
// Source   FIPS 180-4, section 4.2.2.
constexpr std::array<std::uint32_t, 64> kRoundConstants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U |
         std::uint32_t{bytes[2]} << 8U | std::uint32_t{bytes[3]};
}

std::array<std::uint32_t, 64> schedule_of(const std::uint8_t* block) {
  std::array<std::uint32_t, 64> words{};
  for (std::size_t i = 0; i < 16; ++i) words[i] = big_endian(block + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t late = words[i - 2];
    const std::uint32_t early = words[i - 15];
    words[i] = words[i - 16] + (std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3U) +
               words[i - 7] + (std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10U);
  }
  return words;
}

}  // namespace

void Sha256::add(const void* data, std::size_t size_bytes) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  while (size_bytes > 0) {
    const std::size_t held = num_bytes_ % kBlockBytes;
    const std::size_t taken = std::min(size_bytes, kBlockBytes - held);
    std::memcpy(pending_.data() + held, bytes, taken);
    num_bytes_ += taken;
    bytes += taken;
    size_bytes -= taken;
    if (held + taken == kBlockBytes) add_block(pending_.data());
  }
}

std::string Sha256::hex() {
  const std::uint64_t num_bits = num_bytes_ * 8;
  const std::uint8_t one = 0x80;
  const std::uint8_t zero = 0;
  add(&one, 1);
  while (num_bytes_ % kBlockBytes != kBlockBytes - kLengthBytes) add(&zero, 1);
  for (unsigned shift = 64; shift > 0; shift -= 8) {
    const auto byte = static_cast<std::uint8_t>(num_bits >> (shift - 8));
    add(&byte, 1);
  }
  std::string text;
  for (const std::uint32_t word : state_) {
    std::array<char, 9> digits{};
    std::snprintf(digits.data(), digits.size(), "%08x", word);
    text += digits.data();
  }
  return text;
}

void Sha256::add_block(const std::uint8_t* block) {
  const auto words = schedule_of(block);
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t sum_e = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t sum_a = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t first = h + sum_e + choice + kRoundConstants[i] + words[i];
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + sum_a + majority;
  }
  const std::array<std::uint32_t, 8> changed{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i] += changed[i];
}

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
