// All kinds of policy but that of users.
#pragma once

#include <string>
#include <vector>

#include "pages/policy_names.hpp"

namespace isthmus::pages {

struct NamedKind {
  PolicyKind kind;
  std::string name;
};

inline std::vector<NamedKind> policy_kinds() {
  std::vector<NamedKind> kinds;
  for (const char* const name : words_of(PolicyKind{}))
    kinds.push_back({static_cast<PolicyKind>(kinds.size()), name});
  kinds.pop_back();  // own
  return kinds;
}

}  // namespace isthmus::pages
