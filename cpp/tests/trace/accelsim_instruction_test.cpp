#include "trace/accelsim_instruction.hpp"

#include <gtest/gtest.h>
#include <isthmus/errors.hpp>

#include <bit>
#include <string>
#include <vector>

#include "../messages.hpp"

namespace isthmus::trace {
namespace {

using isthmus::test::message_of;
using isthmus::test::says;
using Addresses = std::vector<std::uint64_t>;

Instruction parsed(std::string_view line, const LineFormat& format = {}) {
  Instruction instruction;
  parse_instruction(line, format, instruction);
  return instruction;
}

Addresses addresses_of(const Instruction& instruction) {
  return {instruction.addresses.begin(), instruction.addresses.begin() + instruction.num_addresses};
}

std::string refusal(std::string_view line) {
  return message_of<UsageError>([&] { parsed(line); });
}

TEST(AccelSimInstruction, ListsGiveAnAddressForEachActiveLane) {
  const auto found = parsed("0010 00000005 1 R4 LDG.E 1 R2 4 0 0x7f0000000000 0x7f0000000400 0");
  EXPECT_EQ(found.mask, 5U);
  EXPECT_EQ(found.kind, OpcodeClass::global_load);
  EXPECT_EQ(addresses_of(found), (Addresses{0x7f0000000000, 0x7f0000000400}));
}

TEST(AccelSimInstruction, AStrideMayBeNegativeAndStartAtAnyLane) {
  const auto found = parsed("0010 00000070 0 STG.E 2 R2 R4 4 1 0x1000 -16 0");
  EXPECT_EQ(addresses_of(found), (Addresses{0x1000, 0xff0, 0xfe0}));
}

TEST(AccelSimInstruction, DifferencesCountFromTheLaneBefore) {
  const auto found = parsed("0010 00000017 1 R4 LDG.E 1 R2 4 2 0x1000 4 -8 100 0");
  EXPECT_EQ(addresses_of(found), (Addresses{0x1000, 0x1004, 0xffc, 0x1060}));
}

TEST(AccelSimInstruction, OneLaneHasNoDifferences) {
  EXPECT_EQ(addresses_of(parsed("0010 00000100 1 R4 LDG.E 1 R2 4 2 0x1000 0")), Addresses{0x1000});
}

// A reader that expects one difference for each lane would consume the immediate.
TEST(AccelSimInstruction, TheImmediateIsNoDifference) {
  EXPECT_EQ(parsed("0010 00000003 1 R4 LDG.E 1 R2 4 2 0x1000 8 7").num_addresses, 2U);
  EXPECT_TRUE(says(refusal("0010 00000003 1 R4 LDG.E 1 R2 4 2 0x1000 8 7 9 1"), "immediates"));
}

TEST(AccelSimInstruction, ASecondImmediateMayFollow) {
  EXPECT_EQ(addresses_of(parsed("0010 00000003 1 R4 LDG.E 1 R2 4 2 0x1000 8 7 -9")),
            (Addresses{0x1000, 0x1008}));
  EXPECT_EQ(parsed("00a0 ffffffff 1 R0 IADD3 2 R5 R255 0 -1 18446744073709551615").mask,
            0xffffffffU);
  EXPECT_TRUE(says(refusal("00a0 ffffffff 1 R0 IADD3 2 R5 R255 0 0 1.5"), "'1.5', not a number"));
}

constexpr LineFormat kWithValues{.has_values = true};

TEST(AccelSimInstruction, Version6EndsWithValuesOrWithoutThem) {
  const auto found = parsed("0130 00000003 1 R11 LDG.E 1 R2 4 2 0x1000 8 0 0 NoVal ", kWithValues);
  EXPECT_EQ(addresses_of(found), (Addresses{0x1000, 0x1008}));
  std::string values = "0x1";
  for (int lane = 1; lane < 32; ++lane) values += " ff";
  EXPECT_EQ(parsed("0130 00000001 1 R1 MOV 1 R2 0 0 0 Val 1 0x7f 32 " + values, kWithValues).mask,
            1U);
  EXPECT_EQ(parsed("0130 00000001 0 NOP 0 0 0 0 Val", kWithValues).mask, 1U);
}

TEST(AccelSimInstruction, WhatIsWrongWithTheValuesIsSaid) {
  const auto said = [](const std::string& end) {
    return message_of<UsageError>(
        [&] { parsed("0130 00000001 1 R1 MOV 1 R2 0 " + end, kWithValues); });
  };
  EXPECT_TRUE(says(said("0 0"), "the line ends where Val or NoVal should be"));
  EXPECT_TRUE(says(said("0 0 Maybe"), "'Maybe', not a number"));
  EXPECT_TRUE(says(said("0 0 0 NoVal"), "goes on after the immediates"));
  EXPECT_TRUE(says(said("0 0 NoVal 1 7f"), "goes on after the registers' values"));
  EXPECT_TRUE(says(said("0 0 Val 2 7f 7f"), "2 values, not 1 or 32"));
  EXPECT_TRUE(says(said("0 0 Val 1 7f"), "the number of a register's values should be"));
  EXPECT_TRUE(says(said("0 0 Val 1 7f 1 xyz"), "'xyz', not a number"));
  EXPECT_TRUE(says(said("0 0 Val 1 7f 1 7f 1"), "goes on after the registers' values"));
  EXPECT_TRUE(says(refusal("0130 00000001 1 R1 MOV 1 R2 0 0 0 NoVal"), "'NoVal', not a number"));
}

TEST(AccelSimInstruction, OldTracersListLanesThatArePredicatedOff) {
  constexpr LineFormat old{.may_have_more_addresses = true};
  for (const char* addresses : {"0 0x1000 0x1008 0x1010 0x1018", "2 0x1000 8 8 8"}) {
    const std::string line = "0010 00000005 1 R4 LDG.E 1 R2 4 " + std::string(addresses);
    const auto found = parsed(line, old);
    EXPECT_EQ(addresses_of(found), (Addresses{0x1000, 0x1008}));
    EXPECT_TRUE(found.has_unplaced_addresses);
  }
  EXPECT_TRUE(says(refusal("0010 00000001 1 R4 LDG.E 1 R2 4 0 0x1000 0x1008"), "immediate"));
  const auto strided = parsed("0010 00000005 1 R4 LDG.E 1 R2 4 1 0x1000 8", old);
  EXPECT_EQ(addresses_of(strided), (Addresses{0x1000, 0x1008}));
  EXPECT_TRUE(strided.has_unplaced_addresses);
  EXPECT_FALSE(parsed("0010 00000003 1 R4 LDG.E 1 R2 4 1 0x1000 8", old).has_unplaced_addresses);
  const auto refused =
      message_of<UsageError>([&] { parsed("0010 00000001 1 R4 LDG.E 1 R2 4 2 0x1000 zz", old); });
  EXPECT_TRUE(says(refused, "predicated off is 'zz', not a number"));
}

// In some traces a flag precedes the width, so nothing behind it can be told.
TEST(AccelSimInstruction, MatrixInstructionsOfWarpGroupsAreNotTakenApart) {
  for (const char* end : {"0 0", "1 0 0 0", "1 0 0 0 NoVal"}) {
    const auto found =
        parsed("0010 ffffffff 0 HGMMA.64x128x16.F32 2 R4 R8 " + std::string(end), kWithValues);
    EXPECT_EQ(found.kind, OpcodeClass::group_multiply);
    EXPECT_EQ(found.num_addresses, 0U);
  }
}

TEST(AccelSimInstruction, TheImmediateMayBeAbsent) {
  EXPECT_EQ(addresses_of(parsed("0010 00000003 1 R4 LDG.E 1 R2 4 2 0x1000 8")),
            (Addresses{0x1000, 0x1008}));
  EXPECT_EQ(parsed("0010 ffffffff 1 R1 IMAD.MOV.U32 2 R255 R255 0 ").num_addresses, 0U);
  EXPECT_EQ(parsed("0010 ffffffff 0 BRA 0 0 672 ").num_addresses, 0U);
}

TEST(AccelSimInstruction, AMaskOfNoLanesHasNoAddresses) {
  const auto found = parsed("0010 00000000 1 R4 LDG.E 1 R2 4 1 0x0 0 0");
  EXPECT_EQ(found.mask, 0U);
  EXPECT_EQ(found.num_addresses, 0U);
}

TEST(AccelSimInstruction, OldTracersNameCtaAndWarpOnEachLine) {
  const auto found = parsed("3 0 0 7 0010 00000001 1 R4 LDG 1 R2 4 2 0x1000", {true, false});
  EXPECT_EQ(addresses_of(found), Addresses{0x1000});
}

TEST(AccelSimInstruction, SourceLinesComeBeforeTheProgramCounter) {
  const auto found = parsed("42 0010 00000001 1 R4 LDG 1 R2 4 2 0x1000 0", {false, true});
  EXPECT_EQ(addresses_of(found), Addresses{0x1000});
}

TEST(AccelSimInstruction, BulkCopiesAreNotTakenApart) {
  const auto found = parsed("0010 00000001 0 UBLKCP.S.G 1 R2 16 4 0x1000 2 1 2 3 4");
  EXPECT_EQ(found.kind, OpcodeClass::bulk_copy);
  EXPECT_EQ(found.num_addresses, 0U);
}

TEST(AccelSimInstruction, AnErrorSaysWhatIsWrongWithTheLine) {
  EXPECT_TRUE(says(refusal("0010 ffffffff 1 R4 LDG.E 1 R2 4"), "address mode should be"));
  EXPECT_TRUE(says(refusal("0010 ffffffff 1 R4 LDG.E 1 R2 4 3 0x0 0"), "0, 1 and 2 are known"));
  EXPECT_TRUE(says(refusal("0010 00000005 1 R4 LDG.E 1 R2 4 1 0x0 4 0"), "the mask has a gap"));
  EXPECT_TRUE(says(refusal("0010 1ffffffff 1 R4 LDG.E 1 R2 4 1 0x0 4 0"), "32 lanes"));
  EXPECT_TRUE(says(refusal("0010 ffffffff 900 R4 LDG.E 1 R2 0 0"), "is 900"));
  EXPECT_TRUE(says(refusal("0010 ffffffff 0 1.5 0 0 0"), "opcode"));
  EXPECT_TRUE(says(refusal("0010 ffffffff 1 R4 LDG.E 1 R2 4 2 0x1000 x"), "'x', not a number"));
}

TEST(AccelSimOpcode, OneThatIsNoTextIsNotPassedOn) {
  const auto said = [](std::string_view opcode) -> std::string {
    try {
      lane_bytes(opcode);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(said("LDG.\xff\x1b.7"), "opcode 'LDG.??.7' has a width of 7 bits");
  EXPECT_LT(said("LDG." + std::string(100'000, 'E') + ".7").size(), 100U);
}

TEST(AccelSimOpcode, TheWidthComesFromTheOpcode) {
  EXPECT_EQ(lane_bytes("LDG.E"), 4U);
  EXPECT_EQ(lane_bytes("LDG.E.128.CONSTANT.SYS"), 16U);
  EXPECT_EQ(lane_bytes("LDG.E.U8"), 1U);
  EXPECT_EQ(lane_bytes("LD.E.S16"), 2U);
  EXPECT_EQ(lane_bytes("STG.E.64"), 8U);
  EXPECT_EQ(lane_bytes("LDGSTS.E.BYPASS.LTC128B.128"), 16U);
  EXPECT_EQ(lane_bytes("ATOMG.E.ADD.F64.RN"), 8U);
  EXPECT_THROW(lane_bytes("LDG.E.7"), UsageError);
}

TEST(AccelSimOpcode, TheNameDecidesNotItsBeginning) {
  EXPECT_EQ(classify_opcode("LDGDEPBAR"), OpcodeClass::compute);
  EXPECT_EQ(classify_opcode("LDGSTS.E"), OpcodeClass::copy_to_shared);
  EXPECT_EQ(classify_opcode("STS.U8"), OpcodeClass::shared);
  EXPECT_EQ(classify_opcode("ATOMS.ADD"), OpcodeClass::shared);
  EXPECT_EQ(classify_opcode("RED.E.ADD"), OpcodeClass::global_atomic);
  EXPECT_EQ(classify_opcode("TLD4.LZ"), OpcodeClass::texture);
  EXPECT_EQ(classify_opcode("BAR.SYNC.DEFER_BLOCKING"), OpcodeClass::barrier);
  EXPECT_EQ(classify_opcode("BAR.ARV"), OpcodeClass::compute);
}

}  // namespace
}  // namespace isthmus::trace
