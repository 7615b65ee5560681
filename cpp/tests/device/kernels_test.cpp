#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "host/memory/pattern.hpp"
#include "test_driver.hpp"

namespace isthmus {
namespace {

using Bytes = std::vector<std::byte>;
constexpr unsigned long long kSeed = 42;

class PatternKernels : public testing::TestWithParam<std::size_t> {
protected:
  std::uint64_t mismatches(const DeviceBuffer& buffer, std::size_t size_bytes) const {
    const DeviceBuffer count(context_, 8);
    const Stream stream(context_);
    context_.driver().call(symbol::memset_d8_async)(count.pointer(), static_cast<unsigned char>(0),
                                                    8UL, stream.handle());
    test::kernels()
        .get("pattern", "isthmus_pattern_check")
        .launch(stream.handle(), 64, 128, buffer.pointer(),
                static_cast<unsigned long long>(size_bytes), kSeed, count.pointer());
    stream.synchronize();
    std::uint64_t result = 0;
    context_.driver().call(symbol::memcpy_dtoh)(&result, count.pointer(), sizeof result);
    return result;
  }

  Context context_ = test::context();
  CurrentContext current_{context_};
};

TEST_P(PatternKernels, WriteTheSameBytesAsTheHost) {
  const std::size_t size_bytes = GetParam();
  const DeviceBuffer buffer(context_, size_bytes);
  const Stream stream(context_);
  test::kernels()
      .get("pattern", "isthmus_pattern_fill")
      .launch(stream.handle(), 64, 128, buffer.pointer(),
              static_cast<unsigned long long>(size_bytes), kSeed);
  stream.synchronize();
  Bytes written(size_bytes);
  context_.driver().call(symbol::memcpy_dtoh)(written.data(), buffer.pointer(), size_bytes);
  EXPECT_EQ(host::count_pattern_mismatches(written.data(), size_bytes, kSeed), 0U);
}

TEST_P(PatternKernels, FindEverySingleWrongByte) {
  const std::size_t size_bytes = GetParam();
  Bytes bytes(size_bytes);
  host::fill_pattern(bytes.data(), size_bytes, kSeed);
  const DeviceBuffer buffer(context_, size_bytes);
  const auto upload = [&] {
    context_.driver().call(symbol::memcpy_htod)(buffer.pointer(), bytes.data(), size_bytes);
    // From pageable memory, the call may return before the last bytes have arrived.
    context_.driver().call(symbol::stream_synchronize)(nullptr);
  };
  upload();
  EXPECT_EQ(mismatches(buffer, size_bytes), 0U);
  for (const std::size_t position : {std::size_t{0}, size_bytes / 2, size_bytes - 1}) {
    bytes[position] ^= std::byte{1};
    upload();
    EXPECT_EQ(mismatches(buffer, size_bytes), 1U) << "byte " << position;
    bytes[position] ^= std::byte{1};
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PatternKernels,
                         testing::Values(1, 4, 7, 8, 9, 4095, 65536, 1000003),
                         [](const auto& test) { return std::to_string(test.param) + "_bytes"; });

TEST(Kernels, AreLoadedOnceAndFoundByName) {
  EXPECT_NO_THROW(test::kernels().get("spin", "isthmus_spin"));
  EXPECT_THROW(test::kernels().get("no_such_file", "isthmus_spin"), UsageError);
  try {
    test::kernels().get("spin", "isthmus_no_such_kernel");
    FAIL();
  } catch (const DriverError& error) {
    EXPECT_EQ(error.code_name(), "CUDA_ERROR_NOT_FOUND");
  }
}

TEST(Kernels, AnswerAQuestionSentWhileTheyRun) {
  const Context context = test::context();
  const CurrentContext current(context);
  const DeviceBuffer question(context, 4);
  const PinnedBuffer values(context, 8);
  const Stream kernel_stream(context);
  const Stream copy_stream(context);
  auto* sent = reinterpret_cast<volatile std::uint32_t*>(values.data());
  auto* answer = sent + 1;
  *answer = 0;
  context.driver().call(symbol::memset_d32_async)(question.pointer(), 0U, std::size_t{1},
                                                  kernel_stream.handle());
  kernel_stream.synchronize();  // else the first question could come before the flag is cleared
  test::kernels()
      .get("echo", "isthmus_echo")
      .launch(kernel_stream.handle(), 1, 1, question.pointer(), values.device_pointer() + 4, 3U,
              5'000'000'000ULL);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    *sent = round;
    context.driver().call(symbol::memcpy_htod_async)(question.pointer(), values.data(), 4UL,
                                                     copy_stream.handle());
    copy_stream.synchronize();
    while (*answer != round && !kernel_stream.idle()) {
    }
  }
  kernel_stream.synchronize();
  EXPECT_EQ(*answer, 3U);
}

}  // namespace
}  // namespace isthmus
