// Computes the layout of pages from a policy. For the CPU only: a GPU receives the result.
#pragma once

#include "pages/page.hpp"

namespace isthmus::pages {

/// The layout that a policy needs.
///
/// policy      has passed check()
Geometry geometry_of(const MigrationPolicy& policy);

}  // namespace isthmus::pages
