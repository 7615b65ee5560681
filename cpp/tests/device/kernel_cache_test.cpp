#include <gtest/gtest.h>

#include <fstream>

#include <unistd.h>

#include "device/kernel_cache.hpp"

namespace isthmus {
namespace {

class KernelCacheTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "isthmus-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path only_file() const {
    return std::filesystem::directory_iterator(folder_ / "kernels")->path();
  }
  std::size_t num_files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator(folder_ / "kernels"))
      ++count;
    return count;
  }

  std::filesystem::path folder_;
  KernelImage image_{'c', 'u', 'b', '\0', 'i', 'n'};
};

TEST_F(KernelCacheTest, GivesBackWhatWasStoredAndNothingElse) {
  const KernelCache cache(folder_ / "kernels");
  EXPECT_FALSE(cache.find("key"));
  cache.store("key", image_);
  EXPECT_EQ(cache.find("key"), image_);
  EXPECT_FALSE(cache.find("another key"));
  EXPECT_EQ(num_files(), 1U) << "a temporary file was left behind";
}

TEST_F(KernelCacheTest, TreatsAFileWithAnyWrongByteAsAbsentAndReplacesIt) {
  const KernelCache cache(folder_ / "kernels");
  cache.store("key", image_);
  const auto size = static_cast<std::streamoff>(file_size(only_file()));
  for (std::streamoff place = 0; place < size; ++place) {
    {
      std::fstream file(only_file(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(place);
      const int byte = file.get();
      file.seekp(place);
      file.put(static_cast<char>(byte ^ 1));
    }
    EXPECT_FALSE(cache.find("key")) << "with byte " << place << " changed";
    cache.store("key", image_);
    EXPECT_EQ(cache.find("key"), image_);
  }
}

TEST_F(KernelCacheTest, TreatsATruncatedFileAsAbsent) {
  const KernelCache cache(folder_ / "kernels");
  cache.store("key", image_);
  for (std::uintmax_t size = file_size(only_file()); size-- > 0;) {
    std::filesystem::resize_file(only_file(), size);
    EXPECT_FALSE(cache.find("key")) << "with " << size << " bytes left";
  }
}

TEST_F(KernelCacheTest, TreatsALongerFileAsAbsent) {
  const KernelCache cache(folder_ / "kernels");
  cache.store("key", image_);
  std::filesystem::resize_file(only_file(), file_size(only_file()) + 1);
  EXPECT_FALSE(cache.find("key"));
  std::filesystem::resize_file(only_file(), std::uintmax_t{1} << 30U);
  EXPECT_FALSE(cache.find("key")) << "and isn't read either";
}

TEST_F(KernelCacheTest, TakesAFileOfAnotherKeyUnderItsNameAsAMiss) {
  const KernelCache cache(folder_ / "kernels");
  cache.store("key", image_);
  const auto name = only_file();
  std::filesystem::rename(name, folder_ / "kept");
  cache.store("other", image_);
  std::filesystem::rename(only_file(), name);
  EXPECT_FALSE(cache.find("key"));
}

TEST_F(KernelCacheTest, WithoutAFolderStoresNothingAndFindsNothing) {
  const KernelCache cache({});
  cache.store("key", image_);
  EXPECT_FALSE(cache.find("key"));
}

TEST_F(KernelCacheTest, ThatCannotBeWrittenIsNoError) {
  std::ofstream(folder_ / "a file") << "in the way";
  const KernelCache cache(folder_ / "a file" / "kernels");
  cache.store("key", image_);
  EXPECT_FALSE(cache.find("key"));
}

}  // namespace
}  // namespace isthmus
