// Files that another user may have put into the cache are neither run nor overwritten elsewhere.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include "device/kernel_cache.hpp"
#include "host/fixture_tree.hpp"

namespace isthmus {
namespace {

constexpr uid_t kSomebodyElse = 54321;

class KernelCacheTrust : public testing::Test {
protected:
  void SetUp() override { cache_.store("key", image_); }
  void TearDown() override { umask(umask_); }

  std::filesystem::path file() const {
    return std::filesystem::directory_iterator(folder_)->path();
  }
  static std::string content(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static mode_t mode(const std::filesystem::path& path) {
    struct stat found{};
    EXPECT_EQ(lstat(path.c_str(), &found), 0);
    return found.st_mode;
  }
  /// The present file isn't used; the next compilation's result replaces it.
  void expect_replaced() const {
    EXPECT_FALSE(cache_.find("key"));
    cache_.store("key", image_);
    EXPECT_EQ(cache_.find("key"), image_);
    EXPECT_EQ(mode(file()), S_IFREG | 0600U);
  }
  /// Nothing in the folder is used or overwritten, and the user can learn why.
  void expect_refused(const std::string& why) const {
    EXPECT_FALSE(cache_.find("key"));
    const std::string before = content(file());
    cache_.store("another", image_);
    cache_.store("key", KernelImage{'n', 'e', 'w'});
    EXPECT_EQ(content(file()), before);
    EXPECT_EQ(std::next(std::filesystem::directory_iterator(folder_)),
              std::filesystem::directory_iterator());
    EXPECT_NE(cache_.refusal().find(why), std::string::npos) << cache_.refusal();
    EXPECT_NE(cache_.refusal().find(folder_.string()), std::string::npos);
  }

  const host::FixtureTree tree_;
  const std::filesystem::path folder_ = tree_.root() / "isthmus" / "kernels";
  const KernelCache cache_{folder_};
  const KernelImage image_{'c', 'u', 'b', '\0', 'i', 'n'};
  const mode_t umask_ = umask(0);
};

TEST_F(KernelCacheTrust, FolderAndFilesAreTheUsersAloneWhateverTheUmask) {
  EXPECT_EQ(mode(folder_), S_IFDIR | 0700U);
  EXPECT_EQ(mode(file()), S_IFREG | 0600U);
  EXPECT_EQ(cache_.refusal(), "");
}

TEST_F(KernelCacheTrust, AFileThatOthersMayWriteIsReplaced) {
  for (const mode_t others : {0020U, 0002U, 0022U}) {
    ASSERT_EQ(chmod(file().c_str(), 0600U | others), 0);
    expect_replaced();
  }
}

TEST_F(KernelCacheTrust, AFileThatOthersMayReadIsTaken) {
  ASSERT_EQ(chmod(file().c_str(), 0644), 0);
  EXPECT_EQ(cache_.find("key"), image_);
}

TEST_F(KernelCacheTrust, AFolderThatOthersMayWriteIsNotUsed) {
  for (const mode_t mode : {0770U, 0707U, 01777U}) {
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
    expect_refused("others may write to it");
  }
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  EXPECT_EQ(cache_.find("key"), image_);
  EXPECT_EQ(cache_.refusal(), "");
}

TEST_F(KernelCacheTrust, AFileOfSomebodyElseIsReplacedThoughItsContentsAreRight) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  ASSERT_EQ(chown(file().c_str(), kSomebodyElse, static_cast<gid_t>(-1)), 0);
  expect_replaced();
}

TEST_F(KernelCacheTrust, AFolderOfSomebodyElseIsNotUsed) {
  if (geteuid() != 0) {
    const KernelCache theirs("/");
    EXPECT_FALSE(theirs.find("key"));
    EXPECT_NE(theirs.refusal().find("it belongs to user 0"), std::string::npos);
    return;
  }
  ASSERT_EQ(chown(folder_.c_str(), kSomebodyElse, static_cast<gid_t>(-1)), 0);
  expect_refused("it belongs to user 54321, not to 0");
}

TEST_F(KernelCacheTrust, ALinkInAFilesPlaceIsReplacedAndItsTargetIsAsItWas) {
  const auto target = tree_.root() / "elsewhere";
  const auto link = file();
  std::filesystem::rename(link, target);
  const std::string before = content(target);
  std::filesystem::create_symlink(target, link);
  expect_replaced();
  EXPECT_EQ(content(target), before);
}

TEST_F(KernelCacheTrust, ALinkInTheFoldersPlaceIsNotFollowed) {
  const auto target = tree_.root() / "elsewhere";
  std::filesystem::rename(folder_, target);
  std::filesystem::create_directory_symlink(target, folder_);
  expect_refused("it is a link or no folder");
}

TEST_F(KernelCacheTrust, AFolderAboveThatIsALinkIsTheUsersOwnWish) {
  const auto target = tree_.root() / "another disk";
  std::filesystem::rename(tree_.root() / "isthmus", target);
  std::filesystem::create_directory_symlink(target, tree_.root() / "isthmus");
  EXPECT_EQ(cache_.find("key"), image_);
}

TEST_F(KernelCacheTrust, APipeInAFilesPlaceIsNotWaitedFor) {
  const auto name = file();
  std::filesystem::remove(name);
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  expect_replaced();
}

TEST_F(KernelCacheTrust, AFolderInAFilesPlaceIsAMissAndStays) {
  const auto name = file();
  std::filesystem::remove(name);
  std::filesystem::create_directory(name);
  EXPECT_FALSE(cache_.find("key"));
  cache_.store("key", image_);
  EXPECT_FALSE(cache_.find("key"));
  EXPECT_EQ(std::next(std::filesystem::directory_iterator(folder_)),
            std::filesystem::directory_iterator())
      << "a temporary file was left behind";
}

TEST_F(KernelCacheTrust, AFileInTheFoldersPlaceIsNotUsed) {
  const KernelCache cache(file());
  EXPECT_FALSE(cache.find("key"));
  cache.store("key", image_);
  EXPECT_NE(cache.refusal().find("it is a link or no folder"), std::string::npos);
}

TEST_F(KernelCacheTrust, AFolderThatDoesNotExistYetIsTrusted) {
  EXPECT_EQ(KernelCache(tree_.root() / "not yet").refusal(), "");
  EXPECT_EQ(KernelCache({}).refusal(), "");
}

TEST_F(KernelCacheTrust, ImagesOfTwoKeysCanNotChangePlaces) {
  cache_.store("other", KernelImage{'x'});
  std::vector<std::filesystem::path> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    names.push_back(entry.path());
  ASSERT_EQ(names.size(), 2U);
  std::filesystem::rename(names[0], tree_.root() / "kept");
  std::filesystem::rename(names[1], names[0]);
  std::filesystem::rename(tree_.root() / "kept", names[1]);
  EXPECT_FALSE(cache_.find("key"));
  EXPECT_FALSE(cache_.find("other"));
}

TEST_F(KernelCacheTrust, ABitOfTheKeyInTheImageIsNotTheSameAsInTheKey) {
  cache_.store("kernel", KernelImage{'A', 'B'});
  cache_.store("kernelA", KernelImage{'B'});
  EXPECT_EQ(cache_.find("kernel"), (KernelImage{'A', 'B'}));
  EXPECT_EQ(cache_.find("kernelA"), (KernelImage{'B'}));
}

}  // namespace
}  // namespace isthmus
