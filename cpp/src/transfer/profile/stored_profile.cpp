// Where a machine's profile is stored, and whether it may be used.
#include <optional>
#include <utility>

#include <isthmus/errors.hpp>

#include "driver/environment.hpp"
#include "host/system/printable.hpp"
#include "host/system/text_file.hpp"
#include "transfer/profile/profile.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::string_view kOff = "off";
constexpr const char* kMeasure = "`isthmus profile` measures it";

/// Throws      UsageError with the reason.
std::string read_profile(const std::filesystem::path& file) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure)) throw UsageError("it isn't a file");
  if (std::filesystem::file_size(file, failure) > kMaxProfileBytes || failure)
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
  std::string wish = environment("ISTHMUS_PROFILE").value_or("");
  if (wish == kOff) return {};
  if (!wish.empty()) return wish;
  const auto folder = user_folder("XDG_DATA_HOME", ".local/share");
  if (folder.empty()) return {};
  return folder / "isthmus" / "profiles" / profile_file_name(identity);
}

Profile Profile::for_device(const ProfileIdentity& identity) {
  const auto file = profile_path(identity);
  const std::string wish = environment("ISTHMUS_PROFILE").value_or("");
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
