// A file of random bytes.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace isthmus::test {

/// Has no name, is on the disk as well as in the page cache, and is deleted with this object.
class RandomFile {
public:
  explicit RandomFile(std::size_t size_bytes) : bytes_(size_bytes) {
    std::mt19937 engine(7);
    for (std::byte& byte : bytes_) byte = static_cast<std::byte>(engine());
    std::string name = testing::TempDir() + "isthmus_random_XXXXXX";
    descriptor_ = mkstemp(name.data());
    EXPECT_GE(descriptor_, 0);
    unlink(name.c_str());
    EXPECT_EQ(pwrite(descriptor_, bytes_.data(), size_bytes, 0), static_cast<ssize_t>(size_bytes));
    EXPECT_EQ(fsync(descriptor_), 0);
  }
  ~RandomFile() { close(descriptor_); }
  RandomFile(const RandomFile&) = delete;
  RandomFile& operator=(const RandomFile&) = delete;

  int descriptor() const { return descriptor_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

private:
  std::vector<std::byte> bytes_;
  int descriptor_ = -1;
};

}  // namespace isthmus::test
