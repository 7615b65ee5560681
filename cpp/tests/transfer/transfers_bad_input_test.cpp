// Input that is never copied: the error says why.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <isthmus/errors.hpp>

#include "host/memory/memory_map.hpp"
#include "host/system/printable.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

class BadCopy : public TransfersUnderTest {
protected:
  std::string refusal(void* target, const void* source, std::size_t size_bytes,
                      const CopyOptions& options = {}) {
    return message_of<UsageError>([&] { transfers().copy(target, source, size_bytes, options); });
  }
};

/// What is known about ordinary memory holds until then.
void wait_for_next_tick() {
  for (const host::Tick before = host::this_tick(); host::this_tick() == before;) {
  }
}

TEST_F(BadCopy, OfZeroBytesIsAllowed) { transfers().copy(nullptr, nullptr, 0); }

TEST_F(BadCopy, FromOrToNullIsRefused) {
  Bytes host(8);
  EXPECT_TRUE(says(refusal(nullptr, host.data(), 8), "target of the copy is a null pointer"));
  EXPECT_TRUE(says(refusal(host.data(), nullptr, 8), "source of the copy is a null pointer"));
}

TEST_F(BadCopy, OfOverlappingRangesIsRefused) {
  const CUdeviceptr device = device_memory(kMiB);
  EXPECT_TRUE(says(refusal(to_pointer(device + 100), to_pointer(device), 200), "overlap"));
  EXPECT_EQ(refusal(to_pointer(device + 200), to_pointer(device), 200), "");
}

TEST_F(BadCopy, AcrossAProtectedPageIsRefused) {
  const CUdeviceptr device = device_memory(kMiB);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const pages =
      mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  EXPECT_EQ(refusal(to_pointer(device), pages, 3 * page), "");
  ASSERT_EQ(mprotect(static_cast<std::byte*>(pages) + page, page, PROT_NONE), 0);
  wait_for_next_tick();
  EXPECT_NE(refusal(to_pointer(device), pages, 3 * page), "");
  munmap(pages, 3 * page);
}

TEST_F(BadCopy, OfMemoryWithAGapInItsMiddleIsRefused) {
  const CUdeviceptr device = device_memory(kMiB);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size_bytes = 16 * page;
  void* const pages =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(munmap(static_cast<std::byte*>(pages) + 8 * page, page), 0);
  EXPECT_TRUE(says(refusal(to_pointer(device), pages, size_bytes), "source of the copy is not"));
  EXPECT_TRUE(says(refusal(pages, to_pointer(device), size_bytes), "target of the copy is not"));
  Bytes other(size_bytes);
  EXPECT_TRUE(says(refusal(other.data(), pages, size_bytes), "source of the copy is not"));
  munmap(pages, size_bytes);
}

