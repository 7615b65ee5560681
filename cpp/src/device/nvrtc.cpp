#include "device/nvrtc.hpp"

#include <algorithm>
#include <filesystem>

#include <dlfcn.h>

#include <isthmus/errors.hpp>

#include "device/kernels.hpp"
#include "driver/environment.hpp"
#include "host/system/text_file.hpp"

namespace isthmus {
namespace {

constexpr const char* kNeeds =
    "NVRTC: pip install \"isthmus[cuda13]\" (or [cuda12] for a driver older than CUDA 13)";

// The functions of nvrtc.h that are called. NVIDIA's header wheel for the driver API doesn't
// contain it.
// Source: NVRTC 13.0, nvrtc.h; unchanged since 11.2.
using Result = int;
using Program = void*;
constexpr Result kSuccess = 0;

/// libnvrtc opens its builtins by bare name, which the dynamic linker can't find inside a wheel
/// unless the file is already open.
void open_builtins(void* nvrtc_function) {
  Dl_info info{};
  if (dladdr(nvrtc_function, &info) == 0) return;
  const auto folder = std::filesystem::path(info.dli_fname).parent_path();
  for (const std::string& name : host::names_in(folder)) {
    if (name.starts_with("libnvrtc-builtins.so."))
      dlopen((folder / name).c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
}

std::vector<std::string> candidates(const std::string& library) {
  if (!library.empty()) return {library};
  const std::string wish = environment("ISTHMUS_NVRTC").value_or("");
  if (!wish.empty()) return {wish};
  return {"libnvrtc.so.13", "libnvrtc.so.12"};
}

void* open_first(const std::vector<std::string>& files) {
  std::string why;
  for (const std::string& file : files) {
    if (void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const char* error = dlerror();  // NOLINT(concurrency-mt-unsafe): per thread in glibc
    why += (why.empty() ? "" : "; ") + std::string(error != nullptr ? error : file);
  }
  throw Unavailable("NVRTC", why, kNeeds);
}

std::string architecture(std::string_view prefix, int number) {
  return "--gpu-architecture=" + std::string(prefix) + std::to_string(number);
}

}  // namespace

struct Nvrtc::Functions {
  explicit Functions(void* library) {
    load(library, "nvrtcVersion", version);
    load(library, "nvrtcGetErrorString", get_error_string);
    load(library, "nvrtcGetNumSupportedArchs", get_num_supported_archs);
    load(library, "nvrtcGetSupportedArchs", get_supported_archs);
    load(library, "nvrtcCreateProgram", create_program);
    load(library, "nvrtcDestroyProgram", destroy_program);
    load(library, "nvrtcCompileProgram", compile_program);
    load(library, "nvrtcGetProgramLogSize", get_log_size);
    load(library, "nvrtcGetProgramLog", get_log);
    load(library, "nvrtcGetCUBINSize", get_cubin_size);
    load(library, "nvrtcGetCUBIN", get_cubin);
    load(library, "nvrtcGetPTXSize", get_ptx_size);
    load(library, "nvrtcGetPTX", get_ptx);
    open_builtins(reinterpret_cast<void*>(version));
  }

  template <typename Function>
  static void load(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (function == nullptr) {
      throw Unavailable("NVRTC", std::string("the library lacks ") + name, kNeeds);
    }
  }

  void check(Result result, const char* symbol, const std::string& log = {}) const {
    if (result != kSuccess) throw DriverError(result, get_error_string(result), symbol, log);
  }

  Result (*version)(int*, int*) = nullptr;
  const char* (*get_error_string)(Result) = nullptr;
  Result (*get_num_supported_archs)(int*) = nullptr;
  Result (*get_supported_archs)(int*) = nullptr;
  Result (*create_program)(Program*, const char*, const char*, int, const char* const*,
                           const char* const*) = nullptr;
  Result (*destroy_program)(Program*) = nullptr;
  Result (*compile_program)(Program, int, const char* const*) = nullptr;
  Result (*get_log_size)(Program, std::size_t*) = nullptr;
  Result (*get_log)(Program, char*) = nullptr;
  Result (*get_cubin_size)(Program, std::size_t*) = nullptr;
  Result (*get_cubin)(Program, char*) = nullptr;
  Result (*get_ptx_size)(Program, std::size_t*) = nullptr;
  Result (*get_ptx)(Program, char*) = nullptr;
};

Nvrtc Nvrtc::open(const std::string& library) {
  return Nvrtc(std::make_shared<const Functions>(open_first(candidates(library))));
}

std::string Nvrtc::version() const {
  int major = 0;
  int minor = 0;
  functions_->check(functions_->version(&major, &minor), "nvrtcVersion");
  return std::to_string(major) + "." + std::to_string(minor);
}

std::vector<std::string> Nvrtc::options(int major, int minor) const {
  int count = 0;
  functions_->check(functions_->get_num_supported_archs(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> known(static_cast<std::size_t>(count));
  functions_->check(functions_->get_supported_archs(known.data()), "nvrtcGetSupportedArchs");
  const int wanted = major * 10 + minor;
  int nearest = 0;
  for (const int number : known) {
    if (number <= wanted) nearest = std::max(nearest, number);
  }
  if (nearest == 0) {
    throw Unavailable(
        "NVRTC for compute capability " + std::to_string(major) + "." + std::to_string(minor),
        "NVRTC " + version() + " no longer compiles for it",
        "an older NVRTC: pip install \"isthmus[cuda12]\"");
  }
  // Kernels of workloads are host code, too: their functions are marked for neither side.
  return {architecture(nearest == wanted ? "sm_" : "compute_", nearest), "--std=c++17",
          "--device-as-default-execution-space"};
}

/// One compilation; the destructor destroys it.
class Nvrtc::Compilation {
public:
  Compilation(const Functions& nvrtc, std::string_view stem) : nvrtc_(nvrtc) {
    const KernelSource& source = kernel_source(stem);
    std::vector<const char*> names;
    std::vector<const char*> texts;
    for (const KernelSource& header : kernel_headers()) {
      names.push_back(header.file_name);
      texts.push_back(header.text);
    }
    nvrtc_.check(nvrtc_.create_program(&program_, source.text, source.file_name,
                                       static_cast<int>(names.size()), texts.data(), names.data()),
                 "nvrtcCreateProgram");
  }
  ~Compilation() { nvrtc_.destroy_program(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  void run(const std::vector<std::string>& options) {
    std::vector<const char*> arguments;
    arguments.reserve(options.size());
    for (const std::string& option : options) arguments.push_back(option.c_str());
    const Result result =
        nvrtc_.compile_program(program_, static_cast<int>(arguments.size()), arguments.data());
    if (result != kSuccess) nvrtc_.check(result, "nvrtcCompileProgram", log());
  }

  KernelImage cubin() { return output(nvrtc_.get_cubin_size, nvrtc_.get_cubin, "nvrtcGetCUBIN"); }
  KernelImage ptx() { return output(nvrtc_.get_ptx_size, nvrtc_.get_ptx, "nvrtcGetPTX"); }

private:
  template <typename SizeFunction, typename BytesFunction>
  KernelImage output(SizeFunction get_size, BytesFunction get_bytes, const char* symbol) {
    std::size_t size_bytes = 0;
    nvrtc_.check(get_size(program_, &size_bytes), symbol);
    KernelImage image(size_bytes);
    nvrtc_.check(get_bytes(program_, image.data()), symbol);
    return image;
  }

  std::string log() {
    std::size_t log_bytes = 0;
    nvrtc_.get_log_size(program_, &log_bytes);
    std::string text(log_bytes, '\0');
    nvrtc_.get_log(program_, text.data());
    return text.c_str();
  }

  const Functions& nvrtc_;
  Program program_ = nullptr;
};

KernelImage Nvrtc::compile(std::string_view stem, int major, int minor) const {
  const std::vector<std::string> flags = options(major, minor);
  Compilation compilation(*functions_, stem);
  compilation.run(flags);
  const bool for_one_architecture = flags.front().find("=sm_") != std::string::npos;
  return for_one_architecture ? compilation.cubin() : compilation.ptx();
}

}  // namespace isthmus
