// "Ordering" in window.hpp for a kernel that is running: data before flags, in both directions.
#include <atomic>
#include <cstring>

#include "window/ordering.hpp"

namespace isthmus::window {
namespace {

constexpr std::uint32_t kNoMoreQuestions = 0xffffffff;  // of kernels/questions.cuh
constexpr std::uint64_t kKernelTimeoutNs = 30'000'000'000;

using Flag = std::atomic_ref<std::uint32_t>;

/// A kernel that answers each question with its input ^ round, until this is destroyed. Question
/// and input are in device memory; answer and output in pinned or in device memory.
class AnsweringKernel : public Ordering {
protected:
  static constexpr std::size_t kNumWords = 2048;
  static constexpr std::size_t kDataBytes = kNumWords * 4;

  void TearDown() override {
    if (running_) {
      driver().call(symbol::memset_d32_async)(question_, kNoMoreQuestions, std::size_t{1}, stop_);
      synchronize(stop_);
      synchronize(work());
    }
    Ordering::TearDown();
  }

  void start(CUdeviceptr answer, CUdeviceptr output, unsigned num_rounds = kRounds) {
    question_ = device_memory(4);
    input_ = device_memory(kDataBytes);
    stop_ = stream();
    const auto kernel = kernels().get("ping_pong", "isthmus_ping_pong");
    // Also loads what the memset at the end needs, which must not be loaded beside a waiting
    // kernel.
    driver().call(symbol::memset_d32_async)(question_, 0u, std::size_t{1}, stop_);
    synchronize(stop_);
    kernel.launch(work(), 1, 128, question_, answer, input_, output, std::uint64_t{kNumWords},
                  std::uint32_t{num_rounds}, kKernelTimeoutNs);
    running_ = true;
  }

  CUdeviceptr question() const { return question_; }
  CUdeviceptr input() const { return input_; }

  static std::vector<std::uint32_t> words(unsigned round) {
    std::vector<std::uint32_t> words(kNumWords);
    for (std::size_t i = 0; i < kNumWords; ++i)
      words[i] = static_cast<std::uint32_t>(host::pattern_word(round, i));
    return words;
  }
  static std::vector<std::uint32_t> answered(unsigned round) {
    auto expected = words(round);
    for (std::uint32_t& word : expected) word ^= round;
    return expected;
  }

private:
  CUdeviceptr question_ = 0;
  CUdeviceptr input_ = 0;
  CUstream stop_ = nullptr;
  bool running_ = false;
};

/// Answers are in pinned memory, which the CPU polls.
class RunningKernel : public AnsweringKernel {
protected:
  void start_answering() {
    answer_ = pinned_memory<std::uint32_t>(1);
    output_ = pinned_memory<std::uint32_t>(kNumWords);
    start(device_pointer(answer_), device_pointer(output_));
  }
  bool has_answered(std::uint32_t round) {
    return eventually([&] { return Flag(*answer_).load(std::memory_order_acquire) == round; });
  }
  bool output_is_right(std::uint32_t round) {
    return std::memcmp(output_, answered(round).data(), kDataBytes) == 0;
  }

  void expect_data_before_the_flag(int num_threads) {
    start_answering();
    Window data = windows().open(input(), kDataBytes, {.num_threads = num_threads});
    Window flag = windows().open(question(), 4);
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      data.write(0, words(round).data(), kDataBytes);
      flag.write(0, &round, sizeof round);
      ASSERT_TRUE(has_answered(round)) << "round " << round;
      ASSERT_TRUE(output_is_right(round)) << "round " << round << ": the flag overtook the data";
    }
  }

private:
  std::uint32_t* answer_ = nullptr;
  std::uint32_t* output_ = nullptr;
};

TEST_F(RunningKernel, SeesTheDataOnceItSeesAFlagThatWasWrittenAfterIt) {
  expect_data_before_the_flag(1);
}

TEST_F(RunningKernel, SeesTheDataThatThreadsWroteBeforeTheFlag) { expect_data_before_the_flag(4); }

TEST_F(RunningKernel, SeesDataThatWasPostedBeforeAFenceAndAPostedFlagBeforeTheNext) {
  start_answering();
  Window data = windows().open(input(), kDataBytes);
  Window flag = windows().open(question(), 4);
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    const auto sent = words(round);
    for (std::size_t word = 0; word < kNumWords; word += 16) data.post(word * 4, &sent[word], 64);
    Window::fence();
    flag.post(0, &round, sizeof round);
    Window::fence();
    ASSERT_TRUE(has_answered(round)) << "round " << round;
    ASSERT_TRUE(output_is_right(round)) << "round " << round << ": the flag overtook the data";
  }
}

TEST_F(RunningKernel, DoesNotKeepAWindowFromBeingOpened) {
  start_answering();
  Window flag = windows().open(question(), 4);
  const std::uint32_t first = 1;
  flag.write(0, &first, sizeof first);
  ASSERT_TRUE(has_answered(1));
  Window late = windows().open(input(), kDataBytes);
  late.write(0, words(2).data(), kDataBytes);
  const std::uint32_t second = 2;
  flag.write(0, &second, sizeof second);
  ASSERT_TRUE(has_answered(2));
  EXPECT_TRUE(output_is_right(2));
}

/// Answers are in device memory, which the CPU polls through windows.
class RunningKernelsBytes : public AnsweringKernel {};

TEST_F(RunningKernelsBytes, AreReadOnceItsFlagHasBeenRead) {
  const CUdeviceptr answer = device_memory(4);
  const CUdeviceptr output = device_memory(kDataBytes);
  driver().call(symbol::memset_d32_async)(answer, 0u, std::size_t{1}, work());
  synchronize(work());
  const Window answers = windows().open(answer, 4);
  const Window outputs = windows().open(output, kDataBytes);
  start(answer, output);
  Window data = windows().open(input(), kDataBytes);
  Window flag = windows().open(question(), 4);
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    data.write(0, words(round).data(), kDataBytes);
    flag.write(0, &round, sizeof round);
    std::uint32_t seen = 0;
    ASSERT_TRUE(eventually([&] {
      answers.read(&seen, 0, sizeof seen);
      return seen == round;
    })) << "round "
        << round;
    std::vector<std::uint32_t> found(kNumWords);
    outputs.read(found.data(), 0, kDataBytes);
    ASSERT_TRUE(found == answered(round)) << "round " << round;
  }
}

}  // namespace
}  // namespace isthmus::window
