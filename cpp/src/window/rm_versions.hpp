// On which driver versions the resource manager's private ABI is used.
#pragma once

#include <string>
#include <string_view>

namespace isthmus::window::rm {

enum class Trust {
  tested,    ///< in the table: windows were tested on this version
  untested,  ///< newer than the table: allowed if the self-test passes, and said so
  refused,   ///< older than the table: only if the user names this backend
};

struct Verdict {
  Trust trust = Trust::refused;
  std::string text;  ///< "driver 580.159.04, tested on H100 SXM, H200"
};

/// Judges a version of the kernel driver, "580.159.04". What isn't a version is refused.
Verdict judge(std::string_view driver_version);

}  // namespace isthmus::window::rm
