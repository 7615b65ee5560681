// Which way a copy takes: the one place that decides it.
#pragma once

#include <memory>

#include "driver/driver.hpp"
#include "transfer/copy/devices.hpp"
#include "transfer/copy/plan.hpp"
#include "transfer/copy/window_cache.hpp"

namespace isthmus::transfer {

/// Chooses for blocking and asynchronous copies, for files and for explain(). May be used from any
/// thread.
class Chooser {
public:
  Chooser(const Driver& driver, Devices& devices, WindowCache& windows)
      : driver_(driver), devices_(devices), windows_(windows) {}

  /// The cheapest way, or the one that is named. Opens nothing and copies nothing. A context of the
  /// task's device is current, if it has one.
  ///
  /// Throws      Unavailable if the way that is named can't be taken; UsageError if a file is to
  ///             be copied in a stream that is being captured.
  Plan choose(const Task& task, const Request& request) const;

  /// choose(), ready to be carried: a window path has its window. Where a window hasn't been earned
  /// yet the next best way is taken.
  ///
  /// Throws      as Windows::open if the window path is named.
  Plan ready(const Task& task, const Request& request);

private:
  std::shared_ptr<CachedWindow> open_window_of(const Task& task);

  const Driver& driver_;
  Devices& devices_;
  WindowCache& windows_;
};

}  // namespace isthmus::transfer
