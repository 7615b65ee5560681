// The lines at the head of an Accel-Sim trace that describe the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/trace.hpp"

namespace isthmus::trace {

/// A position in a grid, or its size.
struct GridPosition {
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::uint64_t z = 0;
  bool operator==(const GridPosition&) const = default;
};

/// Parses "1,2,3", with or without parentheses. Throws UsageError, which names `what`, for any
/// other text.
GridPosition parse_position(std::string_view text, const char* what);

/// The newest version that is read. Source: https://github.com/accel-sim/accel-sim-framework
inline constexpr std::uint64_t kLastTracerVersion = 6;

/// The values of the lines, which may come in any order.
struct KernelHeader {
  std::string name;
  GridPosition grid;   ///< size in CTAs; 0 each: not given
  GridPosition block;  ///< a CTA's size in threads; 0 each: not given
  std::uint64_t shared_bytes = 0;
  std::uint64_t registers_per_thread = 0;
  std::uint64_t binary_version = 0;  ///< 70: Volta. 0: not given
  /// 1 to kLastTracerVersion. 0: not given; tracers before June 2020 don't say it.
  std::uint64_t tracer_version = 0;
  std::uint64_t stream = 0;
  bool has_source_lines = false;
  std::uint64_t shared_base = 0;  ///< of a 16 MiB window in the generic address space
  std::uint64_t local_base = 0;   ///< like shared_base
  std::uint32_t given = 0;        ///< a bit for each of the lines that every tracer writes

  /// Parses `-key = value`. Unknown keys are ignored: tracers add them.
  ///
  /// Throws      UsageError for a line without `=`, a value that isn't a number where one is
  ///             needed, or an unknown version of the tracer.
  void parse_line(std::string_view line);

  /// How many of the lines that every tracer writes are absent: of the name, the stream, and what
  /// limits a CTA's place on an SM or says where a generic address lies. They count as 0. A kernel
  /// without registers counts too: there is none.
  std::uint32_t num_absent_lines() const;

  /// Whether the limits of the traced GPU's SMs are known.
  bool is_of_known_gpu() const;

  std::uint64_t grid_ctas() const { return grid.x * grid.y * grid.z; }

  /// The launch, without its number of CTAs.
  ///
  /// Throws      UsageError if grid or block are missing or impossible.
  Launch launch() const;
};

/// How many CTAs fit on an SM of the traced GPU by registers and shared memory; 0 for an unknown
/// GPU, or if neither is a limit. Source: CUDA C++ Programming Guide, technical specifications per
/// compute capability.
std::uint32_t max_ctas_per_sm(const KernelHeader& header, std::uint32_t warps_per_cta);

}  // namespace isthmus::trace
