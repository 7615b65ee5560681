// Faults that tests inject: failing calls, missing symbols, functions that run before a call.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/cuda_api.hpp"

namespace isthmus::emulator {

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

}  // namespace isthmus::emulator
