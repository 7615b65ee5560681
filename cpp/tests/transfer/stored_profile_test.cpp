#include <deque>
#include <string>

#include <gtest/gtest.h>

#include "environment_variable.hpp"
#include "host/fixture_tree.hpp"
#include "transfer/profile/profile.hpp"
#include "transfer/profile_text.hpp"

namespace isthmus::transfer {
namespace {

/// The environment of one test, and a folder for its files.
class StoredProfile : public testing::Test {
protected:
  void SetUp() override {
    set("XDG_DATA_HOME", tree_.root().string());
    set("ISTHMUS_PROFILE", "");
  }
  void TearDown() override {
    while (!variables_.empty()) variables_.pop_back();
  }
  void set(const char* name, const std::string& value) {
    variables_.emplace_back(name, value.c_str());
  }
  void store(const std::string& text) {
    tree_.file("isthmus/profiles/" + profile_file_name(test::h100()), text);
  }

  host::FixtureTree tree_;

private:
  std::deque<isthmus::test::EnvironmentVariable> variables_;
};

TEST_F(StoredProfile, WithoutAProfileTheDefaultsAreUsedAndTheUserIsToldHowToMeasureOne) {
  const Profile profile = Profile::for_device(test::h100());
  EXPECT_FALSE(profile.measured());
  EXPECT_EQ(
      profile.source(),
      "defaults for PCIe Gen5 x16: no profile of this machine; `isthmus profile` measures it");
}

TEST_F(StoredProfile, AProfileOfThisMachineIsUsedAndNamed) {
  store(test::profile_text());
  const Profile profile = Profile::for_device(test::h100());
  EXPECT_TRUE(profile.measured());
  EXPECT_EQ(profile.source(),
            "profile of 2026-11-20 (" + profile_path(test::h100()).string() + ")");
}

TEST_F(StoredProfile, AProfileOfAnotherDriverIsNotUsedAndTheReasonIsGiven) {
  store(test::replaced(test::profile_text(), "580.159.04", "580.65.06"));
  const Profile profile = Profile::for_device(test::h100());
  EXPECT_FALSE(profile.measured());
  EXPECT_NE(profile.source().find("is not used: it is of driver 580.65.06, this is 580.159.04"),
            std::string::npos)
      << profile.source();
}

TEST_F(StoredProfile, ABrokenFileIsIgnoredAndTheDefaultsAreUsed) {
  std::string nested(1U << 20U, '[');
  nested = "{\"schema_version\": " + nested + std::string(1U << 20U, ']') + "}";
  for (const std::string& text :
       {std::string(), std::string("{"), std::string(1U << 20U, '\0'), nested}) {
    store(text);
    const Profile profile = Profile::for_device(test::h100());
    EXPECT_FALSE(profile.measured());
    EXPECT_NE(profile.source().find("is not used: not a profile"), std::string::npos);
  }
}

TEST_F(StoredProfile, TheVariableNamesAFile) {
  tree_.file("mine.json", test::profile_text());
  set("ISTHMUS_PROFILE", (tree_.root() / "mine.json").string());
  EXPECT_TRUE(Profile::for_device(test::h100()).measured());
}

TEST_F(StoredProfile, AFileWhoseNameIsNoTextIsNamedAllTheSame) {
  tree_.file("mine\xff.json", test::profile_text());
  set("ISTHMUS_PROFILE", (tree_.root() / "mine\xff.json").string());
  const Profile profile = Profile::for_device(test::h100());
  EXPECT_TRUE(profile.measured());
  EXPECT_EQ(profile.source(),
            "profile of 2026-11-20 (" + tree_.root().string() + "/mine\xef\xbf\xbd.json)");
}

TEST_F(StoredProfile, TheVariableCanTurnProfilesOff) {
  store(test::profile_text());
  set("ISTHMUS_PROFILE", "off");
  const Profile profile = Profile::for_device(test::h100());
  EXPECT_FALSE(profile.measured());
  EXPECT_NE(profile.source().find("off, by ISTHMUS_PROFILE"), std::string::npos);
  EXPECT_EQ(profile_path(test::h100()), "");
}

TEST_F(StoredProfile, OnlyARegularFileIsRead) {
  for (const std::string& path :
       {std::string("/dev/zero"), tree_.root().string(), (tree_.root() / "absent.json").string()}) {
    set("ISTHMUS_PROFILE", path);
    const Profile profile = Profile::for_device(test::h100());
    EXPECT_FALSE(profile.measured());
    EXPECT_NE(profile.source().find(path + " is not used: it isn't a file"), std::string::npos)
        << profile.source();
  }
}

TEST_F(StoredProfile, ARelativeDataFolderIsIgnoredAndHomeIsTaken) {
  set("XDG_DATA_HOME", "here");
  set("HOME", tree_.root().string());
  EXPECT_EQ(profile_path(test::h100()),
            tree_.root() / ".local/share/isthmus/profiles" / profile_file_name(test::h100()));
}

}  // namespace
}  // namespace isthmus::transfer
