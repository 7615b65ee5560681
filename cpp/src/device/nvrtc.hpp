// NVIDIA's run-time compiler, loaded from a wheel or a toolkit when a kernel is first needed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus {

/// Device code as cuModuleLoadData takes it: a cubin, or PTX text with its final null.
using KernelImage = std::vector<char>;

/// A loaded NVRTC. A value: copies share the library, which stays open.
class Nvrtc {
public:
  /// Opens NVRTC.
  ///
  /// library   path of libnvrtc.so.N; empty: $ISTHMUS_NVRTC, else libnvrtc.so.13, else
  /// libnvrtc.so.12 by the
  ///           dynamic linker's search order
  /// Throws    Unavailable if there is none, or it lacks its builtins library.
  static Nvrtc open(const std::string& library = {});

  /// Compiles one of the project's kernel files for an architecture.
  ///
  /// Gives a cubin for `major`.`minor`, or PTX for the newest architecture this NVRTC knows if the
  /// device is newer still. Needs no device.
  ///
  /// stem     a name of kernel_sources(): "pattern"
  /// Throws   UsageError for an unknown kernel file; Unavailable if this NVRTC knows nothing so
  /// old;
  ///          DriverError with the compiler's log if the source is wrong.
  KernelImage compile(std::string_view stem, int major, int minor) const;

  /// "13.0"
  std::string version() const;
  /// The options of compile(), which with the source and the version identify an image.
  std::vector<std::string> options(int major, int minor) const;

private:
  struct Functions;
  class Compilation;
  explicit Nvrtc(std::shared_ptr<const Functions> functions) : functions_(std::move(functions)) {}

  std::shared_ptr<const Functions> functions_;
};

}  // namespace isthmus
