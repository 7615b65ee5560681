// A file in memory that tests truncate.
#pragma once

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contract/machine_under_test.hpp"

namespace isthmus::transfer {

using contract::Bytes;

/// A file with a pattern, in a shared mapping. Removed after the test.
class MappedFile {
public:
  explicit MappedFile(const Bytes& contents, int protection = PROT_READ | PROT_WRITE)
      : size_bytes_(contents.size()) {
    std::string name = testing::TempDir() + "isthmus-mapped-XXXXXX";
    descriptor_ = mkstemp(name.data());
    unlink(name.c_str());
    EXPECT_EQ(write(descriptor_, contents.data(), contents.size()),
              static_cast<ssize_t>(contents.size()));
    data_ =
        static_cast<std::byte*>(mmap(nullptr, size_bytes_, protection, MAP_SHARED, descriptor_, 0));
    EXPECT_NE(data_, MAP_FAILED);
  }
  ~MappedFile() {
    munmap(data_, size_bytes_);
    close(descriptor_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::byte* data() const { return data_; }
  void truncate(std::size_t size_bytes) const {
    ASSERT_EQ(ftruncate(descriptor_, static_cast<off_t>(size_bytes)), 0);
  }

private:
  std::size_t size_bytes_;
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
};

}  // namespace isthmus::transfer
