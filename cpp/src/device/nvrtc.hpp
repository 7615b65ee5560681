// NVIDIA's run-time compiler, loaded from a wheel or a toolkit when a kernel is first needed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus {

/// Device code as cuModuleLoadData takes it: a cubin, or PTX text with its final null.
using KernelImage = std::vector<char>;

/// A loaded NVRTC. It has value semantics: copies share the library, which stays open.
class Nvrtc {
public:
  /// Opens NVRTC.
  ///
  /// library   path of libnvrtc.so.N; empty: $ISTHMUS_NVRTC, else libnvrtc.so.13, else
  ///           libnvrtc.so.12 by the dynamic linker's search order
  /// Throws    Unavailable if there is none, or its builtins library is missing.
  static Nvrtc open(const std::string& library = {});

  /// Compiles one of the project's kernel files for an architecture.
  ///
  /// Returns a cubin for `major`.`minor`, or, if the device is newer than this NVRTC, PTX for the
  /// newest architecture it knows. Needs no device.
  ///
  /// stem     a name of kernel_sources(): "pattern"
  /// Throws   UsageError for an unknown kernel file; Unavailable if this NVRTC no longer supports
  ///          the architecture; DriverError with the compiler's log if the source is wrong.
  KernelImage compile(std::string_view stem, int major, int minor) const;

  /// "13.0"
  std::string version() const;
  /// The options of compile(). Together with the source and the version they identify an image.
  std::vector<std::string> options(int major, int minor) const;

private:
  struct Functions;
  class Compilation;
  explicit Nvrtc(std::shared_ptr<const Functions> functions) : functions_(std::move(functions)) {}

  std::shared_ptr<const Functions> functions_;
};

}  // namespace isthmus
