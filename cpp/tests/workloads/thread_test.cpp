// Kernels compiled as for GPUs, thread by thread, give the same results as their warps.
#include "workloads/recording/thread.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <cstddef>
#include <thread>
#include <vector>

#include "recording.hpp"
#include "workloads/evaluation/bfs.hpp"
#include "workloads/evaluation/mum.hpp"
#include "workloads/evaluation/nn.hpp"
#include "workloads/evaluation/nqu.hpp"
#include "workloads/evaluation/physics.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

/// For kernels without barriers: one thread after the other.
struct NoBarrier {
  void operator()() const { FAIL() << "this kernel has a barrier"; }
};

template <class Kernel>
void run_threads(std::uint32_t num_ctas, std::uint32_t num_threads, Kernel kernel) {
  for (std::uint32_t cta = 0; cta < num_ctas; ++cta)
    for (std::uint32_t thread = 0; thread < num_threads; ++thread) {
      ThreadCta one(cta, num_threads, Thread(thread), nullptr, NoBarrier());
      kernel(one);
    }
}

/// One CTA of a kernel with barriers: all threads concurrently.
template <class Kernel>
void run_cta_of_threads(std::uint32_t cta, std::uint32_t num_threads, Kernel kernel) {
  alignas(16) std::byte shared[1 << 15];
  std::barrier all(num_threads);
  const auto wait = [&all] { all.arrive_and_wait(); };
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < num_threads; ++thread)
    threads.emplace_back([&, thread] {
      ThreadCta one(cta, num_threads, Thread(thread), shared, wait);
      kernel(one);
    });
  for (std::thread& thread : threads) thread.join();
}

template <class T>
std::vector<T> values_of(const Array<T>& array) {
  return {array.values, array.values + array.num_elements};
}

TEST(Threads, FindTheCostsOfBfs) {
  Recorded<Bfs> run(std::make_unique<Bfs>(BfsSizes(), 3));
  const BfsArguments in = run.program.arguments();
  const std::vector<int> expected = values_of(in.cost);
  run.program.reset();
  for (std::uint32_t level = 0; level < run.program.program().launches.size(); ++level) {
    run.program.before(level);
    run_threads(BfsSizes().nodes / Bfs::kThreadsPerCta, Bfs::kThreadsPerCta,
                [&](auto& cta) { bfs_level(cta, run.program.arguments()); });
  }
  EXPECT_EQ(values_of(in.cost), expected);
}

TEST(Threads, FindTheMatchesOfMum) {
  Recorded<Mum> run(std::make_unique<Mum>(MumSizes{.letters = 10'000}, 3));
  const MumArguments& in = run.program.arguments();
  const std::vector<MumMatch> expected = values_of(in.matches);
  run.program.reset();
  run_threads(run.program.program().launches[0].num_ctas, 256,
              [&](auto& cta) { mum_reads(cta, in); });
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(in.matches.values[i].node, expected[i].node) << i;
    ASSERT_EQ(in.matches.values[i].length, expected[i].length) << i;
  }
}

TEST(Threads, ComputeTheNeuronsOfNn) {
  Recorded<Nn> run(std::make_unique<Nn>(NnSizes(), 3));
  const auto& layers = run.program.layers();
  const std::vector<float> expected = values_of(layers.back().outputs);
  run.program.reset();
  for (std::uint32_t index = 0; index < Nn::kNumLayers; ++index) {
    const trace::Launch& launch = run.program.program().launches[index];
    run_threads(launch.num_ctas, launch.threads_per_cta, [&](auto& cta) {
      if (index < 2)
        nn_convolution(cta, layers[index]);
      else
        nn_connected(cta, layers[index]);
    });
  }
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_FLOAT_EQ(layers.back().outputs.values[i], expected[i]) << i;
}

TEST(Threads, ComputeThePotentialOfCp) {
  Recorded<Cp> run(std::make_unique<Cp>(CpSizes(), 3));
  const CpArguments& in = run.program.arguments();
  const std::vector<float> expected = values_of(in.potential);
  run.program.reset();
  run_threads(run.program.program().launches[0].num_ctas, kCpWidth * kCpHeight,
              [&](auto& cta) { cp_plane(cta, in); });
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(in.potential.values[i], expected[i], 1e-4F) << i;
}

TEST(Threads, ComputeAColumnOfLps) {
  Recorded<Lps> run(std::make_unique<Lps>(LpsSizes(), 3));
  const LpsArguments& in = run.program.arguments();
  const std::vector<float> expected = values_of(in.after);
  run.program.reset();
  const std::uint32_t cta = 5;  // at x 32 to 63, y 4 to 7
  run_cta_of_threads(cta, kLpsWidth * kLpsHeight, [&](auto& one) { lps_step(one, in); });
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::size_t x = i % LpsSizes().size;
    const std::size_t y = i / LpsSizes().size % LpsSizes().size;
    const bool computed = x >= 32 && x < 64 && y >= 4 && y < 8;
    ASSERT_EQ(in.after.values[i], computed ? expected[i] : 0.0F) << x << ", " << y;
  }
}

TEST(Threads, CountTheWaysOfNqu) {
  Recorded<Nqu> run(std::make_unique<Nqu>(NquSizes(), 1));
  run.program.reset();
  EXPECT_EQ(run.program.num_ways(), 0U);
  run_cta_of_threads(0, kNquThreads, [&](auto& cta) { nqu_board(cta, run.program.arguments()); });
  EXPECT_EQ(run.program.num_ways(), 724U);  // all tasks are in the first CTA
}

}  // namespace
}  // namespace isthmus::workloads
