// Where a machine's profile is kept, and whether the one that is there may be used.
#include <cstdlib>
#include <optional>
#include <utility>

#include <isthmus/errors.hpp>

#include "host/printable.hpp"
#include "host/text_file.hpp"
#include "transfer/profile.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::string_view kOff = "off";
constexpr const char* kMeasure = "`isthmus profile` measures it";

std::string environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr ? value : "";
}

/// Source: XDG Base Directory Specification 0.8: a relative path is ignored.
std::filesystem::path data_folder() {
  std::filesystem::path folder = environment("XDG_DATA_HOME");
  if (folder.is_absolute()) return folder;
  const std::filesystem::path home = environment("HOME");
  return home.is_absolute() ? home / ".local" / "share" : std::filesystem::path();
}

/// Throws      UsageError with the reason, after which "the file " fits.
std::string read_profile(const std::filesystem::path& file) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure)) throw UsageError("it is no file");
  if (std::filesystem::file_size(file, failure) > kMostProfileBytes || failure)
    throw UsageError("it is too long for a profile");
  auto text = host::read_text(file);
  if (!text) throw UsageError("it can't be read");
  return std::move(*text);
}

Profile instead(const ProfileIdentity& identity, const std::string& why) {
  const Profile defaults = Profile::defaults(identity);
  return defaults.with_source(defaults.source() + ": " + why);
}

}  // namespace

std::filesystem::path profile_path(const ProfileIdentity& identity) {
  std::string wish = environment("ISTHMUS_PROFILE");
  if (wish == kOff) return {};
  if (!wish.empty()) return wish;
  const auto folder = data_folder();
  if (folder.empty()) return {};
  return folder / "isthmus" / "profiles" / profile_file_name(identity);
}

Profile Profile::for_device(const ProfileIdentity& identity) {
  const auto file = profile_path(identity);
  const std::string wish = environment("ISTHMUS_PROFILE");
  if (wish == kOff) return instead(identity, "profiles are off, by ISTHMUS_PROFILE");
  std::error_code failure;
  if (file.empty() || (wish.empty() && !std::filesystem::exists(file, failure)))
    return instead(identity, std::string("no profile of this machine; ") + kMeasure);
  const std::string name = host::printable(file.native());
  try {
    const Profile stored = parse(read_profile(file), identity);
    return stored.with_source(stored.source() + " (" + name + ")");
  } catch (const UsageError& misfit) {
    return instead(identity, name + " is not used: " + misfit.what() + "; " + kMeasure);
  }
}

}  // namespace isthmus::transfer
