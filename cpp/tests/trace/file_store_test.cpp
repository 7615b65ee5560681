// A trace's file, read by offset.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <isthmus/errors.hpp>
#include <span>

#include "trace/recorded.hpp"

namespace isthmus::trace {
namespace {

struct TemporaryFile {
  TemporaryFile() {
    for (unsigned i = 0; i < 256; ++i) std::fputc(static_cast<int>(i), file);
    std::fflush(file);
  }
  ~TemporaryFile() {
    if (file != nullptr) std::fclose(file);
  }
  std::FILE* file = std::tmpfile();
};

TEST(AFileStore, ReadsBytesFromAnyOffsetAfterItsDescriptorWasClosed) {
  TemporaryFile temporary;
  const FileStore store("made up", fileno(temporary.file));
  std::fclose(temporary.file);
  temporary.file = nullptr;
  std::array<std::byte, 3> bytes{};
  store.read(200, bytes);
  EXPECT_EQ(bytes, (std::array{std::byte{200}, std::byte{201}, std::byte{202}}));
  store.read(300, {});  // nothing, from nowhere
}

TEST(AFileStore, SaysWhichFileBecameShorter) {
  const TemporaryFile temporary;
  const FileStore store("made up", fileno(temporary.file));
  std::array<std::byte, 8> bytes{};
  try {
    store.read(250, bytes);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()), "made up has become shorter while it was read");
  }
}

TEST(AFileStore, NeedsAnOpenFile) { EXPECT_THROW(FileStore("none", -1), UsageError); }

}  // namespace
}  // namespace isthmus::trace
