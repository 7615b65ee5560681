#include "trace/accelsim_kernel.hpp"

#include <gtest/gtest.h>
#include <isthmus/errors.hpp>

#include <string>
#include <vector>

#include "../messages.hpp"
#include "kernel_text.hpp"
#include "trace/checking.hpp"

namespace isthmus::trace {
namespace {

using isthmus::test::message_of;
using isthmus::test::says;
using test::Contents;
using test::cta_text;
using test::kExit;
using test::kHeader;
using test::read_all;
using test::small_kernel;
using test::warp_text;
using Lines = std::vector<std::uint64_t>;
using Kinds = std::vector<std::uint8_t>;

constexpr auto kLoad = static_cast<std::uint8_t>(OpKind::load);
constexpr auto kStore = static_cast<std::uint8_t>(OpKind::store);
constexpr auto kAtomic = static_cast<std::uint8_t>(OpKind::atomic);
constexpr auto kLocalLoad = static_cast<std::uint8_t>(OpKind::local_load);
constexpr auto kLocalStore = static_cast<std::uint8_t>(OpKind::local_store);
constexpr auto kBarrier = static_cast<std::uint8_t>(OpKind::barrier);
constexpr auto kEnd = static_cast<std::uint8_t>(OpKind::end);

/// One warp with these instructions, in a grid of one CTA.
std::string kernel_of(const std::vector<std::string>& instructions,
                      std::string header = std::string(kHeader)) {
  header.replace(header.find("(2,1,1)"), 7, "(1,1,1)");
  header.replace(header.find("(64,1,1)"), 8, "(32,1,1)");
  return header + cta_text("0,0,0", warp_text(0, instructions));
}

std::string replaced(std::string text, const std::string& old, const std::string& with) {
  return text.replace(text.find(old), old.size(), with);
}

std::string refusal(const std::string& text) {
  return message_of<UsageError>([&] { read_all(text); });
}

TEST(AccelSimKernel, InstructionsBecomeOperations) {
  const Contents found = read_all(small_kernel());
  const Kinds cta{kLoad, kStore, kLocalStore, kLocalStore, kBarrier, kEnd, kBarrier, kEnd};
  Kinds both = cta;
  both.insert(both.end(), cta.begin(), cta.end());
  EXPECT_EQ(found.kinds, both);
  EXPECT_EQ(std::vector(found.compute.begin(), found.compute.begin() + 8),
            (std::vector<std::uint32_t>{1, 0, 0, 0, 0, 1, 0, 1}));
  constexpr std::uint64_t kFirst = 0x7f1269c00000 / kLineBytes;
  // The store's last lane, of 8 bytes, is 1016 bytes behind its first. The stack's end is word 0.
  EXPECT_EQ(std::vector(found.lines.begin(), found.lines.begin() + 5),
            (Lines{kFirst, kFirst + 2, kFirst + 9, 3, 2}));
}

TEST(AccelSimKernel, ItsBlocksKeepTheRules) {
  TouchedLines touched;
  AccelSimKernel kernel("kernel-1.traceg", 0, touched);
  const std::string text = small_kernel();
  ASSERT_EQ(kernel.feed(text), text.size());
  kernel.finish(false);
  Program program;
  program.launches.push_back(kernel.launch());
  EXPECT_NO_THROW(check_program(program));
  EXPECT_NO_THROW(check_block(program, kernel.block()));
  EXPECT_EQ(program.launches[0].name, "_Z5levelPi");
  EXPECT_EQ(program.launches[0].num_ctas, 2U);
  EXPECT_EQ(program.launches[0].threads_per_cta, 64U);
  EXPECT_EQ(program.launches[0].local_bytes_per_thread, 16U);
  EXPECT_EQ(kernel.counts().thread_instructions, 2U * (5 * 32 + 4 + 2 * 32));
}

TEST(AccelSimKernel, PiecesOfAnySizeGiveTheSame) {
  const std::string text = small_kernel();
  const Contents whole = read_all(text);
  for (std::size_t piece_bytes = 1; piece_bytes < 200; ++piece_bytes) {
    TouchedLines touched;
    AccelSimKernel kernel("kernel-1.traceg", 0, touched);
    EXPECT_EQ(read_all(kernel, text, piece_bytes), whole) << piece_bytes;
  }
}

TEST(AccelSimKernel, FullBlocksEndWithACta) {
  std::vector<std::string> loads(3000, "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f1269c00000 128 0");
  const std::string warps = warp_text(0, loads) + warp_text(1, loads);
  const std::string text =
      std::string(kHeader) + cta_text("0,0,0", warps) + cta_text("1,0,0", warps);
  const Contents found = read_all(text);
  EXPECT_EQ(found.num_blocks, 2U);
  EXPECT_EQ(found.num_ctas, 2U);
  EXPECT_EQ(found.lines.size(), 4U * 3000 * 32);
}

TEST(AccelSimKernel, LanesThatShareALineAskOnce) {
  const Contents found =
      read_all(kernel_of({"0010 0000000f 1 R4 LDG.E.64 1 R2 8 2 0x10078 8 -8 4 0", kExit}));
  // The last lane's 8 bytes straddle two lines.
  EXPECT_EQ(found.lines, (Lines{0x200, 0x201}));
}

TEST(AccelSimKernel, SharedMemoryIsComputing) {
  const Contents found = read_all(kernel_of(
      {"0010 ffffffff 1 R4 LDS.U 1 R2 4 1 0x10 4 0", "0020 ffffffff 0 STS 2 R2 R4 4 1 0x10 4 0",
       "0030 ffffffff 1 R4 LDG.E 1 R2 4 1 0x10000 4 0", kExit}));
  EXPECT_EQ(found.kinds, (Kinds{kLoad, kEnd}));
  EXPECT_EQ(found.compute, (std::vector<std::uint32_t>{2, 1}));
}

TEST(AccelSimKernel, GenericAddressesArePlacedByTheirWindow) {
  const Contents found = read_all(
      kernel_of({"0010 00000001 1 R4 LD.E 1 R2 4 2 0x7f1300000010 0",  // shared
                 "0020 00000001 1 R4 LD.E 1 R2 4 2 0x7f12a5fffffc 0",  // local: the stack's end
                 "0030 00000001 0 ST.E 2 R2 R4 4 2 0x7f1269c00000 0",  // global
                 "0040 00000001 1 R4 ATOM.E.ADD 2 R2 R4 4 2 0x7f1269c00000 0", kExit}));
  EXPECT_EQ(found.kinds, (Kinds{kLocalLoad, kStore, kAtomic, kEnd}));
  EXPECT_EQ(found.lines[0], 0U);
}

TEST(AccelSimKernel, WithoutWindowsOnlySmallGenericAddressesAreShared) {
  std::string header(kHeader);
  header = replaced(header, "0x00007f1300000000", "0x0000000000000000");
  TouchedLines touched;
  AccelSimKernel kernel("kernel-1.traceg", 0, touched);
  const Contents found =
      read_all(kernel,
               kernel_of({"0010 00000001 1 R4 LD.E 1 R2 4 2 0x10 0",
                          "0020 00000001 1 R4 LD.E 1 R2 4 2 0x7f1269c00000 0", kExit},
                         header),
               1 << 20);
  EXPECT_EQ(found.kinds, (Kinds{kLoad, kEnd}));
  EXPECT_EQ(kernel.counts().unplaced_generic, 2U);
}

TEST(AccelSimKernel, LanesMayAskForDifferentLocalWords) {
  const Contents found =
      read_all(kernel_of({"0010 00000007 1 R4 LDL 1 R2 4 2 0xfffbc8 4 -4 0",
                          "0020 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f1269c00000 4 0", kExit}));
  EXPECT_EQ(found.kinds, (Kinds{kLocalLoad, kLocalLoad, kLoad, kEnd}));
}

TEST(AccelSimKernel, UntracedInstructionsAreCounted) {
  TouchedLines touched;
  AccelSimKernel kernel("kernel-1.traceg", 0, touched);
  read_all(
      kernel,
      kernel_of({"0010 ffffffff 1 R4 TEX.SCR.LL 2 R2 R3 0 0", "0020 ffffffff 1 R4 LDC.64 0 0 0",
                 "0030 ffffffff 0 UBLKCP 0 0 0", "0040 ffffffff 1 R4 LDXX 1 R2 4 1 0x10000 4 0",
                 "0050 ffffffff 0 LDGSTS.E.128 2 R2 R3 16 1 0x20 16 0",
                 "0060 ffffffff 0 LDGSTS.E.128 2 R2 R3 16 1 0x7f1269c00000 16 0",
                 "0070 00000000 1 R4 TEX 2 R2 R3 0 0", kExit}),
      1 << 20);
  const ImportCounts& counts = kernel.counts();
  EXPECT_EQ(counts.texture_accesses, 1U);
  EXPECT_EQ(counts.constant_accesses, 1U);
  EXPECT_EQ(counts.bulk_copies, 1U);
  EXPECT_EQ(counts.unknown_accesses, 1U);
  EXPECT_EQ(counts.half_copies, 1U);
  EXPECT_EQ(counts.copies_to_shared, 1U);
}

TEST(AccelSimKernel, WarpsAndCtasThatAreAbsentDoNothing) {
  const std::string text = std::string(kHeader) + cta_text("1,0,0", warp_text(1, {kExit}));
  TouchedLines touched;
  AccelSimKernel kernel("kernel-1.traceg", 0, touched);
  const Contents found = read_all(kernel, text, 1 << 20);
  EXPECT_EQ(found.kinds, (Kinds{kEnd, kEnd}));
  EXPECT_EQ(found.compute, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(kernel.counts().missing_ctas, 1U);
  EXPECT_EQ(kernel.launch().num_ctas, 1U);
}

TEST(AccelSimKernel, TheGridsLastCtasMayBeAbsentOnlyIfTheCallerSaysSo) {
  const std::string text = std::string(kHeader) + cta_text("0,0,0", warp_text(0, {kExit}));
  EXPECT_TRUE(says(refusal(text), "1 thread blocks before the grid's end of 2"));
  TouchedLines touched;
  AccelSimKernel kernel("kernel-1.traceg", 0, touched);
  kernel.feed(text);
  EXPECT_NO_THROW(kernel.finish(true));
}

TEST(AccelSimKernel, LoadsThatAreAllOfAddressZeroAreRefused) {
  EXPECT_TRUE(says(refusal(kernel_of({"0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x0 0 0", kExit})),
                   "old tracer's bug"));
}

TEST(AccelSimKernel, RawTracesAreNotGrouped) {
  const std::string text =
      std::string(kHeader) + "0 0 0 0 0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x10000 0 0\n";
  EXPECT_TRUE(says(refusal(text), "post-traces-processing"));
}

TEST(AccelSimKernel, ErrorsNameFileAndLine) {
  const std::string message = refusal(kernel_of({"0010 ffffffff 1 R4 LDG.E 1 R2 4 7 0x0", kExit}));
  EXPECT_TRUE(says(message, "kernel-1.traceg, line 24: the address mode is 7")) << message;
}

TEST(AccelSimKernel, ImpossibleHeadersAreRefused) {
  const std::string text = small_kernel();
  EXPECT_TRUE(says(refusal(replaced(text, "(64,1,1)", "(2048,1,1)")), "2048"));
  EXPECT_TRUE(says(refusal(replaced(text, "(64,1,1)", "(64,0,1)")), "a side of 0"));
  EXPECT_TRUE(says(refusal(replaced(text, "(2,1,1)", "(4294967295,2,1)")), "larger than"));
  EXPECT_TRUE(says(refusal(replaced(text, "(2,1,1)", "(2,1)")), "three sides"));
  EXPECT_TRUE(says(refusal(replaced(text, "-grid dim", "-grit dim")), "no '-grid dim'"));
  EXPECT_TRUE(says(refusal(replaced(text, "-nregs = 32", "-nregs 32")), "no '='"));
}

TEST(AccelSimKernel, AMissingOrRepeatedCtaWarpOrInstructionIsRefused) {
  const std::string text = small_kernel();
  EXPECT_TRUE(says(refusal(replaced(text, "= 1,0,0", "= 0,0,0")), "twice"));
  EXPECT_TRUE(says(refusal(replaced(text, "= 1,0,0", "= 2,0,0")), "outside of the grid"));
  EXPECT_TRUE(says(refusal(replaced(text, "warp = 1", "warp = 0")), "warp 0"));
  EXPECT_TRUE(says(refusal(replaced(text, "warp = 1", "warp = 9")), "warp 9"));
  EXPECT_TRUE(says(refusal(replaced(text, "insts = 6", "insts = 7")), "1 instructions"));
  EXPECT_TRUE(says(refusal(replaced(text, "insts = 6", "insts = 5")), "more instructions"));
}

// A changed text may be another trace, since text has no checksum. The reader never crashes, and
// every trace follows the rules.
TEST(AccelSimKernel, AnyTruncationAndAnyByteIsATraceOrRefused) {
  const std::string text = small_kernel();
  const auto trial = [](const std::string& changed) {
    TouchedLines touched;
    AccelSimKernel kernel("kernel-1.traceg", 0, touched);
    try {
      const std::string_view rest(changed);
      if (kernel.feed(rest) != rest.size()) return false;
      kernel.finish(false);
    } catch (const UsageError&) {
      return true;
    }
    Program program;
    program.launches.push_back(kernel.launch());
    check_program(program);
    check_block(program, kernel.block());
    return true;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end_of_last = text.size() - 1;
    if (i < end_of_last) {
      EXPECT_NE(refusal(text.substr(0, i)), "") << i;
    }
    for (const char letter : {'\0', '\n', ' ', '0', '9', 'f', '-', '#', '\xff'}) {
      std::string changed = text;
      changed[i] = letter;
      ASSERT_TRUE(trial(changed)) << i << " " << static_cast<int>(letter);
    }
  }
}

TEST(AccelSimHeader, CtasOfAnSmAreLimitedByRegistersAndSharedMemory) {
  KernelHeader header;
  header.binary_version = 70;
  header.registers_per_thread = 32;
  EXPECT_EQ(max_ctas_per_sm(header, 8), 8U);
  header.shared_bytes = 48 * 1024;
  EXPECT_EQ(max_ctas_per_sm(header, 8), 2U);
  header.binary_version = 1;
  EXPECT_EQ(max_ctas_per_sm(header, 8), 0U);
}

std::string kernel_of_version(const std::string& version) {
  const std::string header = replaced(std::string(kHeader), "version = 5", "version = " + version);
  return kernel_of({"0010 00000001 1 R4 LDG.E 1 R2 4 2 0x7f1269c00000 0 0 NoVal"}, header);
}

TEST(AccelSimKernel, AnUnknownTracerIsRefused) {
  for (const char* version : {"0", "0.9", "7", "9", "10", "18446744073709551615"}) {
    const std::string said = refusal(kernel_of_version(version));
    EXPECT_TRUE(says(said, "kernel-1.traceg, line 12: the trace is of version " +
                               std::string(version) + " of the tracer; versions 1 to 6 are read"))
        << said;
  }
  EXPECT_TRUE(says(refusal(kernel_of_version("six")), "tracer version is 'six', not a number"));
  EXPECT_TRUE(says(refusal(kernel_of_version("1.x")), "tracer version is 'x', not a number"));
  EXPECT_TRUE(says(refusal(kernel_of_version("-6")), "tracer version is '-6', not a number"));
  EXPECT_EQ(read_all(kernel_of_version("6")).kinds, (Kinds{kLoad, kEnd}));
}

TEST(AccelSimKernel, TracersBeforeJune2020DoNotSayTheirVersion) {
  const std::string header = replaced(std::string(kHeader), "-accelsim tracer version = 5\n", "");
  const auto found =
      read_all(kernel_of({"0 0 0 0 0010 00000001 1 R4 LDG.E 1 R2 4 0 0x7f1269c00000"}, header));
  EXPECT_EQ(found.kinds, (Kinds{kLoad, kEnd}));
}

TEST(AccelSimKernel, AccessesWithMoreAddressesThanLanesAreCounted) {
  const std::string header = replaced(std::string(kHeader), "version = 5", "version = 3");
  TouchedLines touched;
  AccelSimKernel kernel("kernel-1.traceg", 0, touched);
  const std::string text = kernel_of(
      {"0010 00000001 1 R4 LDG.E 1 R2 4 2 0x7f1269c00000 128 128",
       "0020 00000001 1 R4 LDG.E 1 R2 4 2 0x7f1269c00000", "0030 00000001 1 R4 IADD3 1 R2 0 7"},
      header);
  const Contents found = read_all(kernel, text, text.size());
  EXPECT_EQ(found.lines.size(), 2U);
  EXPECT_EQ(kernel.counts().unplaced_lanes, 1U);
}

}  // namespace
}  // namespace isthmus::trace
