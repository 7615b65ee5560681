// What tests make go wrong: calls that fail, symbols that are missing.
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
  void hide(std::string_view symbol);
  void reset();

  /// Counts one call of `symbol`; the code it has to fail with, if it has to.
  std::optional<CUresult> next(std::string_view symbol);
  bool hidden(std::string_view symbol) const;

private:
  struct Pending {
    std::string symbol;
    int calls_left;
    CUresult code;
  };

  mutable std::mutex mutex_;
  std::vector<Pending> pending_;
  std::atomic<bool> any_pending_{false};
  std::set<std::string, std::less<>> hidden_;
};

/// The process's faults. Never destroyed.
Faults& faults();

}  // namespace isthmus::emulator
