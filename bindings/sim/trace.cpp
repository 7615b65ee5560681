// Traces: programs and their blocks, from workloads and from files.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <isthmus/errors.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/sim/trace_source.hpp"
#include "bindings/text.hpp"
#include "bindings/words.hpp"
#include "workloads/recording/managed_access.hpp"
#include "workloads/registry.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace trace = isthmus::trace;
using trace::HostStep;

namespace {

/// The current block of a source, as Python sees it.
struct TraceBlock {
  const TraceSource* source;
  std::uint64_t position;
  trace::Block block;
};

/// A read-only view of a block's array. It keeps the source alive and prevents it from advancing.
template <typename Item>
nb::object array_of(nb::handle self, std::span<const Item> items) {
  const auto& block = nb::cast<const TraceBlock&>(self);
  if (block.position != block.source->position()) {
    throw isthmus::UsageError("the trace has gone on since this block: its arrays are gone");
  }
  using Keeper = std::pair<nb::object, std::shared_ptr<const int>>;
  auto keeper = std::make_unique<Keeper>(nb::borrow(self), block.source->share());
  nb::capsule owner(keeper.get(), [](void* held) noexcept { delete static_cast<Keeper*>(held); });
  [[maybe_unused]] const Keeper* const kept = keeper.release();  // the capsule's
  return nb::cast(
      nb::ndarray<nb::numpy, const Item, nb::ndim<1>>(items.data(), {items.size()}, owner));
}

template <auto Member>
nb::object block_array(nb::handle self) {
  return array_of(self, nb::cast<const TraceBlock&>(self).block.*Member);
}

nb::object next_block(nb::handle self) {
  auto& source = nb::cast<TraceSource&>(self);
  std::optional<trace::Block> block;
  {
    const TraceSource::Use use(source);
    const GilReleased released;
    block = use->next();
  }
  if (!block) return nb::none();
  return nb::cast(TraceBlock{&source, source.position(), *block});
}

nb::object iterate(nb::handle self) {
  nb::object block = next_block(self);
  if (block.is_none()) throw nb::stop_iteration();
  return block;
}

void start_again(TraceSource& source) {
  const TraceSource::Use use(source);
  const GilReleased released;
  use->rewind();
}

void bind_steps(nb::module_& m) {
  nb::class_<trace::Allocation>(m, "TraceAllocation", "Memory that a traced program allocated.")
      .def(nb::init<std::string, std::uint64_t, std::uint64_t>(), "name"_a, "address"_a,
           "size_bytes"_a)
      .def_ro("name", &trace::Allocation::name)
      .def_ro("address", &trace::Allocation::address)
      .def_ro("size_bytes", &trace::Allocation::size_bytes);
  nb::class_<HostStep>(m, "TraceHostStep", "What the host does between launches.")
      .def(
          "__init__",
          [](HostStep* self, const std::string& kind, std::uint64_t address,
             std::uint64_t size_bytes, std::optional<std::uint32_t> stream) {
            new (self) HostStep{value_of<HostStep::Kind>(kind, "host step"), address, size_bytes,
                                stream.value_or(trace::kAllStreams)};
          },
          "kind"_a, "address"_a, "size_bytes"_a, "stream"_a = nb::none())
      .def_prop_ro(
          "kind", [](const HostStep& step) { return word_of(step.kind); },
          "\"upload\", \"upload_again\", \"download\", \"read\" or \"write\".")
      .def_ro("address", &HostStep::address)
      .def_ro("size_bytes", &HostStep::size_bytes)
      .def_prop_ro(
          "stream",
          [](const HostStep& step) -> std::optional<std::uint32_t> {
            if (step.stream == trace::kAllStreams) return std::nullopt;
            return step.stream;
          },
          "Of a copy; None: it waits for all streams.");
}

void bind_launch(nb::module_& m) {
  using trace::Launch;
  nb::class_<Launch>(m, "TraceLaunch", "One kernel of a traced program.")
      .def(
          "__init__",
          [](Launch* self, std::string name, std::uint32_t num_ctas, std::uint32_t warps_per_cta,
             std::uint32_t threads_per_cta, std::uint32_t max_ctas_per_sm,
             std::uint32_t local_bytes_per_thread, std::vector<HostStep> before,
             std::uint32_t stream) {
            new (self) Launch{std::move(name),   num_ctas,        warps_per_cta,
                              threads_per_cta,   max_ctas_per_sm, local_bytes_per_thread,
                              std::move(before), stream};
          },
          "name"_a, nb::kw_only(), "num_ctas"_a, "warps_per_cta"_a, "threads_per_cta"_a,
          "max_ctas_per_sm"_a, "local_bytes_per_thread"_a, "before"_a, "stream"_a = 0)
      .def_ro("name", &Launch::name)
      .def_ro("num_ctas", &Launch::num_ctas)
      .def_ro("warps_per_cta", &Launch::warps_per_cta)
      .def_ro("threads_per_cta", &Launch::threads_per_cta)
      .def_ro("max_ctas_per_sm", &Launch::max_ctas_per_sm, "0: not limited.")
      .def_ro("local_bytes_per_thread", &Launch::local_bytes_per_thread)
      .def_ro("before", &Launch::before, "Host steps before the launch.")
      .def_ro("stream", &Launch::stream);
}

void bind_program(nb::module_& m) {
  using trace::Program;
  nb::class_<Program>(m, "TraceProgram", "What is known before any operation is read.")
      .def(
          "__init__",
          [](Program* self, std::string name, std::string description, bool synthetic,
             std::vector<trace::Allocation> allocations, std::vector<trace::Launch> launches,
             std::vector<HostStep> after, std::uint64_t thread_instructions) {
            new (self) Program{std::move(name),        std::move(description), synthetic,
                               std::move(allocations), std::move(launches),    std::move(after),
                               thread_instructions};
          },
          "name"_a, nb::kw_only(), "description"_a, "synthetic"_a, "allocations"_a, "launches"_a,
          "after"_a, "thread_instructions"_a)
      .def_ro("name", &Program::name)
      .def_ro("description", &Program::description)
      .def_ro("synthetic", &Program::synthetic)
      .def_ro("allocations", &Program::allocations)
      .def_ro("launches", &Program::launches)
      .def_ro("after", &Program::after, "Host steps after the last launch.")
      .def_ro("thread_instructions", &Program::thread_instructions, "0: unknown.");
}

void bind_block(nb::module_& m) {
  nb::class_<TraceBlock>(m, "TraceBlock",
                         "Whole CTAs of one launch. The arrays are views: while one of them is "
                         "alive, the trace can't advance.")
      .def_prop_ro("launch", [](const TraceBlock& b) { return b.block.launch; })
      .def_prop_ro("first_cta", [](const TraceBlock& b) { return b.block.first_cta; })
      .def_prop_ro("num_ctas", [](const TraceBlock& b) { return b.block.num_ctas; })
      .def_prop_ro("op_begin", &block_array<&trace::Block::op_begin>,
                   nb::sig("def op_begin(self) -> numpy.typing.NDArray[numpy.uint32]"))
      .def_prop_ro("kinds", &block_array<&trace::Block::kinds>,
                   nb::sig("def kinds(self) -> numpy.typing.NDArray[numpy.uint8]"))
      .def_prop_ro("compute", &block_array<&trace::Block::compute>,
                   nb::sig("def compute(self) -> numpy.typing.NDArray[numpy.uint32]"))
      .def_prop_ro("line_begin", &block_array<&trace::Block::line_begin>,
                   nb::sig("def line_begin(self) -> numpy.typing.NDArray[numpy.uint32]"))
      .def_prop_ro("lines", &block_array<&trace::Block::lines>,
                   nb::sig("def lines(self) -> numpy.typing.NDArray[numpy.uint64]"));
}

void bind_managed_accesses(nb::class_<TraceSource>& source) {
  source
      .def_static(
          "of_managed_read",
          [](std::uint64_t size_bytes, std::uint32_t num_cores, bool at_random,
             std::uint32_t num_reads) {
            using isthmus::workloads::PageOrder;
            return std::make_unique<TraceSource>(isthmus::workloads::make_managed_read(
                size_bytes, num_cores, at_random ? PageOrder::random : PageOrder::forward,
                num_reads));
          },
          "size_bytes"_a, "num_cores"_a, "at_random"_a, "num_reads"_a, Release(),
          "All of some managed memory, read by one kernel after the other, as `isthmus bench "
          "--managed` reads it: in order, or its pages of 4 KiB in a random order.")
      .def_static(
          "of_managed_write",
          [](std::uint64_t size_bytes, std::uint32_t num_cores) {
            return std::make_unique<TraceSource>(
                isthmus::workloads::make_managed_write(size_bytes, num_cores));
          },
          "size_bytes"_a, "num_cores"_a, Release(),
          "All of some managed memory, written once by a kernel, then read by the CPU, as `isthmus "
          "bench --managed` does it.")
      .def_static(
          "of_page_chase",
          [](std::uint32_t num_pages, bool then_cpu) {
            using isthmus::workloads::Chaser;
            return std::make_unique<TraceSource>(isthmus::workloads::make_page_chase(
                num_pages, then_cpu ? Chaser::gpu_then_cpu : Chaser::gpu));
          },
          "num_pages"_a, "then_cpu"_a, Release(),
          "One thread that reads a word in pages 2 MiB apart; then perhaps the CPU.");
}

void bind_source(nb::module_& m) {
  nb::class_<TraceSource> source(m, "TraceSource", "A program's operations, block by block.");
  source
      .def(
          "__init__",
          [](TraceSource* self, std::string label, const trace::Program& program,
             std::uint64_t num_blocks, nb::callable read_block, nb::object mapping,
             int descriptor) {
            new (self) TraceSource(std::make_unique<PythonBlocks>(
                std::move(label), program, num_blocks, std::move(read_block),
                MappedFile{std::move(mapping), descriptor}));
          },
          "label"_a, "program"_a, "num_blocks"_a, "read_block"_a, nb::kw_only(),
          "mapping"_a = nb::none(), "descriptor"_a = -1,
          nb::sig("def __init__(self, label: str, program: TraceProgram, num_blocks: int, "
                  "read_block: collections.abc.Callable[[int], object], *, "
                  "mapping: object | None = None, descriptor: int = -1) -> None"),
          "If `mapping` is a mapped file with this descriptor, blocks in it can be read again from "
          "the file.")
      .def_static(
          "of_workload",
          [](const std::string& name, std::uint64_t seed,
             const isthmus::workloads::GivenSizes& sizes) {
            return std::make_unique<TraceSource>(
                isthmus::workloads::make_workload(name, seed, sizes));
          },
          "name"_a, "seed"_a = 0, "sizes"_a = isthmus::workloads::GivenSizes(), Release(),
          "A workload of the registry, with sizes that aren't the usual ones; UsageError for an "
          "unknown name or a size that isn't allowed.")
      .def_prop_ro("program", &TraceSource::program)
      .def("next", &next_block, nb::keep_alive<0, 1>(),
           nb::sig("def next(self) -> TraceBlock | None"), "The next block; None at the end.")
      .def("rewind", &start_again)
      .def(
          "__iter__",
          [](nb::handle self) {
            start_again(nb::cast<TraceSource&>(self));
            return nb::borrow(self);
          },
          nb::sig("def __iter__(self) -> TraceSource"))
      .def("__next__", &iterate, nb::keep_alive<0, 1>(),
           nb::sig("def __next__(self) -> TraceBlock"));
  bind_managed_accesses(source);
}

}  // namespace

void bind_trace(nb::module_& m) {
  bind_steps(m);
  bind_launch(m);
  bind_program(m);
  bind_block(m);
  bind_source(m);
}
