#include "driver/environment.hpp"

#include <cstdlib>

namespace isthmus {

std::optional<std::string> environment(const char* name) {
  // Read while something is opened, at the start of a program: no other thread writes it then.
  const char* const value = secure_getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

std::filesystem::path user_folder(const char* variable, const std::filesystem::path& below_home) {
  std::filesystem::path folder = environment(variable).value_or("");
  if (folder.is_absolute()) return folder;
  const std::filesystem::path home = environment("HOME").value_or("");
  return home.is_absolute() ? home / below_home : std::filesystem::path();
}

}  // namespace isthmus
