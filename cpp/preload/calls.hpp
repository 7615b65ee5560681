// One watched call: what happens before and after the driver's own function.
#pragma once

#include "preload/reading.hpp"

namespace isthmus::preload {

/// A call that has begun.
struct Begun {
  u64 begin_ns = 0;
  u64 wait_ns = 0;
  bool is_captured = false;
  bool is_replaced = false;    ///< the engine has done it: the driver isn't to be called
  bool would_replace = false;  ///< an audit's
};

/// Calls inside a watched call, of this thread, are nobody's business: the driver's, and the engine's.
class Nesting {
public:
  Nesting();
  ~Nesting();
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  bool is_inside() const { return is_inside_; }

private:
  bool is_inside_;
};

/// Corrects the kinds in `what` if they no longer hold.
Begun begin_call(const Entry& entry, What& what);
void end_call(const Entry& entry, const What& what, const Begun& begun, CUresult result);

}  // namespace isthmus::preload
