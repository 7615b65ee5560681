// What is kept of a page, and how its memory is laid out.
#pragma once

#include "pages/policy.hpp"
#include "pages/span.hpp"
#include "pages/unit_bitmap.hpp"

namespace isthmus::pages {

/// The paper's states, but for not-valid, which it leaves to the operating system.
enum class State : std::uint8_t {
  cpu,      ///< valid in the CPU's memory
  partial,  ///< some ranges are valid in the GPU's memory, the rest in the CPU's
  gpu,      ///< valid in the GPU's memory
};

/// What a request of the GPU finds.
enum class Outcome : std::uint8_t {
  hit,      ///< valid in the GPU's memory
  wait,     ///< all of it on its way
  migrate,  ///< transfers are to start, and the request waits
  remote,   ///< served from the CPU's memory
};

inline constexpr std::uint32_t kNoBlock = ~std::uint32_t{0};

/// A page. What is asked for (planned) and what has arrived (valid) are kept apart: only the latter
/// is its state.
struct Page {
  std::uint32_t block = kNoBlock;   ///< its words, if it is neither the CPU's nor the GPU's
  std::uint32_t valid_bytes = 0;    ///< arrived
  std::uint32_t planned_bytes = 0;  ///< asked for, the valid among them
  std::uint32_t epoch = 0;          ///< how often it went back to the CPU
  std::uint32_t under_way = 0;      ///< transfers
  std::uint16_t num_ranges = 0;     ///< of RangeList
  std::uint8_t doublings = 0;       ///< of adaptive's unit
};

/// Sizes that a policy leads to. A page's words are: planned bits, valid bits, spans, counters.
struct Geometry {
  MigrationPolicy policy;
  std::uint32_t page_shift = 0;
  std::uint32_t granule_shift = 0;  ///< of what one bit stands for
  std::uint32_t num_granules = 0;   ///< of a page
  std::uint32_t bitmap_words = 0;
  std::uint32_t spans_at = 0;     ///< index of the first span among the words
  std::uint32_t counters_at = 0;  ///< index of the first counter
  std::uint32_t num_words = 0;
};

ISTHMUS_HOST_DEVICE inline State state_of(const Page& page, const Geometry& geometry) {
  if (page.valid_bytes == 0) return State::cpu;
  return page.valid_bytes == geometry.policy.page_bytes ? State::gpu : State::partial;
}

}  // namespace isthmus::pages
