// Windows on memory of cuMemCreate that can't be exported: what is mapped, and what is refused.
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "handleless_machine.hpp"

namespace isthmus::window {
namespace {

using Strings = std::vector<std::string>;

TEST_F(HandlelessMemory, IsMappedSoThatBytesGoBothWays) {
  const std::uintptr_t other = handleless();
  const std::uintptr_t pointer = handleless(4 * kMiB);
  fill(other, 2 * kMiB, 1);
  {
    const auto backend = open();
    const auto whole = map(*backend, pointer, 4 * kMiB);
    EXPECT_EQ(whole->found_by(), FoundBy::record);
    EXPECT_TRUE(whole->shared()) << "it may be mapped elsewhere";
    expect_same_memory(whole->data(), pointer, 4 * kMiB);
    const auto part = map(*backend, pointer + kMiB, kMiB);
    expect_same_memory(part->data(), pointer + kMiB, kMiB);
  }
  expect_nothing_left();
  EXPECT_EQ(kernel_->complaints(), Strings{});
}

TEST_F(HandlelessMemory, IsSearchedForByAFewCallsOnceThePlacesAreLearned) {
  const auto backend = open();
  EXPECT_EQ(refusal_to_map(*backend, handleless()), "");
  kernel_->start_over();
  EXPECT_EQ(refusal_to_map(*backend, handleless()), "");
  EXPECT_EQ(kernel_->num_calls("DUP_OBJECT"), 1);
  EXPECT_EQ(kernel_->num_calls(kFacts), 1);
  EXPECT_EQ(kernel_->num_calls("MAP_MEMORY"), 1);
  EXPECT_LE(kernel_->num_calls(kRead), 16);
}

TEST_F(HandlelessMemory, OfOneObjectIsMappedWhereverItsOwnerMappedIt) {
  const CUmemGenericAllocationHandle handle =
      handle_of(properties_of(CU_MEM_HANDLE_TYPE_NONE), 2 * kMiB);
  const std::uintptr_t first = mapped({handle}, 2 * kMiB);
  const std::uintptr_t second = mapped({handle}, 2 * kMiB);
  driver().call(symbol::mem_release)(handle);
  fill(handleless(), 2 * kMiB, 1);
  Windows all = windows();
  const Window one = all.open(first, 2 * kMiB);
  const Window other = all.open(second, 2 * kMiB);
  EXPECT_NE(one.data(), other.data());
  expect_same_memory(one.data(), second, 2 * kMiB);
  expect_same_memory(other.data(), first, 2 * kMiB);
}

TEST_F(HandlelessMemory, InAdjoiningMappingsBecomesOneWindow) {
  const std::uintptr_t pointer = created(2 * kMiB, false, 3);
  Windows all = windows();
  const Window window = all.open(pointer + kMiB + 17, 4 * kMiB);
  expect_same_memory(window.data(), pointer + kMiB + 17, 4 * kMiB);
}

TEST_F(HandlelessMemory, BetweenExportableOnesBecomesOneWindow) {
  const CUmemAllocationProp plain = properties_of(CU_MEM_HANDLE_TYPE_NONE);
  const CUmemAllocationProp exportable = properties_of(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  const std::vector handles{handle_of(exportable, 2 * kMiB), handle_of(plain, 2 * kMiB),
                            handle_of(exportable, 2 * kMiB)};
  const std::uintptr_t pointer = mapped(handles, 2 * kMiB);
  for (const auto handle : handles) driver().call(symbol::mem_release)(handle);
  Windows all = windows();
  const Window window = all.open(pointer, 6 * kMiB);
  expect_same_memory(window.data(), pointer, 6 * kMiB);
}

class HandlelessMemoryOfTwoGpus : public HandlelessMemory {
protected:
  HandlelessMemoryOfTwoGpus() : HandlelessMemory("two-gpus", 1) {}
};

TEST_F(HandlelessMemoryOfTwoGpus, IsFoundOnItsOwnGpu) {
  const auto backend = open();
  EXPECT_EQ(refusal_to_map(*backend, handleless()), "");
  EXPECT_GE(kernel_->num_calls("open " + kernel_->file_of(1)), 1);
  EXPECT_EQ(kernel_->num_calls("open " + kernel_->file_of(0)), 0);
}

/// A machine with memory for many objects, and a process that may have a file for each.
class HandlelessMemoryAmongMany : public HandlelessMemory {
protected:
  static constexpr std::size_t kNumObjects = 10'000;

  HandlelessMemoryAmongMany() : HandlelessMemory("h100-pcie5") {
    getrlimit(RLIMIT_NOFILE, &files_);
    rlimit more = files_;
    more.rlim_cur = std::max<rlim_t>(files_.rlim_cur, kNumObjects + 1000);
    enough_files_ = setrlimit(RLIMIT_NOFILE, &more) == 0;
  }
  ~HandlelessMemoryAmongMany() override {
    for (const auto handle : handles_) driver().raw(symbol::mem_release)(handle);
    setrlimit(RLIMIT_NOFILE, &files_);
  }

  void make_objects(std::size_t count) {
    for (std::size_t index = 0; index < count; ++index)
      handles_.push_back(handle_of(properties_of(CU_MEM_HANDLE_TYPE_NONE), 2 * kMiB));
  }

  bool enough_files_ = false;

private:
  rlimit files_{};
  std::vector<CUmemGenericAllocationHandle> handles_;
};

TEST_F(HandlelessMemoryAmongMany, IsFoundByAsFewCallsAsAlone) {
  if (!enough_files_) GTEST_SKIP() << "this process may not open 11,000 files";
  const auto backend = open();
  const auto num_calls = [&] {
    kernel_->start_over();
    EXPECT_EQ(refusal_to_map(*open(), handleless()), "");
    return kernel_->num_calls("DUP_OBJECT");
  };
  const int alone = num_calls();
  make_objects(kNumObjects / 2);
  const std::uintptr_t pointer = handleless();
  make_objects(kNumObjects / 2);
  EXPECT_LE(num_calls(), alone + 10) << "words that only look like numbers differ by chance";
  EXPECT_EQ(refusal_to_map(*backend, pointer), "");
}

// --- What is refused by name -------------------------------------------------------------------

TEST_F(HandlelessMemory, ForSparseArraysIsRefusedByName) {
  CUmemAllocationProp tiles = properties_of(CU_MEM_HANDLE_TYPE_NONE);
  tiles.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
  const auto handle = handle_of(tiles, 2 * kMiB);
  expect_refusal(mapped({handle}, 2 * kMiB), "sparse arrays (CU_MEM_CREATE_USAGE_TILE_POOL)");
  driver().call(symbol::mem_release)(handle);
}

TEST_F(HandlelessMemory, ForFabricHandlesIsRefusedByName) {
  const auto handle = handle_of(properties_of(CU_MEM_HANDLE_TYPE_FABRIC), 2 * kMiB);
  expect_refusal(mapped({handle}, 2 * kMiB), "fabric memory (CU_MEM_HANDLE_TYPE_FABRIC)");
  driver().call(symbol::mem_release)(handle);
}

TEST_F(HandlelessMemory, ThatTheDriverSaysNothingAboutIsRefusedAsMulticastMemory) {
  emulated::Controls(driver()).fail_call("cuMemGetAllocationPropertiesFromHandle", 1,
                                         CUDA_ERROR_INVALID_VALUE);
  expect_refusal(handleless(), "multicast object");
}

TEST_F(HandlelessMemory, OutsideVideoMemoryIsRefusedByName) {
  const auto backend = open();
  EXPECT_EQ(refusal_to_map(*backend, handleless()), "");
  const std::uintptr_t pointer = handleless();
  rm::AddressSpace space = rm::AddressSpace::other;
  kernel_->disturb({.call = kFacts, .after = [&](void* argument) {
                      answer_to(argument, rm::kSurfaceInfoAddressSpace).value =
                          static_cast<std::uint32_t>(space);
                    }});
  EXPECT_TRUE(says(refusal_to_map(*backend, pointer), "fabric and multicast"));
  space = rm::AddressSpace::host;
  EXPECT_TRUE(says(refusal_to_map(*backend, pointer), "lies in host memory"));
  expect_no_memory_left();
}

TEST_F(HandlelessMemory, ThatIsMappedInPartIsRefusedByName) {
  const auto handle = handle_of(properties_of(CU_MEM_HANDLE_TYPE_NONE), 4 * kMiB);
  expect_refusal(mapped({handle}, 2 * kMiB),
                 "has 4194304 bytes, the memory at the pointer 2097152");
  driver().call(symbol::mem_release)(handle);
}

TEST_F(HandlelessMemory, BeforeAGapInItsRangeIsRefusedBeyondTheGap) {
  const std::uintptr_t pointer = created(2 * kMiB, false, 2);
  driver().call(symbol::mem_unmap)(CUdeviceptr{pointer + 2 * kMiB}, 2 * kMiB);
  Windows all = windows();
  const std::string message = test::message_of<UsageError>([&] { all.open(pointer, 4 * kMiB); });
  EXPECT_TRUE(says(message, "nothing is mapped after it")) << message;
  driver().call(symbol::mem_unmap)(CUdeviceptr{pointer}, 2 * kMiB);
}

// --- Records that aren't as they should be -----------------------------------------------------

TEST_F(HandlelessMemory, WhoseRecordHasNoNumberIsRefused) {
  kernel_->disturb({.call = kRead, .after = [](void* argument) {
                      change_numbers(argument, [](std::uint32_t& word) { word = 0; });
                    }});
  expect_refusal(handleless(), "isn't in the driver's record");
}

TEST_F(HandlelessMemory, WhoseRecordHasTheNumberElsewhereEachTimeIsRefused) {
  std::size_t num_reads = 0;
  kernel_->disturb({.call = kRead, .after = [&](void* argument) {
                      const auto& read = *static_cast<fakes::MemoryRead*>(argument);
                      auto* const words = static_cast<std::uint32_t*>(read.target);
                      const std::size_t count = read.size_bytes / sizeof *words;
                      if (count > 1) std::rotate(words, words + ++num_reads % count, words + count);
                    }});
  const auto backend = open();
  EXPECT_NE(refusal_to_map(*backend, handleless()), "");
  expect_no_memory_left();
}

TEST_F(HandlelessMemory, WhoseRecordsHaveTheirNumbersAtDifferentPlacesIsRefused) {
  // Records differ by where the first read of each finds its pointers: shifted by 8 bytes a record.
  std::size_t num_records = 0;
  kernel_->disturb({.call = kRead, .after = [&](void* argument) {
                      const auto& read = *static_cast<fakes::MemoryRead*>(argument);
                      auto* const words = static_cast<std::uint64_t*>(read.target);
                      const std::size_t count = read.size_bytes / sizeof *words;
                      if (count < 64 || words[0x60 / 8] == 0 || words[0x60 / 8] % 8 != 0) return;
                      std::rotate(words, words + ++num_records, words + count);
                    }});
  expect_refusal(handleless(), "at different places");
}

TEST_F(HandlelessMemory, WhoseRecordChangesWhileItIsLearnedIsRefused) {
  kernel_->disturb({.call = kRead, .after = [](void* argument) {
                      const auto& read = *static_cast<fakes::MemoryRead*>(argument);
                      if (read.size_bytes == sizeof(std::uint32_t))
                        change_numbers(argument, [](std::uint32_t& word) { word += 1; });
                    }});
  expect_refusal(handleless(), "of an object of our own changes");
}

TEST_F(HandlelessMemory, IsRefusedIfTheObjectsOfItsOwnDontShowTheirBytes) {
  const auto backend = open();
  const std::uintptr_t pointer = handleless();
  emulated::Controls(driver()).swallow_calls("cuMemcpyHtoDAsync");
  const std::string reason = refusal_of([&] { map(*backend, pointer, kMiB); });
  EXPECT_TRUE(says(reason, "isn't in the driver's record")) << reason;
}

/// Gives each object a second number, which is behind 0xe8 in its record.
class SecondNumbers {
public:
  static constexpr std::uint32_t kAdded = 0x4000;

  explicit SecondNumbers(fakes::FakeKernel& kernel) {
    kernel.disturb({.call = kRead, .after = [this](void* argument) { change(argument); }});
    kernel.disturb({.call = "DUP_OBJECT", .before = [](void* argument) {
                      auto& number = static_cast<rm::DupObject*>(argument)->source_object;
                      if ((number & kAdded) != 0) number -= kAdded;
                    }});
  }
  void of_record(std::uintptr_t record) { add(reinterpret_cast<const std::uint64_t*>(record)); }

private:
  void add(const std::uint64_t* words) { places_.insert(words[0xe8 / sizeof *words] + 0x58); }
  void change(void* argument) {
    const auto& read = *static_cast<fakes::MemoryRead*>(argument);
    if (read.size_bytes == 512) add(static_cast<const std::uint64_t*>(read.target));
    for (const std::uintptr_t place : places_)
      if (place >= read.address && place < read.address + read.size_bytes)
        static_cast<std::uint32_t*>(read.target)[(place - read.address) / 4] += kAdded;
  }

  std::set<std::uintptr_t> places_;
};

TEST_F(HandlelessMemory, WhoseObjectHasTwoNumbersIsFoundByOneOfThem) {
  const auto handle = handle_of(properties_of(CU_MEM_HANDLE_TYPE_NONE), 2 * kMiB);
  const std::uintptr_t pointer = mapped({handle}, 2 * kMiB);
  SecondNumbers second(*kernel_);
  second.of_record(handle);
  EXPECT_EQ(refusal_to_map(*open(), pointer), "");
  driver().call(symbol::mem_release)(handle);
}

/// The places are learned; then the n-th read of a number, of any record, is answered wrongly.
class LearnedRecord : public HandlelessMemory {
protected:
  LearnedRecord() { EXPECT_EQ(refusal_to_map(*backend_, handleless()), ""); }

  std::string refusal_if(std::set<int> nths, std::uint32_t added) {
    handleless();
    const std::uintptr_t pointer = handleless();
    kernel_->start_over();
    kernel_->disturb({.call = kRead, .after = [=, nth = 0](void* argument) mutable {
                        const auto& read = *static_cast<fakes::MemoryRead*>(argument);
                        if (read.size_bytes != sizeof(rm::Handle)) return;
                        if (nths.contains(++nth)) *static_cast<rm::Handle*>(read.target) += added;
                      }});
    const std::string reason = refusal_to_map(*backend_, pointer);
    expect_no_memory_left();
    return reason;
  }

  std::unique_ptr<Backend> backend_ = open();
};

TEST_F(LearnedRecord, WithTheNumbersOfTwoObjectsThatItCanBeIsRefused) {
  const std::string reason = refusal_if({2, 4}, std::uint32_t{0} - 1);  // made just before
  EXPECT_TRUE(says(reason, "more than one object")) << reason;
  EXPECT_TRUE(says(reason, "[0x60]->[0x38] and ")) << reason;
  EXPECT_TRUE(says(reason, "[0xe8]->[0x58]")) << reason;
}

TEST_F(LearnedRecord, WithTheNumberOfNoObjectAtAnotherPlaceIsFoundByTheFirst) {
  EXPECT_EQ(refusal_if({2, 4}, 0x1000), "");
  EXPECT_EQ(refusal_if({1, 3}, 0x1000), "");
}

// Seen on an H200: a place behind a pointer to memory that the driver had freed.
TEST_F(LearnedRecord, WhoseNumberStaysAtOneOfThePlacesIsFound) {
  EXPECT_EQ(refusal_if({3}, 1), "");
  EXPECT_EQ(refusal_if({4}, 1), "");
}

TEST_F(LearnedRecord, ThatChangesDuringTheSearchIsRefused) {
  const std::string reason = refusal_if({3, 4}, 1);
  EXPECT_TRUE(says(reason, "changed during the search")) << reason;
}

TEST_F(LearnedRecord, WithTheNumberOfNoObjectIsRefused) {
  const std::string reason = refusal_if({1, 2, 3, 4}, 0x1000);
  EXPECT_TRUE(says(reason, "duplicate the memory object")) << reason;
}

TEST_F(LearnedRecord, ThatCannotBeReadIsRefused) {
  const std::uintptr_t pointer = handleless();
  kernel_->disturb({.call = kRead, .before = [](void* argument) {
                      static_cast<fakes::MemoryRead*>(argument)->address = 8;
                    }});
  const std::string reason = refusal_to_map(*backend_, pointer);
  EXPECT_TRUE(says(reason, "can't be read at [0x60]->[0x38]")) << reason;
}

TEST_F(HandlelessMemory, IsRefusedIfTheProcessMayNotReadItsOwnMemory) {
  for (const int error : {EPERM, ENOSYS}) {
    kernel_->start_over();
    kernel_->refuse({.call = kRead, .error = error});
    expect_refusal(handleless(), "may not read its own memory (process_vm_readv: " +
                                     error_text(error) + "; refused by a sandbox?)");
  }
}

// --- Pools -------------------------------------------------------------------------------------

TEST_F(ResourceManager, NamesPoolsWhateverTheSizeOfTheirBuffers) {
  for (const std::size_t size_bytes : {std::size_t{400'000}, 4 * kMiB}) {
    CUdeviceptr pointer = 0;
    driver().call(symbol::mem_alloc_async)(&pointer, size_bytes, CUstream{nullptr});
    const auto backend = open();
    const std::string reason = refusal_of([&] { map(*backend, pointer, size_bytes); });
    EXPECT_TRUE(says(reason, "memory of cudaMallocAsync")) << reason;
    EXPECT_FALSE(says(reason, "reach beyond")) << reason;
    driver().call(symbol::mem_free_async)(pointer, CUstream{nullptr});
    driver().call(symbol::ctx_synchronize)();
  }
  expect_no_memory_left();
}

}  // namespace
}  // namespace isthmus::window
