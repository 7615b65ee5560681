// From a policy to the layout of its pages. For the CPU only: a GPU is given the result.
#pragma once

#include "pages/page.hpp"

namespace isthmus::pages {

/// The layout that a policy needs.
///
/// policy      which check() has found possible
Geometry geometry_of(const MigrationPolicy& policy);

}  // namespace isthmus::pages
