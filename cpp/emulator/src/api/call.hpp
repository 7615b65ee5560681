// The log of driver calls, for tests.
// Faults that tests inject: failing calls, missing symbols, functions that run before a call.
// The wrapper of every exported function: injected failures, the log, no exceptions.
#pragma once

#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/cuda_api.hpp"

namespace isthmus::emulator {

class CallLog {
public:
  /// Starting clears the log; stopping keeps it readable.
  void enable(bool enabled);
  void clear();
  bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
  void append(const std::string& line);
  std::string text() const;

private:
  mutable std::mutex mutex_;
  std::atomic<bool> enabled_{false};
  std::string text_;
};

/// The process's log. Never destroyed.
CallLog& call_log();

class Faults {
public:
  /// Makes the `nth` next call of `symbol` return `code`, once.
  void fail_call(std::string_view symbol, int nth, CUresult code);
  /// Makes every further call of `symbol` return success without effect.
  void swallow(std::string_view symbol);
  /// Calls `function` before the `nth` next call of `symbol`, once.
  void before_call(std::string_view symbol, int nth, void (*function)(void*), void* argument);
  void hide(std::string_view symbol);
  /// After `num_copies` copies were requested, every call that needs the device fails; 0: never.
  void lose_device_after(int num_copies);
  /// Forgets all; returns how many failures no call has had.
  std::size_t reset();

  /// Counts one call of `symbol`; returns the code that it must fail with, if any.
  std::optional<CUresult> next(std::string_view symbol);
  /// Calls the functions that are due before this call.
  void call_functions(std::string_view symbol) {
    if (any_functions_.load(std::memory_order_relaxed)) call_due_functions(symbol);
  }
  bool hidden(std::string_view symbol) const;

private:
  bool lost(std::string_view symbol);
  std::optional<CUresult> due(std::string_view symbol);
  void call_due_functions(std::string_view symbol);
  struct Function {
    std::string symbol;
    int calls_left;
    void (*function)(void*);
    void* argument;
  };
  struct Pending {
    std::string symbol;
    int calls_left;
    CUresult code;
  };

  mutable std::mutex mutex_;
  std::vector<Pending> pending_;
  std::atomic<bool> any_pending_{false};  ///< or any call is swallowed
  std::vector<Function> functions_;
  std::atomic<bool> any_functions_{false};
  std::set<std::string, std::less<>> swallowed_;
  std::set<std::string, std::less<>> hidden_;
  std::atomic<bool> may_be_lost_{false};
  std::atomic<int> copies_left_{0};
};

/// The process's faults. Never destroyed.
Faults& faults();

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
