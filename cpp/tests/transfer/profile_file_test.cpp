#include <limits>

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "host/system/printable.hpp"
#include "transfer/profile/profile.hpp"
#include "transfer/profile_text.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

double seconds(const Profile& profile, CopyPath path, std::size_t size_bytes,
               Direction direction = Direction::host_to_device,
               MemoryKind kind = MemoryKind::pageable) {
  const CostCurve* const curve = profile.curve(path, direction, kind);
  return curve == nullptr ? std::numeric_limits<double>::infinity() : curve->seconds(size_bytes);
}

/// The message of the UsageError that `action` throws; "" if it doesn't throw.
template <typename Action>
std::string complaint_of(Action action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ProfileFile, MeasuredCostsAreTaken) {
  const Profile profile = Profile::parse(test::profile_text(), test::h100());
  EXPECT_TRUE(profile.measured());
  EXPECT_EQ(profile.source(), "profile of 2026-11-20");
  EXPECT_DOUBLE_EQ(profile.window_opening_seconds(), 4.5e-5);
  EXPECT_EQ(profile.ring_threads(), (RingThreads{10, 6}));
  EXPECT_DOUBLE_EQ(seconds(profile, CopyPath::driver, 4), 6e-6);
  EXPECT_DOUBLE_EQ(seconds(profile, CopyPath::staged, 64 * kMiB), 1.5e-3);
  EXPECT_EQ(profile.curve(CopyPath::window, Direction::device_to_host, MemoryKind::pinned),
            nullptr);
}

TEST(ProfileFile, WhatPausesCostIsTakenAndOtherwiseAssumed) {
  const auto pause_seconds = [](const Profile& profile) {
    return profile.pause_seconds(CopyPath::driver, Direction::host_to_device, MemoryKind::pageable);
  };
  EXPECT_DOUBLE_EQ(pause_seconds(Profile::parse(test::profile_text(), test::h100())),
                   assumed_pause_seconds(CopyPath::driver, false));
  const std::string text = test::replaced(
      test::profile_text(), "\"points\"",
      R"("after_pause": [{"bytes": 2, "seconds": 2e-5}, {"bytes": 4, "seconds": 3e-6},
                         {"bytes": 67108864, "seconds": 0.0081}], "points")");
  const Profile profile = Profile::parse(text, test::h100());
  EXPECT_DOUBLE_EQ(pause_seconds(profile), 14e-6) << "the median of 14, 0 and 100 us";
  EXPECT_DOUBLE_EQ(seconds(profile, CopyPath::driver, 4), 6e-6) << "without a pause";
}

TEST(ProfileFile, WrongCostsOfPausesAreRefused) {
  for (const char* const wrong :
       {R"("after_pause": 1, "points")", R"("after_pause": [{"bytes": 4}], "points")",
        R"("after_pause": [{"bytes": 4, "seconds": 0}], "points")",
        R"("after_pause": [{"bytes": 4, "seconds": 1}, {"bytes": 4, "seconds": 1}], "points")"}) {
    const std::string text = test::replaced(test::profile_text(), "\"points\"", wrong);
    const std::string said = complaint_of([&] { (void)Profile::parse(text, test::h100()); });
    EXPECT_TRUE(said.starts_with("not a profile: profile.costs[0].after_pause")) << said;
  }
}

TEST(ProfileFile, WithFewerCoresNothingWithThreadsIsCheaperThanTheDefaultsSay) {
  ProfileIdentity one_core = test::h100();
  one_core.num_cores = 1;
  const Profile profile = Profile::parse(test::profile_text(), one_core);
  const Profile defaults = Profile::defaults(one_core);
  EXPECT_DOUBLE_EQ(seconds(profile, CopyPath::staged, 64 * kMiB),
                   seconds(defaults, CopyPath::staged, 64 * kMiB));
  EXPECT_DOUBLE_EQ(seconds(profile, CopyPath::driver, 64 * kMiB), 8e-3) << "needs no threads";
  EXPECT_EQ(profile.source(), "profile of 2026-11-20 with 16 cores, corrected for 1");
}

