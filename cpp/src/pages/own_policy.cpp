#include "pages/own_policy.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include <isthmus/errors.hpp>

#include "pages/page.hpp"

namespace isthmus::pages {

namespace {

constexpr const char* kSymbol = "isthmus_policy";

[[noreturn]] void refuse_file(const std::string& file, const std::string& why) {
  throw UsageError(file + " is no policy: " + why);
}

/// Calls a function of a user's. `whose` begins the message of what it throws.
template <class Whose, class Call>
auto calling(const Whose& whose, const char* function, const Call& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    throw UsageError(whose() + function + " threw: " + error.what());
  } catch (...) {
    throw UsageError(whose() + function + " threw something that is no std::exception");
  }
}

const isthmus_policy_table* table_of(const std::string& file, void* library) {
  void* const symbol = ::dlsym(library, kSymbol);
  if (symbol == nullptr)
    refuse_file(file, std::string("it has no function ") + kSymbol + " (isthmus/policy.h; in C++ " +
                          "ISTHMUS_POLICY before it, so that its name stays)");
  const auto* const table = calling([&] { return file + " is no policy: "; }, kSymbol,
                                    reinterpret_cast<decltype(&isthmus_policy)>(symbol));
  if (table == nullptr) refuse_file(file, std::string(kSymbol) + " returns null");
  if (table->version != ISTHMUS_POLICY_VERSION)
    refuse_file(file, "it was built for version " + std::to_string(table->version) +
                          " of isthmus/policy.h, and this is version " +
                          std::to_string(ISTHMUS_POLICY_VERSION) + ": build it again");
  if (table->on_access == nullptr) refuse_file(file, "its on_access is null");
  return table;
}

isthmus_policy_setup setup_of(const MigrationPolicy& policy, std::uint64_t memory_bytes) {
  const Geometry geometry = geometry_of(policy);
  const MigrationPolicy& all = geometry.policy;
  isthmus_policy_setup setup{};
  setup.memory_bytes = memory_bytes;
  setup.page_bytes = all.page_bytes;
  setup.unit_bytes = all.unit_bytes;
  setup.line_bytes = all.line_bytes;
  setup.bit_bytes = 1U << geometry.granule_shift;
  setup.gap_bytes = all.gap_bytes;
  setup.max_ranges = all.max_ranges;
  setup.tree_threshold_percent = all.tree_threshold_percent;
  setup.grow_bytes = all.grow_bytes;
  setup.prefetch_bytes = all.prefetch_bytes;
  setup.counter_threshold = all.counter_threshold;
  setup.counter_bytes = all.counter_bytes;
  setup.max_unit_bytes = all.max_unit_bytes;
  return setup;
}

}  // namespace

OwnPolicy load_own_policy(const std::string& file) {
  // Without a slash the system's folders would be searched.
  const std::string path = std::filesystem::absolute(file).string();
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): per thread in glibc
  if (library == nullptr) refuse_file(file, ::dlerror());
  std::shared_ptr<const void> kept(library, [](void* held) { ::dlclose(held); });
  return {table_of(file, library), file, std::move(kept)};
}

/// Names the policy and the function in what a library throws.
template <class Call>
auto OwnRun::call(const char* function, Call call) const {
  if (own_.throws_through) return call();
  return calling([&] { return "policy " + own_.name + ": "; }, function, call);
}

OwnRun::OwnRun(OwnPolicy own, const MigrationPolicy& policy, std::uint64_t memory_bytes)
    : own_(std::move(own)),
      table_(*own_.table),
      page_bytes_(policy.page_bytes),
      answer_(geometry_of(policy).num_granules) {
  if (table_.create == nullptr) return;
  const isthmus_policy_setup setup = setup_of(policy, memory_bytes);
  state_ = call("create", [&] { return table_.create(table_.context, &setup); });
  if (state_ == nullptr) refuse("create returned null");
}

OwnRun::~OwnRun() {
  if (state_ != nullptr && table_.destroy != nullptr) table_.destroy(state_);
}

void OwnRun::refuse(const std::string& what) const {
  throw UsageError("policy " + own_.name + ": " + what);
}

std::string OwnRun::asked(const isthmus_access& access) {
  return "on_access for " + std::to_string(access.length_bytes) + " bytes from " +
         std::to_string(access.offset_bytes) + " of page " + std::to_string(access.page);
}

void OwnRun::refuse_left_out(const isthmus_access& access) const {
  refuse(asked(access) + " left them out: the access would wait for ever; to serve it over the " +
         "link, set `remote`");
}

std::span<const Span> OwnRun::on_access(const isthmus_access& access) {
  const auto room = static_cast<std::uint32_t>(answer_.size());
  const std::uint32_t count =
      call("on_access", [&] { return table_.on_access(state_, &access, answer_.data(), room); });
  if (access.is_hit != 0) return {};
  if (count > room)
    refuse(asked(access) + " returned " + std::to_string(count) + " spans: a page has " +
           std::to_string(room) + " units");
  spans_.clear();
  for (const isthmus_span& one : std::span(answer_).first(count)) {
    if (one.offset_bytes > page_bytes_ || one.length_bytes > page_bytes_ - one.offset_bytes)
      refuse(asked(access) + " returned " + std::to_string(one.length_bytes) + " bytes from " +
             std::to_string(one.offset_bytes) + ": the page has " + std::to_string(page_bytes_));
    if (one.length_bytes != 0) spans_.push_back({one.offset_bytes, one.length_bytes});
  }
  return spans_;
}

void OwnRun::on_arrival(std::uint64_t page, Span bytes) {
  if (table_.on_arrival == nullptr) return;
  call("on_arrival",
       [&] { table_.on_arrival(state_, page, {bytes.offset_bytes, bytes.length_bytes}); });
}

std::span<const std::uint32_t> OwnRun::victims(std::span<const std::uint64_t> pages,
                                               std::uint32_t needed) {
  const auto num_pages = static_cast<std::uint32_t>(pages.size());
  chosen_.resize(pages.size());
  const std::uint32_t count = call("victims", [&] {
    return table_.victims(state_, pages.data(), num_pages, needed, chosen_.data());
  });
  if (count > num_pages)
    refuse("victims named " + std::to_string(count) + " pages: " + std::to_string(num_pages) +
           " may leave");
  victims_.clear();
  for (const std::uint64_t page : std::span(chosen_).first(std::min(count, needed))) {
    const auto index = static_cast<std::uint32_t>(std::ranges::find(pages, page) - pages.begin());
    if (index == num_pages || std::ranges::find(victims_, index) != victims_.end())
      refuse("victims named page " + std::to_string(page) + " twice, or it isn't one of the " +
             std::to_string(num_pages) + " that may leave");
    victims_.push_back(index);
  }
  return victims_;
}

}  // namespace isthmus::pages
