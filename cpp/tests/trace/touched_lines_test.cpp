#include "trace/touched_lines.hpp"

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include <string>
#include <vector>

namespace isthmus::trace {
namespace {

using Shown = std::vector<std::string>;
using Steps = std::vector<HostStep>;

HostStep upload(std::uint64_t address, std::uint64_t size_bytes) {
  return {HostStep::Kind::upload, address, size_bytes};
}

/// The allocations derived from touches of these addresses' lines.
Shown allocated(const std::vector<std::uint64_t>& addresses, const Steps& uploads) {
  TouchedLines touched;
  for (const std::uint64_t address : addresses) touched.add(address / kLineBytes);
  Shown result;
  for (const Allocation& each : touched.allocations(uploads)) {
    result.push_back(each.name + " " + std::to_string(each.address) + "+" +
                     std::to_string(each.size_bytes));
  }
  return result;
}

constexpr std::uint64_t kBlock = TouchedLines::kBlockBytes;

TEST(TouchedLines, LinesThatLieCloseAreOneAllocation) {
  EXPECT_EQ(allocated({4096, 0, kBlock - 128, 3 * kBlock}, {}),
            (Shown{"touched-0 0+" + std::to_string(kBlock),
                   "touched-1 " + std::to_string(3 * kBlock) + "+128"}));
}

TEST(TouchedLines, UploadsAreAllocationsOfTheirOwnUnlessTheyOverlap) {
  EXPECT_EQ(allocated({}, {upload(1024, 100), upload(0, 512), upload(256, 512), upload(768, 256)}),
            (Shown{"upload-0 0+768", "upload-1 768+256", "upload-2 1024+100"}));
}

TEST(TouchedLines, LinesWithinAnUploadAddNoAllocation) {
  // The upload ends within the line at 1024.
  EXPECT_EQ(allocated({256, 512, 1024}, {upload(256, 800)}), Shown{"upload-0 256+800"});
}

TEST(TouchedLines, NoAllocationReachesAcrossAnUpload) {
  EXPECT_EQ(allocated({0, 256, 512, 1024, 1280}, {upload(512, 256)}),
            (Shown{"touched-0 0+384", "upload-1 512+256", "touched-2 1024+384"}));
}

TEST(TouchedLines, MoreLinesThanCanBeSimulatedAreRefused) {
  TouchedLines touched(3);
  constexpr std::uint64_t kStep = TouchedLines::kBlockBytes / kLineBytes;
  for (const std::uint64_t block : {9, 1, 4}) touched.add(block * kStep);
  touched.add(kStep + 1);
  EXPECT_THROW(touched.add(5 * kStep), UsageError);
  EXPECT_THROW(touched.add(5 * kStep), UsageError);
  touched.add(4 * kStep + 7);
}

}  // namespace
}  // namespace isthmus::trace
