// The driver versions on which the resource manager's private ABI is used.
#pragma once

#include <string>
#include <string_view>

namespace isthmus::window::rm {

enum class Trust {
  tested,    ///< in the table: windows were tested on this version
  untested,  ///< newer than the table: allowed, with a notice, if the self-test passes
  refused,   ///< older than the table: only if the user names this backend
};

struct Verdict {
  Trust trust = Trust::refused;
  std::string text;  ///< "driver 580.159.04, tested on H100 SXM, H200"
};

/// Judges a kernel driver version, "580.159.04". Text that isn't a version is refused.
Verdict judge(std::string_view driver_version);

}  // namespace isthmus::window::rm
