#include "points.hpp"

#include <algorithm>
#include <initializer_list>

namespace {

constexpr std::size_t kKib = 1024;
constexpr std::size_t kMib = 1024 * kKib;
using Sizes = std::initializer_list<std::size_t>;

std::string size_text(std::size_t size_bytes) {
  if (size_bytes % kMib == 0) return std::to_string(size_bytes / kMib) + " MiB";
  if (size_bytes % kKib == 0) return std::to_string(size_bytes / kKib) + " KiB";
  return std::to_string(size_bytes) + " B";
}

/// "copy h2d pageable 64 KiB"
std::string copy_name(const std::string& call, const Request& request) {
  return call + (request.upload ? " h2d " : " d2h ") + (request.pinned ? "pinned " : "pageable ") +
         size_text(request.size_bytes);
}

void add_small_copy(std::vector<Point>& points, Request request) {
  const std::string name = copy_name("copy", request);
  points.push_back({"copies", name, request});
  request.told = true;
  points.push_back({"copies", name + " told", request});
  request.ordered = false;
  points.push_back({"copies", name + " unordered", request});
  // The calling thread alone makes smaller copies.
  if (request.size_bytes < 4 * kKib) return;
  request.told = false;
  request.ordered = true;
  points.push_back({"copies", name + " asleep", request, true});
}

void add_copies(std::vector<Point>& points) {
  for (const bool upload : {true, false})
    for (const bool pinned : {false, true})
      for (const std::size_t size_bytes :
           Sizes{4, 64, 256, kKib, 4 * kKib, 16 * kKib, 32 * kKib, 64 * kKib})
        add_small_copy(points, {.upload = upload, .pinned = pinned, .size_bytes = size_bytes});
}

void add_windows(std::vector<Point>& points) {
  for (const bool upload : {true, false})
    for (const int num_threads : {1, 2, 4, 8})
      for (const std::size_t size_bytes : Sizes{4 * kKib, 16 * kKib, 64 * kKib, 256 * kKib, kMib})
        points.push_back({"windows",
                          std::string("window ") + (upload ? "write " : "read ") +
                              size_text(size_bytes) + ", " + std::to_string(num_threads) +
                              (num_threads == 1 ? " thread" : " threads"),
                          {.call = Call::window,
                           .upload = upload,
                           .size_bytes = size_bytes,
                           .num_threads = num_threads}});
}

void add_path(std::vector<Point>& points, const char* path, Sizes sizes) {
  for (const bool upload : {true, false})
    for (const std::size_t size_bytes : sizes) {
      const Request request{.upload = upload, .size_bytes = size_bytes, .path = path};
      points.push_back({"paths", copy_name(path, request), request});
    }
}

void add_paths(std::vector<Point>& points) {
  add_path(points, "staged", {256 * kKib, kMib, 4 * kMib, 16 * kMib, 64 * kMib, 256 * kMib});
  // These two leave the work to the driver: a few sizes show the overhead before and after it.
  add_path(points, "registered", {256 * kKib, 4 * kMib, 64 * kMib});
  add_path(points, "driver", {256 * kKib, 4 * kMib, 64 * kMib});
}

void add_async(std::vector<Point>& points) {
  for (const bool upload : {true, false})
    for (const bool pinned : {false, true})
      for (const std::size_t size_bytes : Sizes{64, 64 * kKib, 4 * kMib}) {
        const Request request{
            .call = Call::copy_async, .upload = upload, .pinned = pinned, .size_bytes = size_bytes};
        points.push_back({"async", copy_name("copy_async", request), request});
      }
}

void add_pool(std::vector<Point>& points) {
  for (const std::size_t size_bytes : Sizes{4 * kKib, 64 * kKib, kMib, 16 * kMib, 64 * kMib})
    points.push_back({"pool",
                      "pool allocate, free " + size_text(size_bytes),
                      {.call = Call::pool, .size_bytes = size_bytes}});
}

}  // namespace

std::vector<Point> points_of(const std::string& parts, std::size_t max_bytes) {
  std::vector<Point> points;
  add_copies(points);
  add_windows(points);
  add_paths(points);
  add_async(points);
  add_pool(points);
  const std::string wanted = "," + parts + ",";
  std::erase_if(points, [&](const Point& point) {
    return point.request.size_bytes > max_bytes ||
           wanted.find("," + point.part + ",") == std::string::npos;
  });
  return points;
}
