// Profiles: any text is a profile of this machine, or a UsageError that can be shown.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <isthmus/errors.hpp>

#include "expectations.hpp"
#include "transfer/profile/profile.hpp"
#include "transfer/profile_text.hpp"

namespace isthmus::fuzz {
namespace {

using transfer::Direction;
using transfer::Profile;
using transfer::ProfileIdentity;

void expect_finite_costs(const Profile& profile) {
  for (const CopyPath path : {CopyPath::window, CopyPath::window_threads, CopyPath::driver,
                              CopyPath::staged, CopyPath::registered}) {
    for (const Direction direction : {Direction::host_to_device, Direction::device_to_host}) {
      for (const MemoryKind kind : {MemoryKind::pageable, MemoryKind::pinned}) {
        const transfer::CostCurve* const curve = profile.curve(path, direction, kind);
        if (curve == nullptr) continue;
        for (const std::size_t size_bytes : {std::size_t{0}, std::size_t{1} << 20U, SIZE_MAX})
          expect(std::isfinite(curve->seconds(size_bytes)), "a cost is no number");
      }
    }
  }
}

void parse(std::string_view text, const ProfileIdentity& identity) {
  try {
    const Profile profile = Profile::parse(text, identity);
    expect(profile.measured(), "a stored profile is a measured one");
    expect_shown(profile.source());
    expect_finite_costs(profile);
  } catch (const UsageError& refusal) {
    expect_message(refusal);
  }
}

}  // namespace
}  // namespace isthmus::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), size_bytes);
  isthmus::transfer::ProfileIdentity identity = isthmus::transfer::test::h100();
  isthmus::fuzz::parse(text, identity);
  identity.num_cores = 1;
  isthmus::fuzz::parse(text, identity);
  return 0;
}
