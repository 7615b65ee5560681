// What is measured in turns.
#pragma once

#include <string>
#include <vector>

#include "version.hpp"

struct Point {
  std::string part;
  std::string name;
  Request request;
  bool asleep = false;  ///< timed while the library's threads sleep
};

/// All points of the named parts, up to a size: copies, windows, paths, async, pool.
///
/// parts       separated by commas
std::vector<Point> points_of(const std::string& parts, std::size_t max_bytes);
