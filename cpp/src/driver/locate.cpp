#include "driver/locate.hpp"

#include <dlfcn.h>

#include <string_view>

#include <isthmus/errors.hpp>

#include "driver/environment.hpp"

namespace isthmus {
namespace {

constexpr std::string_view kEmulated = "emulated";
constexpr std::string_view kDefaultProfile = "small";
constexpr std::string_view kEmulatorFile = "libisthmus_emulator.so";

DriverLocation emulated_driver(std::string_view profile) {
  if (profile.empty()) profile = kDefaultProfile;
  return {own_folder() + "/" + std::string(kEmulatorFile), std::string(profile)};
}

}  // namespace

std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0) return ".";
  const std::string_view file = info.dli_fname;
  const auto slash = file.find_last_of('/');
  return slash == std::string_view::npos ? "." : std::string(file.substr(0, slash));
}

DriverLocation locate_driver(const std::string& source) {
  if (source.empty()) {
    const std::string wish = environment("ISTHMUS_DRIVER").value_or("");
    return locate_driver(wish.empty() ? "system" : wish);
  }
  const std::string_view view = source;
  if (view == "system") return {"libcuda.so.1", {}};
  if (view == kEmulated) return emulated_driver({});
  if (view.starts_with("emulated:")) return emulated_driver(view.substr(kEmulated.size() + 1));
  if (view.find('/') != std::string_view::npos) return {source, {}};
  throw UsageError("unknown driver '" + source +
                   "': use system, emulated, emulated:PROFILE, or a path with a '/'");
}

// The library is open already, and stays open: see Driver::open.
void* emulator_function(const Driver& driver, const char* name) {
  if (!driver.emulated()) return nullptr;
  void* const library = dlopen(driver.path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const function = dlsym(library, name);
  dlclose(library);
  return function;
}

}  // namespace isthmus
