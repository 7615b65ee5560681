// The wrapper of every exported function: injected failures, the log, no exceptions.
#pragma once

#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "api/call_log.hpp"
#include "api/cuda_api.hpp"
#include "api/faults.hpp"
#include "api/refusal.hpp"

namespace isthmus::emulator {

/// One call of a driver function.
///
/// Use as: Call call("cuMemAlloc"); call.note("bytes", n); return call([&] { ...; return
/// CUDA_SUCCESS; });
class Call {
public:
  /// symbol   the public name, used by faults and the log; a string literal
  explicit Call(std::string_view symbol) : symbol_(symbol), logged_(call_log().enabled()) {}

  /// Adds `key=value` to this call's line in the log.
  Call& note(std::string_view key, std::string_view value);
  Call& note(std::string_view key, unsigned long long value);

  /// Runs `body`, a callable that returns a CUresult or throws Refusal.
  template <typename Body>
  CUresult operator()(Body body) noexcept {
    const CUresult result = guarded(body);
    if (logged_) log(result);
    return result;
  }

private:
  template <typename Body>
  CUresult guarded(Body& body) noexcept {
    try {
      faults().call_functions(symbol_);
      if (const std::optional<CUresult> injected = faults().next(symbol_)) return *injected;
      return body();
    } catch (const Refusal& refusal) {
      return refusal.code;
    } catch (const std::bad_alloc&) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (...) {
      return CUDA_ERROR_UNKNOWN;
    }
  }
  void log(CUresult result) noexcept;

  std::string_view symbol_;
  bool logged_;
  std::string notes_;
};

}  // namespace isthmus::emulator
