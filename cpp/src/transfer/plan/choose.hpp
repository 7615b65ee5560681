// Which path a copy takes; it is decided only here.
#pragma once

#include <memory>

#include "driver/driver.hpp"
#include "transfer/plan/devices.hpp"
#include "transfer/plan/plan.hpp"
#include "transfer/plan/window_cache.hpp"

namespace isthmus::transfer {

/// Chooses for blocking and asynchronous copies, for files and for explain(). May be used from any
/// thread.
class Chooser {
public:
  Chooser(const Driver& driver, Devices& devices, WindowCache& windows)
      : driver_(driver), devices_(devices), windows_(windows) {}

  /// The cheapest path, or the named one. Opens nothing and copies nothing. If the task has a
  /// device, a context of it must be current.
  ///
  /// Throws      Unavailable if the named path isn't possible; UsageError for a file copy in a
  ///             stream that is being captured.
  Plan choose(const Task& task, const Request& request) const;

  /// Like choose(), and ready to be carried: a plan by a window path has its window. If opening a
  /// window doesn't pay yet, the next best path is chosen.
  ///
  /// Throws      as Windows::open if the window path is named.
  Plan ready(const Task& task, const Request& request);

  /// What choose() would choose for a blocking copy, and what each path would cost.
  ///
  /// Throws      as choose()
  CopyPlan explain(const Task& task, const Request& request) const;

  /// When an asynchronous copy can return: later than asked for if nothing else keeps the rules. If
  /// the task has a device, a context of it must be current.
  Return when_to_return(const Task& task, const Request& request) const;

private:
  std::shared_ptr<CachedWindow> open_window_of(const Task& task);

  const Driver& driver_;
  Devices& devices_;
  WindowCache& windows_;
};

}  // namespace isthmus::transfer
