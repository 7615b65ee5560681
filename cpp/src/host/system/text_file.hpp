// Reads the kernel's small text files (/proc, /sys).
// The entries of a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus::host {

/// The file's text without trailing white space; nothing if it can't be read.
std::optional<std::string> read_text(const std::filesystem::path& file);

/// The integer in a file; nothing if it can't be read or contains anything else.
std::optional<std::int64_t> read_integer(const std::filesystem::path& file);

/// The integer in `text`, ignoring white space around it; nothing if there is anything else.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// `text` without white space at either end.
std::string_view trimmed(std::string_view text) noexcept;

/// The parts of `text` between separators; parts may be empty. They point into `text`.
std::vector<std::string_view> split(std::string_view text, char separator);

/// Bytes of a "Name:  123 kB" line, as /proc/meminfo and a node's meminfo have it.
///
/// text        the whole file
/// name        without the colon: "MemAvailable"
std::optional<std::uint64_t> meminfo_bytes(std::string_view text, std::string_view name);

/// The number after "name " at the start of a line, as memory.stat has it.
std::optional<std::uint64_t> stat_value(std::string_view text, std::string_view name);

/// The names of a folder's entries, unordered; none if it can't be read. Doesn't use
/// std::filesystem::directory_iterator: libstdc++ 12 ends the process if there is no memory for an
/// entry's path.
std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace isthmus::host