TEST(ProfileFile, WithMoreCoresItIsTakenAsMeasured) {
  ProfileIdentity more = test::h100();
  more.num_cores = 32;
  EXPECT_DOUBLE_EQ(seconds(Profile::parse(test::profile_text(), more), CopyPath::staged, 64 * kMiB),
                   1.5e-3);
}

struct Misfit {
  const char* part;   ///< of the file's text
  const char* other;  ///< its replacement
  const char* said;   ///< in the message
};

void PrintTo(const Misfit& misfit, std::ostream* stream) { *stream << misfit.other; }

class AnyMisfit : public testing::TestWithParam<Misfit> {};

TEST_P(AnyMisfit, IsRefusedWithTheReason) {
  const auto& [part, other, said] = GetParam();
  const std::string text = test::replaced(test::profile_text(), part, other);
  const std::string complaint = complaint_of([&] { Profile::parse(text, test::h100()); });
  EXPECT_NE(complaint.find(said), std::string::npos) << complaint << "\n" << text;
}

INSTANTIATE_TEST_SUITE_P(
    OfAnotherMachine, AnyMisfit,
    testing::Values(
        Misfit{"GPU-00112233", "GPU-99999999", "it is of GPU GPU-99999999"},
        Misfit{"NVIDIA H100", "NVIDIA H200", "it is of GPU NVIDIA H200, this is NVIDIA H100"},
        Misfit{"Gen5 x16", "Gen4 x8", "it is of link PCIe Gen4 x8, this is PCIe Gen5 x16"},
        Misfit{"13000", "12080", "it is of CUDA driver 12.8, this is 13.0"},
        Misfit{"580.159.04", "580.65.06", "it is of driver 580.65.06, this is 580.159.04"},
        Misfit{"\"emulated\": false", "\"emulated\": true", "it is of the emulated driver"}));

