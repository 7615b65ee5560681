#include "bindings/sim/trace_source.hpp"

#include <cstddef>
#include <utility>

#include <isthmus/errors.hpp>

#include "bindings/gil.hpp"

TraceSource::Use::Use(TraceSource& owner) : owner_(owner) {
  if (owner.in_use_) {
    throw isthmus::UsageError(
        "this trace is in use, by another thread or by its own reading: a trace has one position, "
        "open it once for each user");
  }
  if (owner.arrays_.use_count() > 1) {
    throw isthmus::UsageError(
        "arrays of the trace's last block are still alive, and what comes next would overwrite "
        "them: drop or copy them first");
  }
  owner.in_use_ = true;
  ++owner.position_;
}

namespace nb = nanobind;
namespace trace = isthmus::trace;

PythonBlocks::PythonBlocks(std::string label, trace::Program program, std::uint64_t num_blocks,
                           nb::callable read_block, const MappedFile& file)
    : label_(std::move(label)),
      program_(std::move(program)),
      num_blocks_(num_blocks),
      read_block_(std::move(read_block)),
      order_(program_) {
  try {
    trace::check_program(program_);
  } catch (const isthmus::UsageError& error) {
    throw isthmus::UsageError(label_ + ": " + error.what());
  }
  if (file.descriptor >= 0) map(file);
}

void PythonBlocks::map(const MappedFile& file) {
  store_ = std::make_shared<trace::FileStore>(label_, file.descriptor);
  if (PyObject_GetBuffer(file.mapping.ptr(), &mapping_, PyBUF_SIMPLE) != 0)
    throw nb::python_error();
}

PythonBlocks::~PythonBlocks() {
  const GilHeld held;
  into_python([this] {
    release();
    if (mapping_.obj != nullptr) PyBuffer_Release(&mapping_);
    read_block_.reset();
  });
}

void PythonBlocks::fail(const std::string& why) const {
  throw isthmus::UsageError(label_ + ", block " + std::to_string(next_block_) + ": " + why);
}

void PythonBlocks::rewind() {
  order_.rewind();
  next_block_ = 0;
}

std::optional<trace::Block> PythonBlocks::next() {
  try {
    if (next_block_ == num_blocks_) {
      order_.check_end();
      return std::nullopt;
    }
    {
      const GilHeld held;
      into_python([this] {
        release();
        hold(read_block_(next_block_));
      });
    }
    trace::Block block = held_block();
    trace::check_block(program_, block);
    order_.check(block);
    block.stored = stored(block);
    ++next_block_;
    return block;
  } catch (const isthmus::UsageError& error) {
    fail(error.what());
  }
}

void PythonBlocks::hold(nb::handle buffers) {
  if (nb::len(buffers) != kNumBuffers) throw isthmus::UsageError("a block has seven buffers");
  for (std::size_t i = 0; i < kNumBuffers; ++i) {
    const nb::object buffer = buffers[i];
    if (PyObject_GetBuffer(buffer.ptr(), &buffers_[i], PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
}

void PythonBlocks::release() noexcept {
  for (Py_buffer& buffer : buffers_) {
    if (buffer.obj != nullptr) PyBuffer_Release(&buffer);
  }
}

template <typename Item>
std::span<const Item> PythonBlocks::items(std::size_t buffer, const char* name) const {
  const Py_buffer& held = buffers_[buffer];
  const auto size_bytes = static_cast<std::size_t>(held.len);
  if (size_bytes % sizeof(Item) != 0) {
    throw isthmus::UsageError(std::string(name) + " has " + std::to_string(size_bytes) + " bytes");
  }
  if (reinterpret_cast<std::uintptr_t>(held.buf) % alignof(Item) != 0 && size_bytes > 0) {
    throw isthmus::UsageError(std::string(name) + " is not aligned to its numbers");
  }
  return {static_cast<const Item*>(held.buf), size_bytes / sizeof(Item)};
}

trace::Block PythonBlocks::held_block() const {
  const auto launches = items<std::uint32_t>(0, "launch");
  const auto ctas = items<std::uint32_t>(1, "cta");
  if (launches.empty() || launches.size() != ctas.size()) {
    throw isthmus::UsageError(std::to_string(launches.size()) + " warps have a launch, " +
                              std::to_string(ctas.size()) + " a CTA");
  }
  trace::Block block;
  block.launch = launches.front();
  block.first_cta = ctas.front();
  if (block.launch >= program_.launches.size()) {
    throw isthmus::UsageError("launch " + std::to_string(block.launch) + " doesn't exist");
  }
  const std::uint32_t warps_per_cta = program_.launches[block.launch].warps_per_cta;
  if (launches.size() % warps_per_cta != 0) {
    throw isthmus::UsageError("the last CTA lacks warps");
  }
  for (std::size_t warp = 0; warp < launches.size(); ++warp) {
    if (launches[warp] == block.launch && ctas[warp] == block.first_cta + warp / warps_per_cta) {
      continue;
    }
    throw isthmus::UsageError("warp " + std::to_string(warp) + " is of another launch or CTA");
  }
  block.num_ctas = static_cast<std::uint32_t>(launches.size() / warps_per_cta);
  block.op_begin = items<std::uint32_t>(2, "op_begin");
  block.kinds = items<std::uint8_t>(3, "kinds");
  block.compute = items<std::uint32_t>(4, "compute");
  block.line_begin = items<std::uint32_t>(5, "line_begin");
  block.lines = items<std::uint64_t>(6, "lines");
  return block;
}

// An array outside the mapping was decompressed, or copied for alignment. An empty array is never
// read.
trace::StoredBlock PythonBlocks::stored(const trace::Block& block) const {
  const auto base = reinterpret_cast<std::uintptr_t>(mapping_.buf);
  bool all = store_ != nullptr;
  const auto offset = [&](auto array) -> std::uint64_t {
    const auto address = reinterpret_cast<std::uintptr_t>(array.data());
    const auto size_bytes = static_cast<std::uintptr_t>(mapping_.len);
    if (array.empty()) return 0;
    all = all && address >= base && address - base <= size_bytes &&
          array.size_bytes() <= size_bytes - (address - base);
    return address - base;
  };
  const trace::StoredBlock found{store_, offset(block.kinds), offset(block.compute),
                                 offset(block.line_begin), offset(block.lines)};
  return all ? found : trace::StoredBlock{};
}