TEST_F(BadCopy, OfTwoPinnedRegionsWithAGapBetweenThemIsRefused) {
  const CUdeviceptr device = device_memory(kMiB);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const mapped =
      mmap(nullptr, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const pages = static_cast<std::byte*>(mapped);
  driver().call(symbol::mem_host_register)(pages, 8 * page, 0u);
  driver().call(symbol::mem_host_register)(pages + 9 * page, 7 * page, 0u);
  EXPECT_EQ(refusal(to_pointer(device), pages, 16 * page), "");
  ASSERT_EQ(munmap(pages + 8 * page, page), 0);
  wait_for_next_tick();
  EXPECT_TRUE(says(refusal(to_pointer(device), pages, 16 * page), "source of the copy is not"));
  EXPECT_TRUE(says(refusal(pages, to_pointer(device), 16 * page), "target of the copy is not"));
  driver().call(symbol::mem_host_unregister)(pages);
  driver().call(symbol::mem_host_unregister)(pages + 9 * page);
  munmap(pages, 16 * page);
}

TEST_F(BadCopy, PastTheEndOfABufferIsRefused) {
  const CUdeviceptr device = device_memory(64 * kMiB);
  Bytes host(1000);
  EXPECT_TRUE(says(refusal(to_pointer(device + 64 * kMiB - 10), host.data(), 11), "10 bytes"));
  EXPECT_TRUE(says(refusal(host.data(), to_pointer(device + 64 * kMiB - 10), 11), "10 bytes"));
}

TEST_F(BadCopy, ToABufferThatWasFreedIsRefused) {
  CUdeviceptr device = 0;
  driver().call(symbol::mem_alloc)(&device, 64 * kMiB);
  driver().call(symbol::mem_free)(device);
  Bytes host(1000);
  EXPECT_TRUE(says(refusal(to_pointer(device), host.data(), host.size()), "freed"));
  EXPECT_TRUE(says(refusal(host.data(), to_pointer(device), host.size()), "freed"));
}

TEST_F(BadCopy, OfABufferThatWasFreedIsRefusedThoughItIsSaidToBeADevices) {
  CUdeviceptr device = 0;
  driver().call(symbol::mem_alloc)(&device, 64 * kMiB);
  driver().call(symbol::mem_free)(device);
  Bytes host(4);
  CopyOptions options;
  options.source_kind = MemoryKind::device;
  options.target_kind = MemoryKind::host;
  const std::string why = refusal(host.data(), to_pointer(device), host.size(), options);
  EXPECT_TRUE(says(why, "freed")) << why;
  EXPECT_TRUE(says(why, "at " + host::address_text(device) + ",")) << why;
  EXPECT_EQ(host::address_text(0x7f0010004000), "0x7f0010004000");
}

TEST_F(BadCopy, ToMemoryThatMayNotBeWrittenIsRefused) {
  const CUdeviceptr device = device_memory(kMiB);
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_TRUE(says(refusal(page, to_pointer(device), 100), "target of the copy is not memory"));
  EXPECT_EQ(refusal(to_pointer(device), page, 100), "");
  munmap(page, 4096);
}

TEST_F(BadCopy, FromAFileThatIsTooShortIsRefused) {
  const CUdeviceptr device = device_memory(kMiB);
  char name[] = "/dev/shm/isthmus-test-XXXXXX";
  const int file = mkstemp(name);
  ASSERT_GE(file, 0);
  unlink(name);
  ASSERT_EQ(ftruncate(file, 8192), 0);
  void* const pages = mmap(nullptr, 8192, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_EQ(ftruncate(file, 4096), 0);
  EXPECT_TRUE(says(refusal(to_pointer(device), pages, 8192), "file ends"));
  munmap(pages, 8192);
  close(file);
}

TEST_F(BadCopy, ByAnUnknownPathIsRefused) {
  const CUdeviceptr device = device_memory(kMiB);
  Bytes host(16);
  EXPECT_TRUE(says(refusal(to_pointer(device), host.data(), 16, by("sideways")), "staged"));
  Bytes other(16);
  EXPECT_TRUE(says(refusal(other.data(), host.data(), 16, by("sideways")), "staged"));
}

TEST_F(BadCopy, ByAPathThatIsNotPossibleIsUnavailable) {
  const CUdeviceptr device = device_memory(kMiB);
  auto* const pinned = pinned_memory(4096);
  const auto why = [&](std::string_view path) {
    return message_of<Unavailable>(
        [&] { transfers().copy(to_pointer(device), pinned, 4096, by(path)); });
  };
  EXPECT_TRUE(says(why("staged"), "pinned already"));
  EXPECT_TRUE(says(why("registered"), "pinned already"));
}

TEST_F(BadCopy, WithinTheHostsMemoryTakesThePathDriverOnly) {
  Bytes source(16, 3);
  Bytes target(16);
  EXPECT_THROW(transfers().copy(target.data(), source.data(), 16, by("staged")), Unavailable);
  transfers().copy(target.data(), source.data(), 16, by("driver"));
  EXPECT_EQ(target, source);
}

TEST_F(BadCopy, ByAnotherPathThanTheDriversIsUnavailableWhileItsStreamIsCaptured) {
  const CUdeviceptr device = device_memory(kMiB);
  auto* const pinned = pinned_memory(4096);
  const CUstream own = stream();
  CopyOptions options = in(own);
  GlobalCapture capture(driver(), own);
  options.path = "window";
  EXPECT_THROW(transfers().copy(to_pointer(device), pinned, 4096, options), Unavailable);
  EXPECT_THROW(transfers().copy_async(to_pointer(device), pinned, 4096, options), Unavailable);
  options.path = "driver";
  transfers().copy(to_pointer(device), pinned, 4096, options);
  EXPECT_EQ(transfers().explain(to_pointer(device), pinned, 4096, in(own)).path, CopyPath::driver);
  EXPECT_EQ(capture.end(), CUDA_SUCCESS);
}

TEST_F(BadCopy, InAStreamThatDoesNotExistIsRefused) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver may crash on such a handle";
  const CUdeviceptr device = device_memory(kMiB);
  Bytes host(16, 3);
  Bytes other(16);
  CopyOptions options;
  options.stream = 0xdeadbeef;
  const char* const why = "0xdeadbeef is not the handle of a stream";
  EXPECT_TRUE(says(refusal(to_pointer(device), host.data(), 16, options), why));
  EXPECT_TRUE(says(refusal(host.data(), to_pointer(device), 16, options), why));
  EXPECT_TRUE(says(refusal(other.data(), host.data(), 16, options), why));
  EXPECT_EQ(other, Bytes(16));
}

TEST_F(BadCopy, OfADeviceInAForkedChildIsRefusedAndTheParentGoesOn) {
  const CUdeviceptr device = device_memory(kMiB);
  Bytes host(16, 3);
  upload(device, host);
  const pid_t child = fork();
  if (child == 0) {
    CopyOptions to_device;
    to_device.target_kind = MemoryKind::device;
    const bool refused = says(refusal(to_pointer(device), host.data(), 16, to_device), "fork") &&
                         !refusal(to_pointer(device), host.data(), 16).empty();
    Bytes other(16);
    const bool copied = refusal(other.data(), host.data(), 16).empty() && other == host;
    drop_transfers();
    _exit(refused && copied ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(download(device, 16), host);
}

}  // namespace
}  // namespace isthmus::transfer
