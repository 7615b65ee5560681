#include "host/cpu/copy_instructions.hpp"

#include <gtest/gtest.h>

namespace isthmus::host {
namespace {

using Names = std::vector<std::string>;

X86Features everything() {
  X86Features all;
  all.leaf1_ecx = all.leaf7_ebx = all.leaf7_ecx = all.leaf7_edx = ~0U;
  all.xcr0 = ~0ULL;
  return all;
}

TEST(CopyInstructions, EveryX86InstructionIsFound) {
  EXPECT_EQ(
      copy_instruction_names(decode_x86(everything())),
      (Names{"sse4_1", "avx2", "avx512f", "movdiri", "movdir64b", "cldemote", "erms", "fsrm"}));
}

TEST(CopyInstructions, VectorsTheSystemDoesNotSaveDontCount) {
  X86Features features = everything();
  features.xcr0 = 0x6;
  EXPECT_TRUE(decode_x86(features).avx2);
  EXPECT_FALSE(decode_x86(features).avx512f);
  features.xcr0 = 0x2;
  EXPECT_FALSE(decode_x86(features).avx2);
  EXPECT_TRUE(decode_x86(features).sse4_1);
}

TEST(CopyInstructions, EachIsReadFromItsOwnBit) {
  X86Features features;
  features.leaf7_ecx = 1U << 28U;
  EXPECT_EQ(copy_instruction_names(decode_x86(features)), Names{"movdir64b"});
  features.leaf7_ecx = 1U << 27U;
  EXPECT_EQ(copy_instruction_names(decode_x86(features)), Names{"movdiri"});
}

TEST(CopyInstructions, ACpuWithoutFeaturesHasNone) {
  EXPECT_TRUE(copy_instruction_names(decode_x86({})).empty());
}

#if defined(__x86_64__)
TEST(CopyInstructions, ThisCpuAgreesWithTheCompilersRuntime) {
  EXPECT_EQ(copy_instructions().sse4_1, __builtin_cpu_supports("sse4.1") != 0);
  EXPECT_EQ(copy_instructions().avx2, __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(copy_instructions().avx512f, __builtin_cpu_supports("avx512f") != 0);
}
#endif

}  // namespace
}  // namespace isthmus::host
