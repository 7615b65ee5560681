// Blocks of a trace: whatever a file's arrays hold, check_block refuses them, or the simulator can
// run them.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <isthmus/errors.hpp>

#include "expectations.hpp"
#include "input_bytes.hpp"
#include "sim/deadlock.hpp"
#include "sim/random_programs.hpp"
#include "sim/simulator.hpp"
#include "trace/checking.hpp"
#include "trace/trace.hpp"

namespace isthmus::fuzz {
namespace {

/// A block's arrays, each as long as its memory, so that AddressSanitizer sees what lies beyond.
struct Arrays {
  std::vector<std::uint32_t> op_begin{0};
  std::vector<std::uint8_t> kinds;
  std::vector<std::uint32_t> compute;
  std::vector<std::uint32_t> line_begin{0};
  std::vector<std::uint64_t> lines;

  trace::Block block(std::uint32_t launch, std::uint32_t first_cta, std::uint32_t num_ctas) const {
    return {launch, first_cta, num_ctas, op_begin, kinds, compute, line_begin, lines};
  }
};

std::uint64_t line(InputBytes& input) {
  const std::uint8_t shape = input.byte();
  if (shape % 4 == 0) return input.take<std::uint64_t>();
  if (shape % 4 == 1) return input.take<std::uint64_t>() >> 7U;
  return input.take<std::uint16_t>();
}

void add_operation(InputBytes& input, Arrays& arrays, bool last) {
  const std::uint8_t shape = input.byte();
  const std::uint8_t kind = last ? std::uint8_t{6} : static_cast<std::uint8_t>(shape % 6);
  std::size_t num_lines = shape / 6U % 8U;
  if (kind == 3 || kind == 4) num_lines = 1;
  if (kind >= 5) num_lines = 0;
  if (kind < 3 && num_lines == 0) num_lines = 1;
  for (std::size_t i = 0; i < num_lines; ++i) arrays.lines.push_back(line(input));
  arrays.kinds.push_back(kind);
  arrays.compute.push_back(shape >= 0xf0 ? input.take<std::uint32_t>() : shape);
  arrays.line_begin.push_back(static_cast<std::uint32_t>(arrays.lines.size()));
}

/// Arrays that keep the rules, but for lines that no GPU has.
Arrays orderly(InputBytes& input, std::size_t num_warps) {
  Arrays arrays;
  for (std::size_t warp = 0; warp < num_warps; ++warp) {
    for (std::size_t left = input.byte() % 8; left > 0; --left) add_operation(input, arrays, false);
    add_operation(input, arrays, true);
    arrays.op_begin.push_back(static_cast<std::uint32_t>(arrays.kinds.size()));
  }
  return arrays;
}

template <typename Item>
void damage(InputBytes& input, std::vector<Item>& items) {
  const std::uint8_t how = input.byte();
  if (how % 8 == 0) return items.resize(input.below(items.size() + 4));
  if (!items.empty()) items[input.below(items.size())] = input.take<Item>();
}

void damage(InputBytes& input, Arrays& arrays) {
  switch (input.byte() % 5) {
    case 0:
      return damage(input, arrays.op_begin);
    case 1:
      return damage(input, arrays.kinds);
    case 2:
      return damage(input, arrays.compute);
    case 3:
      return damage(input, arrays.line_begin);
    default:
      return damage(input, arrays.lines);
  }
}

trace::HostStep host_step(InputBytes& input) {
  const std::uint8_t shape = input.byte();
  trace::HostStep step{static_cast<trace::HostStep::Kind>(shape % 4),
                       input.take<std::uint64_t>() >> 8U,
                       input.take<std::uint64_t>() >> (input.byte() % 64)};
  if (shape >= 0x80) step.stream = shape / 4U % 4U;
  return step;
}

trace::Program program_of(InputBytes& input) {
  trace::Program program;
  for (std::size_t left = 1 + input.byte() % 2; left > 0; --left) {
    trace::Launch launch;
    launch.num_ctas = 1 + input.byte() % 3U;
    launch.threads_per_cta = 1 + input.byte() % 96U;
    launch.warps_per_cta = (launch.threads_per_cta + 31) / 32;
    const std::uint8_t shape = input.byte();
    launch.max_ctas_per_sm = shape % 4U;
    launch.stream = shape / 4U % 4U;
    launch.local_bytes_per_thread = input.byte() % 4 == 0 ? input.take<std::uint32_t>() : 0;
    if (input.byte() % 4 == 0) launch.before.push_back(host_step(input));
    program.launches.push_back(launch);
  }
  if (input.byte() % 4 == 0) program.after.push_back(host_step(input));
  return program;
}

/// A block for each launch, some of them damaged. Checks what it gives, as a file's source does.
class FuzzedSource : public trace::Source {
public:
  FuzzedSource(trace::Program program, std::vector<Arrays> arrays)
      : program_(std::move(program)), arrays_(std::move(arrays)), order_(program_) {}

  const trace::Program& program() const override { return program_; }
  void rewind() override {
    next_ = 0;
    order_.rewind();
  }
  std::optional<trace::Block> next() override {
    if (next_ == arrays_.size()) {
      order_.check_end();
      return std::nullopt;
    }
    const auto launch = static_cast<std::uint32_t>(next_);
    const trace::Block block =
        arrays_[next_++].block(launch, 0, program_.launches[launch].num_ctas);
    trace::check_block(program_, block);
    order_.check(block);
    return block;
  }

private:
  trace::Program program_;
  std::vector<Arrays> arrays_;
  trace::BlockOrder order_;
  std::size_t next_ = 0;
};

std::unique_ptr<FuzzedSource> source_of(InputBytes& input) {
  trace::Program program = program_of(input);
  trace::check_program(program);
  std::vector<Arrays> arrays;
  for (const trace::Launch& launch : program.launches) {
    Arrays one = orderly(input, std::size_t{launch.num_ctas} * launch.warps_per_cta);
    for (std::size_t left = input.byte() % 4; left > 0; --left) damage(input, one);
    arrays.push_back(std::move(one));
  }
  return std::make_unique<FuzzedSource>(std::move(program), std::move(arrays));
}

pages::MigrationPolicy policy_of(InputBytes& input) {
  pages::MigrationPolicy policy;
  policy.kind = static_cast<pages::PolicyKind>(input.byte() % 11);
  return policy;
}

void simulate(InputBytes& input) {
  sim::Options options;
  options.mode = static_cast<sim::Mode>(input.byte() % 3);
  options.count_downloads = input.byte() % 2 == 0;
  options.local_memory = static_cast<sim::LocalMemory>(input.byte() % 2);
  if (input.byte() % 2 == 0) options.eviction.limit_bytes = 2U << 20U;
  const pages::MigrationPolicy policy = policy_of(input);
  try {
    const auto source = source_of(input);
    sim::simulate(sim::small::two_core_machine(), policy, options, *source);
  } catch (const UsageError& refusal) {
    expect_message(refusal);
  } catch (const sim::Deadlock& deadlock) {
    expect_message(deadlock);
  }
}

}  // namespace
}  // namespace isthmus::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  isthmus::fuzz::InputBytes input(data, size_bytes);
  isthmus::fuzz::simulate(input);
  return 0;
}
