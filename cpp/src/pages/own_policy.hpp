// Policies of users (isthmus/policy.h): libraries, and one run's use of a policy, whose answers are
// checked.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <isthmus/policy.h>
#include "pages/policy.hpp"
#include "pages/span.hpp"

namespace isthmus::pages {

struct OwnPolicy {
  const isthmus_policy_table* table = nullptr;
  std::string name;                  ///< for messages
  std::shared_ptr<const void> kept;  ///< what the table needs
  bool throws_through = false;       ///< exceptions are those of the caller of the run
};

/// Loads a library; it stays as long as a copy of the result. Its initialisers run.
///
/// Throws      UsageError with the file and the reason.
OwnPolicy load_own_policy(const std::string& file);

/// A run's own policy. Every answer is checked: UsageError for one that can't be, and for what a
/// library throws.
class OwnRun {
public:
  /// policy      has passed check()
  OwnRun(OwnPolicy own, const MigrationPolicy& policy, std::uint64_t memory_bytes);
  OwnRun(const OwnRun&) = delete;
  OwnRun& operator=(const OwnRun&) = delete;
  ~OwnRun();

  const std::string& name() const { return own_.name; }
  bool wants_hits() const { return table_.wants_hits != 0; }
  bool serves_remotely() const { return table_.remote != 0; }
  bool chooses_victims() const { return table_.victims != nullptr; }

  /// Returns     what is to migrate: inside the page, not empty; valid until the next call
  std::span<const Span> on_access(const isthmus_access& access);
  /// The answer doesn't contain the access, and it has to.
  [[noreturn]] void refuse_left_out(const isthmus_access& access) const;
  void on_arrival(std::uint64_t page, Span bytes);
  /// Returns     indices into `pages`, each once; valid until the next call
  std::span<const std::uint32_t> victims(std::span<const std::uint64_t> pages,
                                         std::uint32_t needed);

private:
  template <class Call>
  auto call(const char* function, Call call) const;
  [[noreturn]] void refuse(const std::string& what) const;
  static std::string asked(const isthmus_access& access);

  OwnPolicy own_;
  const isthmus_policy_table& table_;
  std::uint32_t page_bytes_;
  void* state_ = nullptr;
  std::vector<isthmus_span> answer_;
  std::vector<Span> spans_;
  std::vector<std::uint64_t> chosen_;
  std::vector<std::uint32_t> victims_;
};

}  // namespace isthmus::pages
