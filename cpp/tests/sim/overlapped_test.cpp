// Copies in streams beside kernels: times that can be calculated by hand, to the picosecond.
#include <gtest/gtest.h>

#include <algorithm>

#include <isthmus/errors.hpp>

#include "random_programs.hpp"

namespace isthmus::sim::small {
namespace {

constexpr Picoseconds kChunk = 1'024'000;              // 1 KiB at 1 GB/s
constexpr Picoseconds kLoad = 4 * kCycle + kDramLoad;  // a warp's instruction, and its line

Options overlapped(std::uint64_t chunk_bytes = kKiB) {
  Options options = mode(Mode::overlapped);
  options.chunk_bytes = chunk_bytes;
  return options;
}

/// A CTA of one warp that loads one line, or stores one.
std::vector<WarpSteps> loads(std::uint64_t line) { return {{load({line})}}; }
std::vector<WarpSteps> stores(std::uint64_t line) { return {{store({line})}}; }

TEST(Overlapped, OneChunkIsTheProgrammersCopy) {
  const Builder builder = Builder().launch({upload(0, 4096)}, {loads(8)});
  ModelledMachine machine = round_machine();
  machine.link.latency_ps = 500;
  machine.launch.latency_ps = 7000;
  const Result copied = run(builder, machine, {}, mode(Mode::programmer));
  const Result beside = run(builder, machine, {}, overlapped(4096));
  EXPECT_EQ(beside.total_ps, copied.total_ps);
  EXPECT_EQ(beside.copy_ps, copied.copy_ps);
  EXPECT_EQ(beside.kernel_ps, copied.kernel_ps);
  EXPECT_EQ(beside.traffic.copied_to_gpu, 4096U);
}

TEST(Overlapped, ACtaBeginsWhenItsChunkHasArrivedAndTheLinksLatencyCountsOnce) {
  // Four CTAs, one for each chunk: the last one's work follows the last chunk.
  const Builder builder =
      Builder().launch({upload(0, 4 * kKiB)}, {loads(0), loads(8), loads(16), loads(24)});
  ModelledMachine machine = round_machine();
  machine.link.latency_ps = 700'000;
  const Result result = run(builder, machine, {}, overlapped());
  EXPECT_EQ(result.total_ps, 4 * kChunk + 700'000U + kLoad);
  EXPECT_EQ(result.launches[0].start_ps, kChunk + 700'000U);
  EXPECT_EQ(result.copy_ps, kChunk + 700'000U);
  EXPECT_EQ(result.kernel_ps, 3 * kChunk + kLoad);
}

TEST(Overlapped, ASliceThatHasWaitedIsLaunched) {
  const Builder builder = Builder().launch({upload(0, 2 * kKiB)}, {loads(0), loads(8)});
  ModelledMachine machine = round_machine();
  machine.launch.latency_ps = 5'000'000;
  const Result result = run(builder, machine, {}, overlapped());
  EXPECT_EQ(result.launches[0].start_ps, kChunk + 5'000'000U);
  EXPECT_EQ(result.total_ps, 2 * kChunk + 5'000'000U + kLoad);
}

TEST(Overlapped, ACtaWaitsForWhatTheCtasBeforeItNeed) {
  // The first CTA needs the last chunk, and the second only the first: neither begins earlier.
  const Builder builder = Builder().launch({upload(0, 4 * kKiB)}, {loads(24), {{barrier(499)}}});
  const Result result = run(builder, round_machine(), {}, overlapped());
  EXPECT_EQ(result.launches[0].start_ps, 4 * kChunk);
  EXPECT_EQ(result.total_ps, 4 * kChunk + 500 * 4 * kCycle);
}

TEST(Overlapped, WhatTheProgramDoesNotCopyIsThere) {
  const Builder builder = Builder().launch({upload(0, 4 * kKiB)}, {stores(1000)});
  const Result result = run(builder, round_machine(), {}, overlapped());
  // The kernel needs no chunk, and the program ends with its copies.
  EXPECT_EQ(result.kernel_ps, (4 + 10 + 4) * kCycle);
  EXPECT_EQ(result.total_ps, 4 * kChunk);
}

TEST(Overlapped, ArraysInTurnsAreHalfThereAtTheSameTime) {
  // Each CTA needs a line of each array, as the sum of two vectors does.
  const std::vector<std::vector<WarpSteps>> ctas{{{load({0, 64})}}, {{load({8, 72})}}};
  const Builder builder = Builder().launch({upload(0, 2 * kKiB), upload(8 * kKiB, 2 * kKiB)}, ctas);
  Options options = overlapped();
  options.chunk_order = ChunkOrder::program;
  const Result after = run(builder, round_machine(), {}, options);
  EXPECT_EQ(after.launches[0].start_ps, 3 * kChunk);
  options.chunk_order = ChunkOrder::in_turns;
  const Result turns = run(builder, round_machine(), {}, options);
  EXPECT_EQ(turns.launches[0].start_ps, 2 * kChunk);
  EXPECT_EQ(turns.total_ps, after.total_ps);
}

TEST(Overlapped, InTurnsASmallArrayComesBeforeTheRestOfALargeOne) {
  // A key of four bytes, copied last, which every CTA needs.
  const Builder builder =
      Builder().launch({upload(0, 2 * kKiB), upload(8 * kKiB, 4)}, {{{load({0, 64})}}});
  Options options = overlapped();
  EXPECT_EQ(run(builder, round_machine(), {}, options).launches[0].start_ps, kChunk + 4'000U);
  options.chunk_order = ChunkOrder::program;
  EXPECT_EQ(run(builder, round_machine(), {}, options).launches[0].start_ps, 2 * kChunk + 4'000U);
}

TEST(Overlapped, AnUploadForALaterKernelRunsBesideAnEarlierOne) {
  // The second kernel's array isn't touched by the first, which takes longer than its copy.
  const std::vector<WarpSteps> busy{{load({0}), barrier(999)}};
  const Builder builder =
      Builder().launch({upload(0, kKiB)}, {busy}).launch({upload(8 * kKiB, kKiB)}, {loads(64)});
  const Result result = run(builder, round_machine(), {}, overlapped());
  EXPECT_EQ(result.total_ps, kChunk + kLoad + 1000 * 4 * kCycle + kLoad);
}

TEST(Overlapped, AnUploadWaitsForTheKernelThatStillUsesItsBytes) {
  const Builder builder =
      Builder().launch({upload(0, kKiB)}, {loads(0)}).launch({upload(0, kKiB)}, {loads(0)});
  const Result result = run(builder, round_machine(), {}, overlapped());
  EXPECT_EQ(result.total_ps, 2 * kChunk + kLoad + 4 * kCycle + kL2Load);
}

TEST(Overlapped, ADownloadRunsBesideALaterKernel) {
  const std::vector<WarpSteps> busy{{barrier(999)}};
  const Builder builder = Builder()
                              .launch({}, {stores(0)})
                              .launch({download(0, kKiB)}, {busy})
                              .after({download(8 * kKiB, kKiB)});
  Options options = overlapped();
  options.count_downloads = true;
  const Result result = run(builder, round_machine(), {}, options);
  // The first copy is done long before the second kernel; nobody stores to what the second copies.
  EXPECT_EQ(result.total_ps, (4 + 10 + 4) * kCycle + 1000 * 4 * kCycle);
  EXPECT_EQ(result.traffic.copied_to_cpu, 2 * kKiB);
}

TEST(Overlapped, AKernelThatStoresToBytesOnTheirWayBackWaits) {
  const Builder builder =
      Builder().launch({}, {stores(0)}).launch({download(0, kKiB)}, {stores(0)});
  Options options = overlapped();
  options.count_downloads = true;
  const Picoseconds kernel = (4 + 10 + 4) * kCycle;
  EXPECT_EQ(run(builder, round_machine(), {}, options).total_ps, 2 * kernel + kChunk);
  options.count_downloads = false;
  EXPECT_EQ(run(builder, round_machine(), {}, options).total_ps, 2 * kernel);
}

TEST(Overlapped, AnUploadMayDependOnWhatWasDownloadedBefore) {
  // As a program does that reads a flag after each step, and then decides.
  const Builder builder =
      Builder()
          .launch({upload(0, kKiB)}, {stores(64)})
          .launch({download(8 * kKiB, kKiB), upload(16 * kKiB, kKiB)}, {loads(128)});
  Options options = overlapped();
  options.count_downloads = true;
  const Result result = run(builder, round_machine(), {}, options);
  // The first kernel needs no upload.
  EXPECT_EQ(result.total_ps, (4 + 10 + 4) * kCycle + kChunk + kChunk + kLoad);
}

TEST(Overlapped, TheTwoDirectionsDontWaitForEachOtherUnlessTheyShareTheLink) {
  // An upload that nobody needs, and a download, both of them after the first kernel.
  const Builder builder = Builder()
                              .launch({}, {{{store({0}), load({128})}}})
                              .after({upload(16 * kKiB, kKiB), download(0, kKiB)});
  Options options = overlapped();
  options.count_downloads = true;
  ModelledMachine machine = round_machine();
  const Result both = run(builder, machine, {}, options);
  const Picoseconds kernel = both.launches[0].end_ps;
  EXPECT_EQ(both.total_ps, kernel + kChunk);
  machine.link.half_duplex = true;
  EXPECT_EQ(run(builder, machine, {}, options).total_ps, kernel + 2 * kChunk);
}

TEST(Overlapped, ALineOfTwoSmallCopiesNeedsBoth) {
  // Four bytes each: a flag and a count in one line.
  const Builder builder = Builder().launch({upload(4, 4), upload(64, 4)}, {loads(0)});
  const Result result = run(builder, round_machine(), {}, overlapped());
  EXPECT_EQ(result.launches[0].start_ps, 2 * 4'000U);
}

TEST(Overlapped, ProgramsCopiesAreItsOwnAndNotTooManyChunks) {
  const Builder builder = Builder().launch({upload(0, 1ULL << 50U)}, {loads(0)});
  EXPECT_THROW(run(builder, round_machine(), {}, overlapped()), UsageError);
  EXPECT_THROW(run(builder, round_machine(), {}, overlapped(0)), UsageError);
  Options touched = overlapped();
  touched.programmer_data = ProgrammerData::touched_global;
  EXPECT_THROW(run(builder, round_machine(), {}, touched), UsageError);
}

TEST(Overlapped, CopiesThatOverlapInTooManyWaysAreRefused) {
  // Each covers the ends of all before it: half a billion parts.
  std::vector<trace::HostStep> steps;
  for (std::uint64_t step = 1; step <= 32768; ++step) steps.push_back(download(0, step));
  const Builder builder = Builder().launch(std::move(steps), {loads(0)});
  EXPECT_THROW(run(builder, round_machine(), {}, overlapped()), UsageError);
}

/// A random program that copies all that it uses, some of it again between its kernels.
Builder copying(std::uint64_t seed) {
  RandomProgram program = random_program(seed, 4096, 3);
  std::mt19937_64 generator(seed);
  program.builder.before(0, {upload(0, 4096 * 128)});
  for (std::size_t launch = 1; launch < 3; ++launch) {
    const std::uint64_t address = generator() % 3000 * 128;
    program.builder.before(launch, {download(address, 8192), upload(address, 4096)});
  }
  return program.builder.after({download(0, 65536)});
}

// Perfect overlap of kernels (as long as with all data resident) with the programmer's copies. The
// order in which requests meet differs from the resident run's: a few percent either way.
TEST(Overlapped, IsBetweenPerfectOverlapAndTheProgrammersCopies) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const Builder builder = copying(seed);
    Options options = overlapped(8192);
    options.count_downloads = seed % 2 == 0;
    Options programmer = mode(Mode::programmer);
    programmer.count_downloads = options.count_downloads;
    ModelledMachine machine = two_core_machine();
    machine.link.bytes_per_s = 4'000'000'000 + seed * 2'000'000'000;
    const Result beside = run(builder, machine, {}, options);
    const Result copied = run(builder, machine, {}, programmer);
    const Result ideal = run(builder, machine, {}, mode(Mode::ideal));
    const auto time = [](const Result& result) { return static_cast<double>(result.total_ps); };
    EXPECT_GE(beside.total_ps, beside.link_to_gpu_busy_ps);
    EXPECT_GE(time(beside), 0.95 * time(ideal));
    EXPECT_LE(time(beside), 1.02 * time(copied));
    EXPECT_EQ(beside.traffic.copied_to_gpu, copied.traffic.copied_to_gpu);
    EXPECT_EQ(beside.traffic.copied_to_cpu, copied.traffic.copied_to_cpu);
    EXPECT_EQ(beside.line_requests, copied.line_requests);
  }
}

}  // namespace
}  // namespace isthmus::sim::small
