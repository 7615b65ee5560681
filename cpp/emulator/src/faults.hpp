// What tests make go wrong: calls that fail, symbols that are missing, what happens just before.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cuda_api.hpp"

namespace isthmus::emulator {

class Faults {
public:
  /// The `nth` next call of `symbol` returns `code`, once.
  void fail_call(std::string_view symbol, int nth, CUresult code);
  /// Every further call of `symbol` returns success without effect.
  void swallow(std::string_view symbol);
  /// `function` is called before the `nth` next call of `symbol`, once.
  void before_call(std::string_view symbol, int nth, void (*function)(void*), void* argument);
  void hide(std::string_view symbol);
  /// Every call that needs the device fails once so many copies were asked for; 0: none does.
  void lose_device_after(int num_copies);
  void reset();

  /// Counts one call of `symbol`; the code it has to fail with, if it has to.
  std::optional<CUresult> next(std::string_view symbol);
  /// Calls what is due before this call.
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
  std::atomic<bool> any_pending_{false};  ///< or swallowed
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