INSTANTIATE_TEST_SUITE_P(
    ThatIsNoProfile, AnyMisfit,
    testing::Values(
        Misfit{"{\"schema_version\": 2", "", "not a profile"},
        Misfit{"\"schema_version\": 2", "\"schema_version\": 1",
               "schema_version is 1; this library reads 2: run `isthmus profile` again"},
        Misfit{"\"schema_version\": 2", "\"schema_version\": \"2\"", "schema_version is \"2\""},
        Misfit{"\"schema_version\": 2,", "", "profile has no \"schema_version\""},
        Misfit{"\"staging_threads\"", "\"threads\"", "profile has no \"staging_threads\""},
        Misfit{"{\"h2d\": 10, ", "{", "staging_threads has no \"h2d\""},
        Misfit{"\"h2d\": 10", "\"h2d\": 0", "h2d must be a number of threads, not 0"},
        Misfit{"\"h2d\": 10", "\"h2d\": -2", "h2d must be a number of threads, not -2"},
        Misfit{"\"d2h\": 6", "\"d2h\": 1025", "d2h must be a number of threads, not 1025"},
        Misfit{"\"d2h\": 6", "\"d2h\": 6.5", "d2h must be a number of threads, not 6.5"},
        Misfit{"\"emulated\": false", "\"emulated\": 0", "machine.emulated must be true or false"},
        Misfit{"\"num_cores\": 16", "\"num_cores\": \"many\"", "num_cores must be a number"},
        Misfit{"\"path\": \"staged\"", "\"path\": \"teleport\"",
               "path is \"teleport\"; it must be one of window, window_threads, driver"},
        Misfit{"\"direction\": \"h2d\"", "\"direction\": \"up\"", "must be one of h2d, d2h"},
        Misfit{"\"host_memory\": \"pageable\"", "\"host_memory\": \"device\"",
               "must be one of pageable, pinned"},
        Misfit{"\"path\": \"staged\"", "\"path\": \"driver\"",
               "repeats the costs of driver, h2d, pageable"},
        Misfit{"\"path\": \"driver\"", "\"path\": \"registered\"",
               "costs lacks driver, h2d, pageable"},
        Misfit{"\"bytes\": 4", "\"bytes\": -4", "must be a whole number of bytes, not -4"},
        Misfit{"\"bytes\": 4", "\"bytes\": 4.5", "must be a whole number of bytes, not 4.5"},
        Misfit{"\"bytes\": 4", "\"bytes\": 1e300", "must be a whole number of bytes"},
        Misfit{"\"bytes\": 4", "\"bytes\": 18446744073709551615", "must be a whole number of"},
        Misfit{"\"bytes\": 4,", "\"bytes\": 99999999999,", "by ascending size"},
        Misfit{"\"seconds\": 6e-06", "\"seconds\": 0", "it must be more than 0"},
        Misfit{"\"seconds\": 6e-06", "\"seconds\": -1", "it must be more than 0"},
        Misfit{"\"seconds\": 6e-06", "\"seconds\": null", "must be a number, not null"},
        Misfit{"\"seconds\": 6e-06", "\"seconds\": 1e999", "not a profile"},
        Misfit{"\"seconds\": 6e-06", "\"seconds\": NaN", "not a profile"},
        Misfit{"\"seconds\": 6e-06", "\"seconds\": 1e300",
               "seconds must be at most 1000000, not 1e+300"},
        Misfit{"\"num_cores\": 16", "\"num_cores\": 0", "num_cores must be more than 0, not 0"},
        Misfit{"\"num_cores\": 16", "\"num_cores\": -16", "num_cores must be more than 0"},
        Misfit{"\"num_cores\": 16", "\"num_cores\": 1e308", "num_cores must be at most 65536"},
        Misfit{"13000", "4294980296", "cuda_version must be a version's number, not 4294980296"},
        Misfit{"2026-11-20T", "20\u00e926-11-20T", "finished_at must begin with a date"},
        Misfit{"2026-11-20T10:11:12Z", "2026", "finished_at must begin with a date"},
        Misfit{"\"seconds\": 8.5", "\"quick\": true", "\"quick\" appears twice"},
        Misfit{"\"link\"", "\"gpu_name\"", "\"gpu_name\" appears twice"},
        Misfit{"\"window_opening_seconds\": 4.5e-05", "\"window_opening_seconds\": 0",
               "window_opening_seconds must be more than 0"},
        Misfit{"2026-11-20", "\xff\xfe", "not a profile"}));

TEST(ProfileFile, AnythingButAJsonObjectIsRefused) {
  for (const char* const text : {"", "   ", "null", "[]", "3", "\"profile\"", "{", "{}", "GPU"}) {
    const std::string complaint = complaint_of([&] { Profile::parse(text, test::h100()); });
    EXPECT_EQ(complaint.rfind("not a profile: ", 0), 0U) << text << ": " << complaint;
  }
}

std::string nested(std::size_t num_levels, const std::string& begin, const std::string& end) {
  std::string text;
  for (std::size_t i = 0; i < num_levels; ++i) text += begin;
  text += "0";
  for (std::size_t i = 0; i < num_levels; ++i) text += end;
  return text;
}

TEST(ProfileFile, DeepNestingIsRefusedWhereverItIs) {
  constexpr std::size_t kLevels = 400'000;
  for (const std::string& deep :
       {nested(kLevels, "[", "]"), nested(kLevels, "{\"a\":", "}"), std::string(kLevels, '[')}) {
    for (const std::string& text :
         {deep, "{\"schema_version\": " + deep + "}",
          test::replaced(test::profile_text(), "8.5", deep),
          test::replaced(test::profile_text(), "\"no windows here\"", deep)}) {
      const std::string complaint = complaint_of([&] { Profile::parse(text, test::h100()); });
      EXPECT_EQ(complaint, "not a profile: it is nested more than 16 levels deep");
    }
  }
}

TEST(ProfileFile, AVersionThatIsAnArrayIsRefusedWithoutItsContents) {
  EXPECT_EQ(complaint_of([] { Profile::parse("{\"schema_version\": [[0]]}", test::h100()); }),
            "not a profile: schema_version is an array; this library reads 2: run `isthmus "
            "profile` again");
}

