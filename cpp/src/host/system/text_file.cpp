#include "host/system/text_file.hpp"

#include <dirent.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string_view>

namespace isthmus::host {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";
constexpr std::uint64_t kBytesPerKib = 1024;

std::optional<std::uint64_t> leading_number(std::string_view text) {
  const auto start = text.find_first_not_of(kWhiteSpace);
  if (start == std::string_view::npos) return std::nullopt;
  text.remove_prefix(start);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

}  // namespace

std::string_view trimmed(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// C streams, because a Python module may meet another copy of the C++ library in its process; then
// C++ streams look for their locale's facets in the wrong one (observed: a crash in codecvt).
std::optional<std::string> read_text(const std::filesystem::path& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"),
                                                               &std::fclose);
  if (stream == nullptr) return std::nullopt;
  std::string all;
  std::array<char, 4096> part;
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), stream.get()))
    all.append(part.data(), read);
  // A folder can be opened, but not read.
  if (std::ferror(stream.get()) != 0) return std::nullopt;
  all.erase(all.find_last_not_of(kWhiteSpace) + 1);
  return all;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  text = trimmed(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> read_integer(const std::filesystem::path& file) {
  const auto text = read_text(file);
  return text ? parse_integer(*text) : std::nullopt;
}

std::optional<std::uint64_t> meminfo_bytes(std::string_view text, std::string_view name) {
  const std::string wanted = std::string(name) + ":";
  for (std::size_t at = text.find(wanted); at != std::string_view::npos;
       at = text.find(wanted, at + 1)) {
    // "Node 0 MemFree:" must not match "Free:".
    if (at != 0 && kWhiteSpace.find(text[at - 1]) == std::string_view::npos) continue;
    const auto kib = leading_number(text.substr(at + wanted.size()));
    return kib ? std::optional(*kib * kBytesPerKib) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> stat_value(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const auto end_of_line = text.find('\n');
    const std::string_view line = text.substr(0, end_of_line);
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      return leading_number(line.substr(name.size()));
    }
    if (end_of_line == std::string_view::npos) break;
    text.remove_prefix(end_of_line + 1);
  }
  return std::nullopt;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  struct Close {
    void operator()(DIR* opened) const noexcept { closedir(opened); }
  };
  const std::unique_ptr<DIR, Close> opened(opendir(folder.c_str()));
  std::vector<std::string> names;
  if (opened == nullptr) return names;
  // The stream is local: no other thread reads it.
  while (const dirent* const entry = readdir(opened.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

}  // namespace isthmus::host
