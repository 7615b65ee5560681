// The lines at the head of an Accel-Sim trace that describe the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/trace.hpp"

namespace isthmus::trace {

/// A place in a grid, or its size.
struct GridPosition {
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::uint64_t z = 0;
  bool operator==(const GridPosition&) const = default;
};

/// "1,2,3", in parentheses or not; UsageError, which names `what`, for another text.
GridPosition parse_position(std::string_view text, const char* what);

/// What the lines said. None of them has a fixed place.
struct KernelHeader {
  std::string name;
  GridPosition grid;   ///< its size in CTAs; 0 each: not said
  GridPosition block;  ///< a CTA's size in threads; 0 each: not said
  std::uint64_t shared_bytes = 0;
  std::uint64_t registers_per_thread = 0;
  std::uint64_t binary_version = 0;  ///< 70: Volta. 0: not said
  std::uint64_t tracer_version = 0;
  std::uint64_t stream = 0;
  bool has_source_lines = false;
  std::uint64_t shared_base = 0;  ///< of 16 MiB in the generic address space
  std::uint64_t local_base = 0;   ///< as shared_base

  /// Reads `-key = value`. Unknown keys are left alone: tracers add them.
  ///
  /// Throws      UsageError for a line without `=` or a value that is no number where one belongs.
  void parse_line(std::string_view line);

  std::uint64_t grid_ctas() const { return grid.x * grid.y * grid.z; }

  /// The launch, without its number of CTAs.
  ///
  /// Throws      UsageError if grid or block are absent or can't be.
  Launch launch() const;
};

/// How many CTAs an SM of the traced GPU holds by registers and shared memory; 0 for a GPU that is
/// not known, or if neither limits them.
/// Source: CUDA C++ Programming Guide, technical specifications per compute capability.
std::uint32_t max_ctas_per_sm(const KernelHeader& header, std::uint32_t warps_per_cta);

}  // namespace isthmus::trace
