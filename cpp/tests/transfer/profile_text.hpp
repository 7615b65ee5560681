// A profile of one machine, and that machine, for tests.
#pragma once

#include <string>
#include <string_view>

#include "transfer/profile/profile.hpp"

namespace isthmus::transfer::test {

inline ProfileIdentity h100() {
  ProfileIdentity identity;
  identity.gpu_uuid = "GPU-00112233-4455-6677-8899-aabbccddeeff";
  identity.gpu_name = "NVIDIA H100";
  identity.link = {LinkClass::Kind::pcie, 5, 16};
  identity.cuda_version = 13000;
  identity.driver_release = "580.159.04";
  identity.cpu_model = "Some CPU";
  identity.num_cores = 16;
  return identity;
}

/// In the format of `isthmus profile`, with few points.
inline std::string profile_text() {
  return R"({"schema_version": 2,
 "measurement": {"finished_at": "2026-11-20T10:11:12Z", "seconds": 8.5, "quick": false,
  "isthmus_version": "0.1.0"},
 "machine": {"emulated": false, "gpu_uuid": "GPU-00112233-4455-6677-8899-aabbccddeeff",
  "gpu_name": "NVIDIA H100", "link": "PCIe Gen5 x16", "cuda_version": 13000,
  "driver_release": "580.159.04", "cpu_model": "Some CPU", "num_cores": 16},
 "window_opening_seconds": 4.5e-05,
 "staging_threads": {"h2d": 10, "d2h": 6},
 "costs": [
  {"path": "driver", "direction": "h2d", "host_memory": "pageable",
   "points": [{"bytes": 4, "seconds": 6e-06}, {"bytes": 67108864, "seconds": 0.008}]},
  {"path": "driver", "direction": "h2d", "host_memory": "pinned",
   "points": [{"bytes": 4, "seconds": 7e-06}, {"bytes": 67108864, "seconds": 0.0013}]},
  {"path": "driver", "direction": "d2h", "host_memory": "pageable",
   "points": [{"bytes": 4, "seconds": 8e-06}, {"bytes": 67108864, "seconds": 0.005}]},
  {"path": "driver", "direction": "d2h", "host_memory": "pinned",
   "points": [{"bytes": 4, "seconds": 7e-06}, {"bytes": 67108864, "seconds": 0.0013}]},
  {"path": "staged", "direction": "h2d", "host_memory": "pageable",
   "points": [{"bytes": 65536, "seconds": 5e-05}, {"bytes": 67108864, "seconds": 0.0015}]}],
 "not_measured": [
  {"path": "window", "direction": "d2h", "host_memory": "pinned", "reason": "no windows here"}]}
)";
}

/// `text` with the first `part` replaced by `other`.
inline std::string replaced(std::string text, std::string_view part, std::string_view other) {
  const auto at = text.find(part);
  if (at != std::string::npos) text.replace(at, part.size(), other);
  return text;
}

}  // namespace isthmus::transfer::test
