#include "bindings/sim/trace_source.hpp"

#include <isthmus/errors.hpp>

TraceSource::Use::Use(TraceSource& owner) : owner_(owner) {
  if (owner.in_use_) {
    throw isthmus::UsageError(
        "this trace is in use, by another thread or by its own reading: a trace has one position, "
        "open it once for each user");
  }
  if (owner.arrays_.use_count() > 1) {
    throw isthmus::UsageError(
        "arrays of the trace's last block are still alive, and what comes next would overwrite "
        "them: drop or copy them first");
  }
  owner.in_use_ = true;
  ++owner.position_;
}
