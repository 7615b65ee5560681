// The user's environment variables. No other code reads them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace isthmus {

/// The value of an environment variable.
///
/// Nothing if it isn't set, and nothing in a program with more rights than its user (setuid,
/// setgid, file capabilities): variables name libraries to load and files to read, which would be
/// used with rights that the user doesn't have.
std::optional<std::string> environment(const char* name);

/// A folder of the user: the one that `variable` names if that is an absolute path, or else
/// `below_home` in $HOME. Empty if there is neither.
/// Source   XDG Base Directory Specification 0.8: relative paths are ignored.
std::filesystem::path user_folder(const char* variable, const std::filesystem::path& below_home);

}  // namespace isthmus
