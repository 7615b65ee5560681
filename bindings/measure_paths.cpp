// Timing copies by each way, and what a profile of this machine must say of itself. The timing
// releases the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <isthmus/transfer.hpp>

#include "bindings.hpp"
#include "host/cores.hpp"
#include "measure/copy_paths.hpp"
#include "transfer/profile.hpp"
#include "unlocked.hpp"
#include "words.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace measure = isthmus::measure;
namespace transfer = isthmus::transfer;
using isthmus::CopyPath;
using Release = nb::call_guard<nb::gil_scoped_release>;
using transfer::Profile;
using transfer::ProfileIdentity;

namespace {

constexpr Word<CopyPath> kPaths[] = {{"window", CopyPath::window},
                                     {"window_threads", CopyPath::window_threads},
                                     {"driver", CopyPath::driver},
                                     {"staged", CopyPath::staged},
                                     {"registered", CopyPath::registered}};

/// Copies of their own: nothing that another part of the program has opened makes them cheaper.
class PathBench {
public:
  explicit PathBench(const isthmus::Context& context) : transfers_(context.driver()) {}

  measure::Measurement run(measure::CopyBuffers& buffers, const std::string& path,
                           const std::string& direction, std::size_t size_bytes,
                           const measure::Stopping& stopping) {
    return measure::measure_copy_path(
        transfers_, buffers,
        {value_of(kPaths, path, "way to copy"), value_of(kDirections, direction, "direction"),
         size_bytes, stopping});
  }

private:
  isthmus::Transfers transfers_;
};

using SharedPathBench = Unlocked<PathBench>;

ProfileIdentity identity_of(const isthmus::Driver& driver, int ordinal) {
  return transfer::identity_of(isthmus::read_device_facts(driver, ordinal),
                               isthmus::host::effective_cores(), driver.emulated());
}

void bind_identity(nb::module_& m) {
  nb::class_<ProfileIdentity>(m, "ProfileIdentity", "The machine that a profile is of.")
      .def_ro("emulated", &ProfileIdentity::emulated)
      .def_ro("gpu_uuid", &ProfileIdentity::gpu_uuid)
      .def_ro("gpu_name", &ProfileIdentity::gpu_name)
      .def_prop_ro(
          "link", [](const ProfileIdentity& identity) { return identity.link.name(); },
          "\"PCIe Gen5 x16\", \"NVLink-C2C\" or \"emulated link\".")
      .def_ro("cuda_version", &ProfileIdentity::cuda_version, "Of the driver: 13000 is CUDA 13.0.")
      .def_ro("driver_release", &ProfileIdentity::driver_release, "\"\" where it isn't known.")
      .def_ro("cpu_model", &ProfileIdentity::cpu_model, "\"\" where it isn't known.")
      .def_ro("num_cores", &ProfileIdentity::num_cores)
      .def_prop_ro(
          "file",
          [](const ProfileIdentity& identity) { return transfer::profile_path(identity).string(); },
          "Where its profile is looked for; \"\" if it isn't.")
      .def_prop_ro("file_name", [](const ProfileIdentity& identity) {
        return transfer::profile_file_name(identity);
      });
  m.def("profile_identity", &identity_of, "driver"_a, "ordinal"_a, Release(),
        "Tell what a profile of a device must say of itself.");
}

void bind_use(nb::module_& m) {
  nb::class_<Profile>(m, "CostProfile", "What copies are planned with.")
      .def_prop_ro("measured", &Profile::measured, "False: conservative defaults.")
      .def_prop_ro("source", &Profile::source, "Where its figures come from, and why from there.")
      .def(
          "seconds",
          [](const Profile& profile, const std::string& path, const std::string& direction,
             const std::string& host_memory, std::size_t size_bytes) -> nb::object {
            constexpr Word<isthmus::MemoryKind> kKinds[] = {
                {"pageable", isthmus::MemoryKind::pageable},
                {"pinned", isthmus::MemoryKind::pinned}};
            constexpr Word<transfer::Direction> kWays[] = {
                {"h2d", transfer::Direction::host_to_device},
                {"d2h", transfer::Direction::device_to_host}};
            const auto* const curve = profile.curve(
                value_of(kPaths, path, "way to copy"), value_of(kWays, direction, "direction"),
                value_of(kKinds, host_memory, "kind of host memory"));
            return curve == nullptr ? nb::none() : nb::cast(curve->seconds(size_bytes));
          },
          nb::kw_only(), "path"_a, "direction"_a, "host_memory"_a, "size_bytes"_a,
          nb::sig("def seconds(self, *, path: str, direction: str, host_memory: str, size_bytes: "
                  "int) -> float | None"),
          "Predict one copy; None if that way wasn't measured.");
  m.def(
      "profile_in_use",
      [](const isthmus::Driver& driver, int ordinal) {
        return Profile::for_device(identity_of(driver, ordinal));
      },
      "driver"_a, "ordinal"_a, Release(),
      "Load what copies with a device are planned with: the stored profile, or defaults.");
  m.def(
      "parse_profile",
      [](const std::string& text, const ProfileIdentity& identity) {
        return Profile::parse(text, identity);
      },
      "text"_a, "identity"_a, "Read a profile's file; UsageError if it doesn't fit.");
}

}  // namespace

void bind_measure_paths(nb::module_& m) {
  bind_identity(m);
  bind_use(m);
  nb::class_<SharedPathBench>(m, "PathBench", "Copies by each way, to be timed.")
      .def(
          "__init__",
          [](SharedPathBench* self, const SharedContext& context) {
            new (self) SharedPathBench(PathBench(*context));
          },
          "context"_a, Release())
      .def(
          "measure",
          [](SharedPathBench& bench, SharedBuffers& buffers, const std::string& path,
             const std::string& direction, std::size_t size_bytes,
             const measure::Stopping& stopping) {
            return bench->run(*buffers, path, direction, size_bytes, stopping);
          },
          "buffers"_a, nb::kw_only(), "path"_a, "direction"_a, "size_bytes"_a, "stopping"_a,
          Release(), "Sample copies of one size (metric \"completion\"); Unavailable if it can't.");
}
