// Kernels run on the CPU, concurrently with copies, with each other and with their caller.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "emulator/emulated_machine.hpp"

namespace isthmus::emulated {
namespace {

constexpr std::uint64_t kTimeoutNs = 10'000'000'000;

class Kernel : public EmulatedMachine {
protected:
  Kernel() { enter(); }

  void flip(CUdeviceptr byte) {
    std::uint8_t value = 0;
    driver().call(symbol::memcpy_dtoh)(&value, byte, sizeof value);
    value = static_cast<std::uint8_t>(~value);
    driver().call(symbol::memcpy_htod)(byte, &value, sizeof value);
  }

  std::uint32_t* flag() {
    auto* made = reinterpret_cast<std::uint32_t*>(pinned_memory(sizeof(std::uint32_t)));
    *made = 0;
    return made;
  }
  static void set(std::uint32_t* flag, std::uint32_t value) {
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
  }
  std::uint64_t num_mismatches(CUdeviceptr bytes, std::uint64_t size_bytes, std::uint64_t seed) {
    const CUdeviceptr count = device_memory(8);
    std::uint64_t found = 0;
    driver().call(symbol::memcpy_htod)(count, &found, sizeof found);
    launch(kernel("pattern", "isthmus_pattern_check"), nullptr, bytes, size_bytes, seed, count);
    driver().call(symbol::memcpy_dtoh)(&found, count, sizeof found);
    return found;
  }
  std::uint64_t verdict_in_random_order(CUdeviceptr bytes, std::uint64_t size_bytes,
                                        std::uint64_t seed) {
    const CUdeviceptr verdict = device_memory(8);
    std::uint64_t found = 0;
    driver().call(symbol::memcpy_htod)(verdict, &found, sizeof found);
    launch(kernel("pattern", "isthmus_pattern_verify_pages"), nullptr, bytes, size_bytes, seed,
           verdict);
    driver().call(symbol::memcpy_dtoh)(&found, verdict, sizeof found);
    return found;
  }
};

TEST_F(Kernel, OfEveryFileInTheFolderIsThere) {
  const std::string entry_point = "extern \"C\" __global__ void ";
  int num_found = 0;
  for (const auto& file : std::filesystem::directory_iterator(ISTHMUS_KERNEL_FOLDER)) {
    if (file.path().extension() != ".cu") continue;
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const std::string source = text.str();
    for (auto at = source.find(entry_point); at != std::string::npos; ++num_found) {
      auto begin = at + entry_point.size();
      begin = source.find("isthmus_", begin);  // after its bounds, if it has any
      const std::string name = source.substr(begin, source.find('(', begin) - begin);
      EXPECT_NO_THROW(kernel(file.path().stem(), name.c_str())) << name;
      at = source.find(entry_point, begin);
    }
  }
  EXPECT_GT(num_found, 0);
}

TEST_F(Kernel, ThatDoesNotExistIsNotFound) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  EXPECT_EQ(driver().raw(symbol::module_load_data)(&module, "isthmus-kernels:nothing"),
            CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(driver().raw(symbol::module_load_data)(&module, "isthmus-kernel"),
            CUDA_ERROR_INVALID_IMAGE);
  driver().call(symbol::module_load_data)(&module, "isthmus-kernels:pattern");
  EXPECT_EQ(driver().raw(symbol::module_get_function)(&function, module, "isthmus_spin"),
            CUDA_ERROR_NOT_FOUND);
}

TEST_F(Kernel, FillsAPatternThatAnotherOneRecognises) {
  for (const std::uint64_t size_bytes : {1ull, 7ull, 8ull, 4096ull, 100'003ull}) {
    const CUdeviceptr bytes = device_memory(size_bytes);
    launch(kernel("pattern", "isthmus_pattern_fill"), nullptr, bytes, size_bytes,
           std::uint64_t{42});
    EXPECT_EQ(num_mismatches(bytes, size_bytes, 42), 0u) << size_bytes;
    EXPECT_GT(num_mismatches(bytes, size_bytes, 43), 0u) << size_bytes;
  }
}

TEST_F(Kernel, CountsASingleWrongByte) {
  const CUdeviceptr bytes = device_memory(4096);
  launch(kernel("pattern", "isthmus_pattern_fill"), nullptr, bytes, std::uint64_t{4096},
         std::uint64_t{1});
  std::uint8_t byte = 0;
  driver().call(symbol::memcpy_dtoh)(&byte, bytes + 1000, std::size_t{1});
  byte = static_cast<std::uint8_t>(byte + 1);
  driver().call(symbol::memcpy_htod)(bytes + 1000, &byte, std::size_t{1});
  EXPECT_EQ(num_mismatches(bytes, 4096, 1), 1u);
}

TEST_F(Kernel, ThatReadsPagesInARandomOrderReadsEachOnce) {
  constexpr std::uint64_t kChecked = std::uint64_t{1} << 62U;
  for (const std::uint64_t size_bytes : {1ull, 8ull, 4096ull, 4097ull, 3 * 4096ull, 5 * 4096 + 8ull,
                                         64 * 4096ull, 300 * 4096 - 3ull}) {
    const CUdeviceptr bytes = device_memory(size_bytes);
    launch(kernel("pattern", "isthmus_pattern_fill"), nullptr, bytes, size_bytes, std::uint64_t{7});
    EXPECT_EQ(verdict_in_random_order(bytes, size_bytes, 7), kChecked) << size_bytes;
    // All whole words and trailing bytes are wrong: each is counted, and none twice.
    driver().call(symbol::memset_d8_async)(bytes, static_cast<unsigned char>(0), size_bytes,
                                           CUstream{nullptr});
    EXPECT_EQ(verdict_in_random_order(bytes, size_bytes, 7) - kChecked,
              num_mismatches(bytes, size_bytes, 7))
        << size_bytes;
    EXPECT_EQ(num_mismatches(bytes, size_bytes, 7), size_bytes / 8 + size_bytes % 8) << size_bytes;
    launch(kernel("pattern", "isthmus_pattern_fill"), nullptr, bytes, size_bytes, std::uint64_t{7});
    for (std::uint64_t at = 0; at < size_bytes; at += 4096) {
      flip(bytes + at);
      ASSERT_EQ(verdict_in_random_order(bytes, size_bytes, 7) - kChecked, 1u) << size_bytes;
      flip(bytes + at);
    }
  }
}

TEST_F(Kernel, WaitsForAFlagThatTheCpuSets) {
  const CUstream work = stream();
  std::uint32_t* gate = flag();
  launch(kernel("gate", "isthmus_gate"), work, gate, 1u, kTimeoutNs);
  const CUevent after = record(work);
  EXPECT_EQ(query(work), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(driver().raw(symbol::event_query)(after), CUDA_ERROR_NOT_READY);
  set(gate, 1);
  synchronize(work);
}

TEST_F(Kernel, AnswersAFlagThatACopyOfAnotherStreamSets) {
  const CUstream kernels = stream();
  const CUstream copies = stream();
  const CUdeviceptr question = device_memory(sizeof(std::uint32_t));
  driver().call(symbol::memset_d32_async)(question, 0u, std::size_t{1}, kernels);
  synchronize(kernels);
  std::uint32_t* answer = flag();
  std::uint32_t* round = flag();
  launch(kernel("echo", "isthmus_echo"), kernels, question, answer, 3u, kTimeoutNs);
  for (std::uint32_t value = 1; value <= 3; ++value) {
    *round = value;
    driver().call(symbol::memcpy_htod_async)(question, round, sizeof *round, copies);
    while (__atomic_load_n(answer, __ATOMIC_ACQUIRE) != value) {
      const bool over = query(kernels) == CUDA_SUCCESS;  // after its last answer, or without any
      ASSERT_TRUE(!over || __atomic_load_n(answer, __ATOMIC_ACQUIRE) == value) << "it gave up";
    }
    synchronize(copies);
  }
  synchronize(kernels);
}

TEST_F(Kernel, RunsBesideAnotherThatItWaitsFor) {
  const CUstream first = stream();
  const CUstream second = stream();
  std::uint32_t* answer = flag();
  std::uint32_t* question = flag();
  // The first waits for the second's answer, so the second must run meanwhile.
  launch(kernel("gate", "isthmus_gate"), first, answer, 1u, kTimeoutNs);
  launch(kernel("echo", "isthmus_echo"), second, question, answer, 1u, kTimeoutNs);
  set(question, 1);
  synchronize(first);
  EXPECT_EQ(__atomic_load_n(answer, __ATOMIC_ACQUIRE), 1u);
}

TEST_F(Kernel, RunsWhileCopiesOfOtherStreamsFinish) {
  const CUstream kernels = stream();
  const CUstream copies = stream();
  std::uint32_t* gate = flag();
  const CUdeviceptr device = device_memory(kMiB);
  std::byte* host = pinned_memory(kMiB);
  launch(kernel("gate", "isthmus_gate"), kernels, gate, 1u, kTimeoutNs);
  driver().call(symbol::memcpy_htod_async)(device, host, kMiB, copies);
  driver().call(symbol::memcpy_dtoh_async)(host, device, kMiB, copies);
  driver().call(symbol::memset_d8_async)(device, static_cast<unsigned char>(1), kMiB, copies);
  synchronize(copies);
  EXPECT_EQ(query(kernels), CUDA_ERROR_NOT_READY);
  set(gate, 1);
  synchronize(kernels);
}

TEST_F(Kernel, TakesAtLeastItsRealTime) {
  const CUstream work = stream();
  const CUevent first = record(work);
  launch(kernel("spin", "isthmus_spin"), work, std::uint64_t{2'000'000});
  const CUevent last = record(work);
  synchronize(work);
  EXPECT_GE(seconds_between(first, last), 2e-3);
}

TEST_F(Kernel, NeedsAGridABlockAndItsParameters) {
  const CUfunction spin = kernel("spin", "isthmus_spin");
  std::uint64_t duration_ns = 0;
  void* parameters[] = {&duration_ns};
  const auto launch_raw = driver().raw(symbol::launch_kernel);
  EXPECT_EQ(launch_raw(spin, 0, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch_raw(spin, 1, 1, 1, 2048, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch_raw(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace isthmus::emulated
