// Copies of every kind by several threads, beside captures, signals and failing calls, until the
// time is up. Every byte is compared.
//
//     stress_copies [--seconds 60] [--threads 4] [--seed N] [--faults 1] [--captures 1]
//
// Exits with 1 if a byte differs, released memory is written to, a capture is ended, or something
// leaks.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "copier.hpp"
#include "troubles.hpp"

namespace isthmus::stress {
namespace {

struct Options {
  std::uint64_t seconds = 60;
  std::uint64_t threads = 4;
  std::uint64_t seed = std::random_device{}();
  std::uint64_t faults = 1;
  std::uint64_t captures = 1;
};

Options parsed(int count, char** words) {
  Options options;
  const std::map<std::string, std::uint64_t*> known{{"--seconds", &options.seconds},
                                                    {"--threads", &options.threads},
                                                    {"--seed", &options.seed},
                                                    {"--faults", &options.faults},
                                                    {"--captures", &options.captures}};
  for (int i = 1; i + 1 < count; i += 2) {
    const auto found = known.find(words[i]);
    if (found == known.end()) throw UsageError("no option " + std::string(words[i]));
    *found->second = std::strtoull(words[i + 1], nullptr, 10);
  }
  if (count % 2 == 0) throw UsageError("an option without a value");
  return options;
}

void copy_until_the_end(Workplace& place, Copier& copier) {
  try {
    while (!place.ending && place.tally.failures().empty()) copier.step();
  } catch (const std::exception& error) {
    place.tally.fail(std::string("an error that is not documented: ") + error.what());
  }
}

void work(Workplace& place, const Options& options) {
  std::vector<std::unique_ptr<Copier>> copiers;
  for (std::uint64_t i = 0; i < options.threads; ++i)
    copiers.push_back(std::make_unique<Copier>(place, options.seed * 1000 + i));
  std::vector<std::thread> threads;
  std::vector<pthread_t> handles;
  for (auto& copier : copiers) {
    threads.emplace_back([&place, &copier] { copy_until_the_end(place, *copier); });
    handles.push_back(threads.back().native_handle());
  }
  std::vector<std::thread> troubles;
  if (options.captures != 0) troubles.emplace_back([&] { capture_until_the_end(place); });
  if (options.faults != 0 && place.context.driver().emulated())
    troubles.emplace_back([&] { fail_calls_until_the_end(place, options.seed); });
  troubles.emplace_back([&] { signal_until_the_end(place, handles, options.seed + 1); });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  while (std::chrono::steady_clock::now() < end && place.tally.failures().empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  place.ending = true;
  for (std::thread& trouble : troubles) trouble.join();
  for (std::thread& thread : threads) thread.join();
  if (!place.keeper.end(std::chrono::seconds(60))) place.tally.fail("a dropped copy doesn't end");
}

int report(const Tally& tally, const Options& options) {
  std::uint64_t num_operations = 0;
  for (const auto& [what, count] : tally.counts()) {
    std::printf("%12llu  %s\n", static_cast<unsigned long long>(count), what.c_str());
    num_operations += count;
  }
  for (const std::string& failure : tally.failures()) std::printf("FAILED: %s\n", failure.c_str());
  std::printf("seed %llu: %llu operations, %.2f GB, %zu differences or failures\n",
              static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(num_operations),
              static_cast<double>(tally.num_bytes()) * 1e-9, tally.failures().size());
  return tally.failures().empty() ? 0 : 1;
}

/// The emulated driver reports what is alive.
void require_nothing_left(const Driver& driver, Tally& tally) {
  if (!driver.emulated()) return;
  const IsthmusEmulatorLive live = test::EmulatorControls(driver).live();
  if (live.contexts == 0 && live.streams == 0 && live.events == 0 && live.device_bytes == 0 &&
      live.pinned_bytes == 0 && live.registered_ranges == 0)
    return;
  std::ostringstream text;
  text << live;
  tally.fail("left behind: " + text.str());
}

int run(const Options& options) {
  const Driver driver = Driver::open();
  constexpr std::size_t kPoolBytes = std::size_t{48} << 20U;  // less than all threads may need
  auto place = std::make_unique<Workplace>(driver, kPoolBytes);
  std::printf("%s, seed %llu\n", place->context.device().name.c_str(),
              static_cast<unsigned long long>(options.seed));
  work(*place, options);
  if (place->pool.stats().used_bytes != 0) place->tally.fail("pinned blocks are still in use");
  Tally tally;
  const int result = report(place->tally, options);
  place.reset();
  require_nothing_left(driver, tally);
  for (const std::string& failure : tally.failures()) std::printf("FAILED: %s\n", failure.c_str());
  return tally.failures().empty() ? result : 1;
}

}  // namespace
}  // namespace isthmus::stress

#ifdef __SANITIZE_THREAD__
/// libstdc++ counts references to an exception in code that ThreadSanitizer doesn't see. It reports
/// a race between the last holder, who frees the exception, and earlier readers.
extern "C" [[gnu::visibility("default")]] const char*
__tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
#endif

int main(int count, char** words) {
  try {
    return isthmus::stress::run(isthmus::stress::parsed(count, words));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
