// The state of a page, and its layout in memory.
#pragma once

#include "pages/policy.hpp"
#include "pages/span.hpp"
#include "pages/unit_bitmap.hpp"

namespace isthmus::pages {

/// Zhang 2019's states, except not-valid, which it leaves to the operating system.
enum class State : std::uint8_t {
  cpu,      ///< valid on the host
  partial,  ///< some ranges are valid on the GPU, the rest on the host
  gpu,      ///< valid on the GPU
};

/// The answer to a GPU's request.
enum class Outcome : std::uint8_t {
  hit,      ///< valid on the GPU
  wait,     ///< all of it is in flight
  migrate,  ///< transfers start, and the request waits
  remote,   ///< served from host memory
};

inline constexpr std::uint32_t kNoBlock = ~std::uint32_t{0};

/// A page. What was requested (planned) and what has arrived (valid) are kept apart: only valid
/// bytes determine its state.
struct Page {
  std::uint32_t block = kNoBlock;   ///< its words, unless all of it is on one side
  std::uint32_t valid_bytes = 0;    ///< arrived
  std::uint32_t planned_bytes = 0;  ///< requested, including the valid bytes
  std::uint32_t epoch = 0;          ///< how often it migrated back to the host
  std::uint32_t under_way = 0;      ///< transfers in flight
  std::uint16_t num_ranges = 0;     ///< of its RangeList
  std::uint8_t doublings = 0;       ///< of the unit of adaptive
};

/// Sizes that follow from a policy. A page's words are: planned bits, valid bits, spans, counters.
struct Geometry {
  MigrationPolicy policy;
  std::uint32_t page_shift = 0;
  std::uint32_t granule_shift = 0;  ///< log2 of the bytes of one bit
  std::uint32_t num_granules = 0;   ///< in a page
  std::uint32_t bitmap_words = 0;
  std::uint32_t spans_at = 0;     ///< index of the first span in the words
  std::uint32_t counters_at = 0;  ///< index of the first counter in the words
  std::uint32_t num_words = 0;
};

/// The layout that a policy needs.
///
/// Throws      what check() throws
Geometry geometry_of(const MigrationPolicy& policy);

inline State state_of(const Page& page, const Geometry& geometry) {
  if (page.valid_bytes == 0) return State::cpu;
  return page.valid_bytes == geometry.policy.page_bytes ? State::gpu : State::partial;
}

}  // namespace isthmus::pages
