// Breadth-first search over a random graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "workloads/bfs_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// The host launches the kernel once for each level, until a launch reaches no node. One byte tells
/// it so; the host clears the byte before each launch and reads it afterwards. No explicit copy
/// written in advance can replace this, and with migration it takes the page away from the GPU
/// every time.
class Bfs : public Workload {
public:
  static constexpr std::uint32_t kNumNodes = 65536;
  static constexpr std::uint32_t kEdgesPerNode = 6;
  static constexpr std::uint32_t kThreadsPerCta = 256;
  static constexpr std::uint32_t kSource = 0;

  explicit Bfs(std::uint64_t seed);

  void reset() override;
  void before(std::uint32_t launch) override;
  void run(std::uint32_t launch, Cta& cta) override;

  const BfsArguments& arguments() const { return arguments_; }

private:
  void connect(std::uint64_t seed);
  std::uint32_t num_levels() const;
  void describe();

  BfsArguments arguments_{};
};

std::unique_ptr<Workload> make_bfs(std::uint64_t seed);

}  // namespace isthmus::workloads
