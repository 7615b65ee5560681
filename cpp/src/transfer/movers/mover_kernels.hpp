// The kernels of movers, and why there are none.
#pragma once

#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/kernels.hpp"

namespace isthmus::transfer {

/// Compiles kernels that reach all pinned memory at its host address, also what was registered.
///
/// nvrtc       as Nvrtc::open() takes it
/// Throws      Unavailable, DriverError.
Kernels mover_kernels(const Context& context, const std::string& nvrtc);

/// Prepares, and gives why that isn't possible; empty if it is.
template <typename Prepare>
std::string obstacle_to(Prepare&& prepare) {
  try {
    std::forward<Prepare>(prepare)();
  } catch (const Unavailable& absent) {
    return absent.what();
  } catch (const DriverError& error) {
    return error.what();
  }
  return {};
}

}  // namespace isthmus::transfer
