// Opens a driver library, looks up every symbol, and reports problems as Unavailable.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include <isthmus/errors.hpp>

#include "driver/driver.hpp"
#include "driver/locate.hpp"
#include "emulator.h"

namespace isthmus {
namespace {

constexpr const char* kNeedsDriver =
    "an NVIDIA driver for CUDA 12.2 or later (535 or newer), or the emulated device: "
    "ISTHMUS_DRIVER=emulated";
constexpr const char* kNeedsDevice =
    "an NVIDIA GPU that this process may use, or the emulated device: ISTHMUS_DRIVER=emulated";

void* open_library(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe): per thread in glibc
    throw Unavailable("CUDA driver", why != nullptr ? why : "cannot open " + file, kNeedsDriver);
  }
  return library;
}

std::string resolved_path(void* function, const std::string& fallback) {
  Dl_info info{};
  return dladdr(function, &info) != 0 ? info.dli_fname : fallback;
}

void select_profile(void* library, const DriverLocation& location) {
  auto* select = reinterpret_cast<decltype(&isthmus_emulator_select_profile)>(
      dlsym(library, "isthmus_emulator_select_profile"));
  if (select == nullptr) {
    throw Unavailable("emulated driver", location.file + " is not Isthmus's emulator",
                      "an intact installation of isthmus");
  }
  const char* refusal = select(location.profile.c_str());
  if (refusal != nullptr) throw UsageError(refusal);
}

/// The process that first initialised a driver; 0 before.
std::atomic<std::uint64_t> first_process{0};

/// Before cuInit: a child that is forked off meanwhile is refused, too.
void require_process_of_first_driver() {
  std::uint64_t first = 0;
  if (!first_process.compare_exchange_strong(first, process_generation()))
    require_own_process(first, "CUDA");
}

}  // namespace

/// Builds a Driver's table. A class only because it must be the Driver's friend.
class DriverLoader {
public:
  explicit DriverLoader(const DriverLocation& location) : library_(open_library(location.file)) {
    if (!location.profile.empty()) select_profile(library_, location);
    get_proc_address_ =
        reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library_, "cuGetProcAddress_v2"));
    state_.path = resolved_path(dlsym(library_, "cuInit"), location.file);
    state_.profile = active_profile();
  }

  Driver load() {
    initialise();
    check_version();
    for (std::size_t slot = 0; slot < kNumSymbols; ++slot) {
      state_.functions[slot] = resolve(kSymbolRows[slot]);
    }
    return Driver(std::make_shared<const Driver::State>(std::move(state_)));
  }

private:
  /// A library given by path may also be the emulator: it identifies itself, so that its numbers
  /// never pass as real ones.
  std::string active_profile() const {
    auto* profile = reinterpret_cast<decltype(&isthmus_emulator_profile)>(
        dlsym(library_, "isthmus_emulator_profile"));
    return profile == nullptr ? std::string{} : profile();
  }

  template <typename Function>
  Function plain(const char* name) const {
    auto* function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) {
      throw Unavailable("CUDA driver", state_.path + " does not export " + name, kNeedsDriver);
    }
    return function;
  }

  void initialise() {
    require_process_of_first_driver();
    const CUresult result = plain<PFN_cuInit_v2000>("cuInit")(0);
    state_.has_devices = result == CUDA_SUCCESS;
    state_.needs = kNeedsDevice;
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_NO_DEVICE) return;
    if (result == CUDA_ERROR_STUB_LIBRARY) {
      throw Unavailable("CUDA driver",
                        state_.path + " is the toolkit's stub, made for linking only",
                        "an NVIDIA driver, and its library before the stub on the path");
    }
    if (result == CUDA_ERROR_NOT_INITIALIZED) {
      throw Unavailable("CUDA driver",
                        "cuInit fails with CUDA_ERROR_NOT_INITIALIZED, as it does in a process "
                        "that was forked from one that uses CUDA",
                        "a process that was started by spawn");
    }
    if (result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH) {
      throw Unavailable("CUDA driver",
                        state_.path + " and the loaded kernel module are of different versions",
                        "a reboot, or a reload of the nvidia kernel module");
    }
    throw DriverError(result, error_name(result), "cuInit",
                      "the driver at " + state_.path + " would not start");
  }

  /// Uses the exported function, which works without cuInit; a broken driver may lack even that.
  std::string error_name(CUresult result) const {
    const char* name = nullptr;
    auto* get_name = reinterpret_cast<PFN_cuGetErrorName_v6000>(dlsym(library_, "cuGetErrorName"));
    if (get_name != nullptr) get_name(result, &name);
    return name != nullptr ? name : "unknown error";
  }

  void check_version() {
    const auto get_version = plain<PFN_cuDriverGetVersion_v2020>("cuDriverGetVersion");
    if (get_version(&state_.version) != CUDA_SUCCESS) state_.version = 0;
    if (state_.version < kOldestDriverVersion || get_proc_address_ == nullptr) {
      throw Unavailable("CUDA driver",
                        state_.path + " implements CUDA " + version_text(state_.version),
                        kNeedsDriver);
    }
  }

  void* resolve(const SymbolRow& row) const {
    void* function = nullptr;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    const CUresult result =
        get_proc_address_(row.name, &function, row.abi, CU_GET_PROC_ADDRESS_DEFAULT, &found);
    if (result != CUDA_SUCCESS || found != CU_GET_PROC_ADDRESS_SUCCESS) function = nullptr;
    if (function == nullptr && row.requirement == Requirement::required) {
      throw Unavailable(row.name, "the driver at " + state_.path + " does not have it",
                        "a driver for CUDA " + std::string(row.since) + " or later");
    }
    return function;
  }

  void* library_;
  PFN_cuGetProcAddress_v12000 get_proc_address_ = nullptr;
  Driver::State state_;
};

Driver Driver::open(const std::string& source) {
  watch_forks();
  return DriverLoader(locate_driver(source)).load();
}

Driver Driver::open_or_absent(const std::string& source) try {
  watch_forks();
  const std::uint64_t first = first_process.load();
  if (first == 0 || first == process_generation()) return open(source);
  State of_parent;
  of_parent.process = first;
  of_parent.has_devices = true;
  return Driver(std::make_shared<const State>(std::move(of_parent)));
} catch (const Unavailable& absence) {
  return absent(absence.reason(), absence.needs());
}

// The library stays open: closing it could unload one that the program has just initialised.
void Driver::find(const std::string& source) {
  static_cast<void>(open_library(locate_driver(source).file));
}

}  // namespace isthmus