TEST(ProfileFile, AFileWithTooManyValuesOrBytesIsRefused) {
  std::string many = "{\"schema_version\": [";
  for (int i = 0; i < 300'000; ++i) many += "0,";
  EXPECT_EQ(complaint_of([&] { Profile::parse(many + "0]}", test::h100()); }),
            "not a profile: it has more than 131072 values");
  const std::string longest(kMaxProfileBytes, ' ');
  EXPECT_EQ(complaint_of([&] { Profile::parse(longest + ' ', test::h100()); }),
            "not a profile: it is too long");
  EXPECT_TRUE(Profile::parse(test::profile_text() + longest.substr(test::profile_text().size()),
                             test::h100())
                  .measured());
}

TEST(ProfileFile, AnErrorQuotesAFileBrieflyAndWithoutControlCharacters) {
  const std::string name(100'000, 'x');
  const std::vector<std::string> others{"\"" + name + "\"",
                                        "\"\\u001b[31m\\u0000\"",
                                        "\"\xff\"",
                                        "\"\xc3\xa9" + name,
                                        name,
                                        std::string(1000, '9'),
                                        "\"\\ud800\""};
  for (const std::string& other : others) {
    for (const char* const part :
         {"\"NVIDIA H100\"", "\"driver\"", "\"2026-11-20T10:11:12Z\"", "16"}) {
      const std::string text = test::replaced(test::profile_text(), part, other);
      const std::string complaint = complaint_of([&] { Profile::parse(text, test::h100()); });
      EXPECT_NE(complaint, "") << part << other.substr(0, 20);
      EXPECT_LT(complaint.size(), 400U);
      EXPECT_EQ(host::printable(complaint), complaint);
    }
  }
}

TEST(ProfileFile, EveryTruncationIsRefused) {
  const std::string text = test::profile_text();
  for (std::size_t length = 0; length + 1 < text.size(); length += 7)
    EXPECT_THROW(Profile::parse(text.substr(0, length), test::h100()), UsageError) << length;
}

TEST(ProfileFile, ADriverWhoseReleaseIsNotKnownIsToldByItsCudaVersion) {
  ProfileIdentity unknown = test::h100();
  unknown.driver_release.clear();
  EXPECT_TRUE(Profile::parse(test::profile_text(), unknown).measured());
  const std::string text = test::replaced(test::profile_text(), "\"580.159.04\"", "null");
  EXPECT_TRUE(Profile::parse(text, test::h100()).measured());
}

TEST(ProfileFile, ThreadsThatWereNotMeasuredAreTheRingsOwn) {
  const std::string text =
      test::replaced(test::profile_text(), R"("h2d": 10, "d2h": 6)", R"("h2d": null, "d2h": 6)");
  EXPECT_EQ(Profile::parse(text, test::h100()).ring_threads(), (RingThreads{0, 6}));
  EXPECT_EQ(Profile::defaults(test::h100()).ring_threads(), (RingThreads{0, 6}));
}

TEST(ProfileFile, DownloadsThatWereNotMeasuredHaveTheThreadsThatTheirLinkNeeds) {
  ProfileIdentity there = test::h100();
  const auto defaults = [&] { return Profile::defaults(there).ring_threads().download; };
  const std::string text =
      test::replaced(test::profile_text(), R"("h2d": 10, "d2h": 6)", R"("h2d": 10, "d2h": null)");
  EXPECT_EQ(Profile::parse(text, there).ring_threads(), (RingThreads{10, defaults()}));
  there.link.generation = 4;
  EXPECT_EQ(defaults(), 4);
  there.link.generation = 6;
  EXPECT_EQ(defaults(), 10);
}

TEST(ProfileFile, WithoutWindowsTheCostOfOpeningOneIsTheDefault) {
  const std::string text =
      test::replaced(test::profile_text(), "\"window_opening_seconds\": 4.5e-05",
                     "\"window_opening_seconds\": null");
  EXPECT_GT(Profile::parse(text, test::h100()).window_opening_seconds(), 0);
}

}  // namespace
}  // namespace isthmus::transfer
