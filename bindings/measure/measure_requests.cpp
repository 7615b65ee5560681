// Measures copies that aren't made one after the other: both directions at once, several streams,
// rows, many pieces, during computation.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/words.hpp"
#include "measure/bandwidth/duplex.hpp"
#include "measure/bandwidth/many_copies.hpp"
#include "measure/bandwidth/overlap.hpp"
#include "measure/bandwidth/shaped_copies.hpp"
#include "measure/loops/stream_copies.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace measure = isthmus::measure;
using measure::ManyCopiesWay;
using measure::PipelineCopies;

namespace {

constexpr Word<measure::Engine> kEngines[] = {
    {"copy_engine", measure::Engine::copy_engine},
    {"multiprocessors", measure::Engine::multiprocessors}};
constexpr Word<measure::BoxLayout> kLayouts[] = {{"pitched", measure::BoxLayout::pitched},
                                                 {"array", measure::BoxLayout::array}};
constexpr Word<ManyCopiesWay> kWays[] = {{"loop", ManyCopiesWay::loop},
                                         {"batch", ManyCopiesWay::batch},
                                         {"graph", ManyCopiesWay::graph},
                                         {"kernel", ManyCopiesWay::kernel},
                                         {"packed", ManyCopiesWay::packed}};
constexpr Word<PipelineCopies> kPipelines[] = {
    {"h2d", PipelineCopies::up}, {"d2h", PipelineCopies::down}, {"duplex", PipelineCopies::duplex}};

measure::Measurement under_load(const SharedBuffers& buffers, const SharedBuffers& load,
                                const SharedKernels* kernels, const std::string& direction,
                                std::size_t size_bytes, const measure::Stopping& stopping,
                                const std::string& by) {
  measure::DuplexOptions options{.size_bytes = size_bytes, .stopping = stopping};
  options.by = value_of(kEngines, by, "engine");
  return measure::measure_under_load(*buffers, *load, kernels_of(kernels),
                                     value_of(kDirections, direction, "direction"), options);
}

measure::Measurement duplex(const SharedBuffers& up, const SharedBuffers& down,
                            const SharedKernels* kernels, std::size_t size_bytes,
                            const measure::Stopping& stopping) {
  return measure::measure_duplex(*up, *down, kernels_of(kernels),
                                 {.size_bytes = size_bytes, .stopping = stopping});
}

measure::Measurement stream_copies(const SharedBuffers& buffers, const SharedKernels* kernels,
                                   const std::string& direction, std::size_t size_bytes,
                                   std::size_t num_streams, const measure::Stopping& stopping) {
  return measure::measure_stream_copies(*buffers, kernels_of(kernels),
                                        {.direction = value_of(kDirections, direction, "direction"),
                                         .size_bytes = size_bytes,
                                         .num_streams = num_streams,
                                         .stopping = stopping});
}

measure::Measurement shaped_copies(const SharedBuffers& buffers, const SharedKernels* kernels,
                                   const std::string& direction, const std::string& layout,
                                   std::size_t row_bytes, std::size_t num_rows,
                                   std::optional<std::size_t> num_slices,
                                   const measure::Stopping& stopping) {
  return measure::measure_shaped_copies(*buffers, kernels_of(kernels),
                                        {.direction = value_of(kDirections, direction, "direction"),
                                         .layout = value_of(kLayouts, layout, "layout of memory"),
                                         .shape = {row_bytes, num_rows, num_slices},
                                         .stopping = stopping});
}

measure::Measurement many_copies(const SharedBuffers& buffers, const SharedKernels* kernels,
                                 const std::string& direction, const std::string& way,
                                 std::size_t piece_bytes, std::size_t num_pieces,
                                 const measure::Stopping& stopping) {
  return measure::measure_many_copies(*buffers, kernels_of(kernels),
                                      {.direction = value_of(kDirections, direction, "direction"),
                                       .way = value_of(kWays, way, "way to make many copies"),
                                       .piece_bytes = piece_bytes,
                                       .num_pieces = num_pieces,
                                       .stopping = stopping});
}

measure::Measurement overlap(const SharedBuffers& buffers, const SharedKernels* kernels,
                             const std::string& copies, std::size_t size_bytes,
                             std::size_t num_chunks, std::size_t num_streams,
                             const measure::Stopping& stopping) {
  return measure::measure_overlap(*buffers, kernels_of(kernels),
                                  {.copies = value_of(kPipelines, copies, "copies of a pipeline"),
                                   .size_bytes = size_bytes,
                                   .num_chunks = num_chunks,
                                   .num_streams = num_streams,
                                   .stopping = stopping});
}

}  // namespace

void bind_measure_requests(nb::module_& m) {
  m.def("measure_under_load", &under_load, "buffers"_a, "load"_a, "kernels"_a.none(), nb::kw_only(),
        "direction"_a, "size_bytes"_a, "stopping"_a, "by"_a = "copy_engine", Release(),
        "Sample the time of one copy while others run in the opposite direction (metric "
        "\"copy_time\").");
  m.def("measure_duplex", &duplex, "up"_a, "down"_a, "kernels"_a.none(), nb::kw_only(),
        "size_bytes"_a, "stopping"_a, Release(),
        "Sample copies in both directions during a common time (metrics \"duplex_total\", "
        "\"duplex_h2d\" and \"duplex_d2h\").");
  m.def("measure_stream_copies", &stream_copies, "buffers"_a, "kernels"_a.none(), nb::kw_only(),
        "direction"_a, "size_bytes"_a, "num_streams"_a, "stopping"_a, Release(),
        "Sample the time of one copy divided over several streams (metric \"copy_time\").");
  m.def("measure_shaped_copies", &shaped_copies, "buffers"_a, "kernels"_a.none(), nb::kw_only(),
        "direction"_a, "layout"_a, "row_bytes"_a, "num_rows"_a, "num_slices"_a.none(), "stopping"_a,
        Release(),
        "Sample the time of one 2-D copy, or 3-D if there are slices, between packed rows on the "
        "host and a layout on the device, \"pitched\" or \"array\" (metric \"copy_time\").");
  m.def("measure_many_copies", &many_copies, "buffers"_a, "kernels"_a.none(), nb::kw_only(),
        "direction"_a, "way"_a, "piece_bytes"_a, "num_pieces"_a, "stopping"_a, Release(),
        "Sample the time of many small copies (metrics \"api_return\" and \"completion\").");
  m.def("measure_overlap", &overlap, "buffers"_a, "kernels"_a.none(), nb::kw_only(), "copies"_a,
        "size_bytes"_a, "num_chunks"_a, "num_streams"_a, "stopping"_a, Release(),
        "Sample a pipeline of copies and kernels, and its halves (metrics \"copy_alone\", "
        "\"compute_alone\" and \"together\").");
}
