// The environment of a program with its user's rights, and of one with more.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/environment.hpp"
#include "driver/locate.hpp"
#include "host/fixture_tree.hpp"

namespace isthmus {
namespace {

constexpr uid_t kNobody = 65534;

std::string output_of(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(popen(command.c_str(), "r"),
                                                               &pclose);
  std::string text;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), part.size(), stream.get()) != nullptr) text += part.data();
  return text;
}

/// Gives a program more rights than its caller has; false if this user can't.
bool privilege(const std::filesystem::path& program) {
  if (geteuid() == 0)
    return chown(program.c_str(), kNobody, static_cast<gid_t>(-1)) == 0 &&
           chmod(program.c_str(), 04755) == 0;
  std::vector<gid_t> groups(64);
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  for (int i = 0; i < count; ++i) {
    const gid_t group = groups[static_cast<std::size_t>(i)];
    if (group != getgid() && chown(program.c_str(), static_cast<uid_t>(-1), group) == 0)
      return chmod(program.c_str(), 02755) == 0;
  }
  return false;
}

class Environment : public testing::Test {
protected:
  /// Runs the probe with all variables that name something to load or read.
  std::string believed() const {
    return output_of(
        "ISTHMUS_DRIVER=/tmp/mine.so ISTHMUS_PROFILE=/tmp/mine.json "
        "XDG_CACHE_HOME=/tmp/mine HOME=/tmp/home " +
        program_.string());
  }

  const host::FixtureTree tree_;
  const std::filesystem::path program_ = tree_.root() / "probe";

private:
  void SetUp() override {
    std::filesystem::copy_file(own_folder() + "/environment_probe", program_);
    chmod(tree_.root().c_str(), 0755);
  }
};

TEST_F(Environment, IsReadIfTheProgramHasItsUsersRights) {
  EXPECT_EQ(believed(),
            "privileged no\ndriver /tmp/mine.so\nkernels /tmp/mine/isthmus/kernels\n"
            "profile /tmp/mine.json\n");
}

TEST_F(Environment, IsIgnoredIfTheProgramHasMoreRightsThanItsUser) {
  if (!privilege(program_))
    GTEST_SKIP() << "only root, or a member of two groups, can grant rights";
  const std::string found = believed();
  if (found.starts_with("privileged no"))
    GTEST_SKIP() << "this system grants no rights: mounted nosuid, or no_new_privs";
  EXPECT_EQ(found, "privileged yes\ndriver libcuda.so.1\nkernels \nprofile \n");
}

TEST(UserFolder, IsWhatTheVariableNamesOrElseBelowTheHome) {
  setenv("ISTHMUS_TEST_FOLDER", "/cache", 1);
  EXPECT_EQ(user_folder("ISTHMUS_TEST_FOLDER", ".cache"), "/cache");
  const std::filesystem::path home = environment("HOME").value_or("");
  for (const char* const ignored : {"relative/path", ""}) {
    setenv("ISTHMUS_TEST_FOLDER", ignored, 1);
    EXPECT_EQ(user_folder("ISTHMUS_TEST_FOLDER", ".cache"),
              home.is_absolute() ? home / ".cache" : std::filesystem::path());
  }
  unsetenv("ISTHMUS_TEST_FOLDER");
  EXPECT_FALSE(environment("ISTHMUS_TEST_FOLDER"));
}

}  // namespace
}  // namespace isthmus
