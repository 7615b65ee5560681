// The search for the object behind memory of cuMemCreate that can't be exported, when calls fail or
// answer wrongly, and when the memory is freed meanwhile: a window that is right, or a refusal.
#include <cerrno>
#include <set>
#include <utility>

#include "driver/child_process.hpp"
#include "handleless_machine.hpp"

namespace isthmus::window {
namespace {

// --- Memory that another one takes the place of ------------------------------------------------

class FreedDuringTheSearch : public HandlelessMemory,
                             public testing::WithParamInterface<const char*> {};

TEST_P(FreedDuringTheSearch, IsRefused) {
  const auto backend = open();
  EXPECT_EQ(refusal_to_map(*backend, handleless()), "");
  for (const bool replaced : {false, true}) {
    const std::uintptr_t pointer = handleless();
    const Allocation allocation = allocation_at(pointer);
    const auto other = handle_of(properties_of(CU_MEM_HANDLE_TYPE_NONE), 2 * kMiB);
    bool freed = false;
    kernel_->disturb({.call = GetParam(), .before = [&](void*) {
                        if (std::exchange(freed, true)) return;
                        driver().call(symbol::mem_unmap)(CUdeviceptr{pointer}, 2 * kMiB);
                        if (!replaced) return;
                        driver().call(symbol::mem_map)(CUdeviceptr{pointer}, 2 * kMiB,
                                                       std::size_t{0}, other, 0ull);
                      }});
    const std::string reason =
        refusal_of([&] { backend->map(context(), allocation, {pointer, 2 * kMiB}, nullptr); });
    EXPECT_TRUE(says(reason, "freed during the search")) << reason;
    EXPECT_TRUE(freed);
    expect_no_memory_left();
    kernel_->start_over();
    driver().call(symbol::mem_release)(other);
  }
}

INSTANTIATE_TEST_SUITE_P(BeforeACall, FreedDuringTheSearch,
                         testing::Values(kRead, "DUP_OBJECT", kFacts), [](const auto& call) {
                           const std::string name = call.param;
                           return name.substr(name.find(' ') + 1);
                         });

TEST_F(HandlelessMemory, ThatDiffersOnlyInItsMiddleIsFoundToBeAnother) {
  const std::uintptr_t pointer = handleless();
  const std::uintptr_t decoy = handleless();
  fill(pointer + kMiB, 4096, 1);
  fill(decoy + kMiB, 4096, 2);
  Windows all = windows();
  all.open(handleless(), kMiB).close();
  const std::uint32_t difference = 1;  // the decoy was made next
  kernel_->disturb({.call = "DUP_OBJECT", .before = [=](void* argument) {
                      static_cast<rm::DupObject*>(argument)->source_object += difference;
                    }});
  const std::string reason = refusal_of([&] { all.open(pointer, 2 * kMiB); });
  EXPECT_TRUE(says(reason, "other bytes than the buffer has")) << reason;
  expect_no_memory_left();
}

TEST_F(HandlelessMemory, LeavesTheDriverAloneInAChildProcess) {
  const std::uintptr_t pointer = handleless();
  auto all = std::make_unique<Windows>(windows());
  Window window = all->open(pointer, 2 * kMiB);
  const emulated::Controls controls(driver());
  EXPECT_TRUE(holds_in_child([&] {
    controls.log_calls(1);
    window.close();
    all.reset();
    return controls.call_log().empty();
  }));
  expect_same_memory(window.data(), pointer, 2 * kMiB);
}

// --- Whichever call fails, or answers wrongly --------------------------------------------------

TEST_F(HandlelessMemory, IsNotTriedAgainAfterThreeFailures) {
  const auto backend = open();
  const std::uintptr_t pointer = handleless();
  const emulated::Controls controls(driver());
  std::string first;
  for (int attempt = 0; attempt < 3; ++attempt) {
    controls.fail_call("cuMemAddressReserve", 1, CUDA_ERROR_OUT_OF_MEMORY);
    first = refusal_to_map(*backend, pointer);
    EXPECT_TRUE(says(first, "no memory of our own")) << first;
  }
  EXPECT_EQ(refusal_to_map(*backend, pointer), first);
  EXPECT_EQ(kernel_->num_calls("DUP_OBJECT"), 0);
}

class HandlelessMemorySweep : public HandlelessMemory, public testing::WithParamInterface<bool> {};

TEST_P(HandlelessMemorySweep, IsMappedRightlyOrRefusedWhicheverCallFails) {
  const std::uintptr_t pointer = handleless();
  live(pointer, 2 * kMiB);
  const int num_calls = num_refusable_calls(*kernel_);
  ASSERT_GE(num_calls, 60) << "three objects of its own are examined, then the memory's";
  const std::size_t num_descriptors = num_open_descriptors();
  int num_refused = 0;
  for (int nth = 1; nth <= num_calls; ++nth) {
    kernel_->start_over();
    kernel_->refuse(GetParam() ? fakes::Refusal{"", 0, fakes::kNotSupported, nth}
                               : fakes::Refusal{"", EIO, 0, nth});
    const std::string reason = refusal_of([&] {
      const auto backend = open();
      const std::string first = refusal_to_map(*backend, pointer);
      num_refused += first != "";
      EXPECT_EQ(refusal_to_map(*backend, pointer), "") << "nothing may stay broken: " << first;
    });
    num_refused += reason != "";
    EXPECT_NE(kernel_->last_refused(), "");
    expect_nothing_left();
    EXPECT_EQ(num_open_descriptors(), num_descriptors) << kernel_->last_refused();
  }
  EXPECT_GT(num_refused, 20);
}

INSTANTIATE_TEST_SUITE_P(ByErrorAndStatus, HandlelessMemorySweep, testing::Bool(),
                         [](const auto& by_status) {
                           return by_status.param ? "Status" : "Error";
                         });

TEST_F(HandlelessMemory, IsMappedRightlyOrRefusedWhicheverCallOfTheDriverFails) {
  const std::uintptr_t pointer = handleless();
  const emulated::Controls controls(driver());
  const auto ending = [&] {
    try {
      return refusal_to_map(*open(), pointer);
    } catch (const DriverError& error) {
      return std::string(error.what());
    }
  };
  controls.log_calls(1);
  EXPECT_EQ(ending(), "");
  const auto calls = test::counts_of_calls(controls.call_log());
  controls.reset();
  ASSERT_TRUE(calls.contains("cuMemRetainAllocationHandle"));
  const IsthmusEmulatorLive before = controls.live();
  // What destructors call, which can't be refused, and what the test copies with.
  const std::set<std::string> left_out{"cuCtxPushCurrent", "cuMemUnmap",   "cuMemAddressFree",
                                       "cuMemRelease",     "cuMemcpyHtoD", "cuMemcpyDtoH",
                                       "cuCtxSynchronize"};
  int num_refused = 0;
  for (const auto& [symbol, count] : calls) {
    if (test::releases(symbol) || left_out.contains(symbol)) continue;
    for (int nth = 1; nth <= count; ++nth) {
      SCOPED_TRACE(symbol + " call " + std::to_string(nth));
      controls.fail_call(symbol.c_str(), nth, CUDA_ERROR_OUT_OF_MEMORY);
      num_refused += ending() != "";
      controls.reset();
      EXPECT_EQ(controls.live(), before);
      expect_nothing_left();
    }
  }
  EXPECT_GT(num_refused, 30);
  EXPECT_EQ(ending(), "") << "nothing may stay broken";
}

struct WrongAnswer {
  const char* name;
  fakes::Disturbance disturbance;
};

/// What each call may answer wrongly.
std::vector<WrongAnswer> wrong_answers() {
  return {
      {"AnotherObject",
       {.call = "DUP_OBJECT",
        .before =
            [](void* argument) { static_cast<rm::DupObject*>(argument)->source_object += 1; }}},
      {"AnEarlierObject",
       {.call = "DUP_OBJECT",
        .before =
            [](void* argument) { static_cast<rm::DupObject*>(argument)->source_object -= 1; }}},
      {"AnotherSize",
       {.call = kFacts,
        .after = [](void* argument) { answer_to(argument, rm::kSurfaceInfoSizeLow).value *= 2; }}},
      {"ALargeSize",
       {.call = kFacts,
        .after = [](void* argument) { answer_to(argument, rm::kSurfaceInfoSizeHigh).value = 1; }}},
      {"AnotherAddressSpace",
       {.call = kFacts,
        .after =
            [](void* argument) { answer_to(argument, rm::kSurfaceInfoAddressSpace).value = 1; }}},
      {"AnotherNumber",
       {.call = kRead,
        .after =
            [](void* argument) {
              change_numbers(argument, [](std::uint32_t& word) { word += 1; });
            }}},
      {"NoNumber",
       {.call = kRead,
        .after =
            [](void* argument) {
              change_numbers(argument, [](std::uint32_t& word) { word = 0; });
            }}},
      {"AnotherStructure",
       {.call = kRead,
        .before =
            [](void* argument) { static_cast<fakes::MemoryRead*>(argument)->address += 0x200; }}},
  };
}

class WrongAnswerSweep : public HandlelessMemory,
                         public testing::WithParamInterface<std::size_t> {};

// The n-th call of a name is answered wrongly; then all from the n-th on.
TEST_P(WrongAnswerSweep, GivesAWindowThatIsRightOrARefusal) {
  const WrongAnswer wrong = wrong_answers()[GetParam()];
  std::vector<std::uintptr_t> all;
  for (std::uint32_t index = 0; index < 3; ++index) {
    all.push_back(handleless());
    fill(all.back(), 2 * kMiB, index + 1);
  }
  const auto use = [&] {
    const Window window = windows().open(all[1], 2 * kMiB);
    expect_same_memory(window.data(), all[1], 2 * kMiB);
  };
  use();
  const int num_calls = kernel_->num_calls(wrong.disturbance.call);
  int num_refused = 0;
  for (const bool all_later : {false, true})
    for (int nth = 1; nth <= num_calls; ++nth) {
      kernel_->start_over();
      int call = 0;
      int made = 0;
      const auto chosen = [&](int& count) {
        ++count;
        return count == nth || (all_later && count > nth);
      };
      kernel_->disturb({wrong.disturbance.call,
                        [&](void* argument) {
                          if (chosen(call) && wrong.disturbance.before)
                            wrong.disturbance.before(argument);
                        },
                        [&](void* argument) {
                          if (chosen(made) && wrong.disturbance.after)
                            wrong.disturbance.after(argument);
                        }});
      num_refused += refusal_of(use) != "";
      expect_nothing_left();
    }
  EXPECT_GT(num_refused, 0) << wrong.name;
}

INSTANTIATE_TEST_SUITE_P(Of, WrongAnswerSweep,
                         testing::Range(std::size_t{0}, wrong_answers().size()),
                         [](const auto& index) { return wrong_answers()[index.param].name; });

}  // namespace
}  // namespace isthmus::window
