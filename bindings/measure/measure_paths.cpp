// Measures copies by each path, and workloads of Zhang 2019 by each way in which their data gets to
// a device; reads the identity of a profile of this machine. Measuring releases the GIL.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <isthmus/transfer.hpp>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/words.hpp"
#include "host/cpu/cgroup.hpp"
#include "measure/bandwidth/copy_paths.hpp"
#include "measure/paging/paging.hpp"
#include "transfer/profile/profile.hpp"
#include "workloads/registry.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace measure = isthmus::measure;
using isthmus::measure::PagingWay;
using isthmus::measure::PagingWorkload;

namespace {

using SharedPaging = Unlocked<PagingWorkload>;

PagingWorkload made(const SharedContext& context, const SharedKernels& kernels,
                    const std::string& workload, const isthmus::workloads::GivenSizes& sizes,
                    std::uint64_t seed) {
  return {*context, *kernels,
          std::make_unique<isthmus::workloads::HostRun>(
              isthmus::workloads::make_program(workload, seed, sizes))};
}

measure::Measurement measured(const SharedPaging& self, const std::string& way,
                              std::size_t unit_bytes, std::optional<std::uint64_t> budget_bytes,
                              const measure::Stopping& stopping) {
  isthmus::PagedOptions paged;
  paged.unit_bytes = unit_bytes;
  paged.budget_bytes = budget_bytes;
  return self->measure({value_of<PagingWay>(way, "way"), paged, stopping});
}

}  // namespace

void bind_measure_paging(nb::module_& m) {
  nb::class_<SharedPaging>(m, "PagingWorkload",
                           "A workload with its memory on the host, to run on a device.")
      .def(
          "__init__",
          [](SharedPaging* self, const SharedContext& context, const SharedKernels& kernels,
             const std::string& workload, const isthmus::workloads::GivenSizes& sizes,
             std::uint64_t seed) {
            new (self) SharedPaging(made(context, kernels, workload, sizes, seed));
          },
          "context"_a, "kernels"_a, "workload"_a, "sizes"_a, "seed"_a, Release(),
          "Generates its input, and runs it on the host.")
      .def_prop_ro(
          "memory_bytes", [](const SharedPaging& self) { return self->memory_bytes(); },
          "Of all its arrays.")
      .def_prop_ro(
          "uploaded_bytes", [](const SharedPaging& self) { return self->uploaded_bytes(); },
          "That its program copies to the device.")
      .def("measure", &measured, nb::kw_only(), "way"_a, "unit_bytes"_a, "budget_bytes"_a.none(),
           "stopping"_a, Release(),
           "Sample the time of the whole program (metric \"run\"), and compare its results.");
}

namespace transfer = isthmus::transfer;
using isthmus::CopyPath;
using transfer::Profile;
using transfer::ProfileIdentity;

namespace {

constexpr CopyPath kPaths[] = {CopyPath::window, CopyPath::window_threads, CopyPath::driver,
                               CopyPath::staged, CopyPath::registered};

using measure::CopyPaths;
using SharedPathBench = Unlocked<CopyPaths>;

ProfileIdentity identity_of(const isthmus::Driver& driver, int ordinal) {
  return transfer::identity_of(isthmus::read_device_facts(driver, ordinal),
                               isthmus::host::effective_cores(), driver.emulated());
}

void bind_identity(nb::module_& m) {
  nb::class_<ProfileIdentity>(m, "ProfileIdentity", "The machine that a profile belongs to.")
      .def_ro("emulated", &ProfileIdentity::emulated)
      .def_ro("gpu_uuid", &ProfileIdentity::gpu_uuid)
      .def_ro("gpu_name", &ProfileIdentity::gpu_name)
      .def_prop_ro(
          "link", [](const ProfileIdentity& identity) { return identity.link.name(); },
          "\"PCIe Gen5 x16\", \"NVLink-C2C\" or \"emulated link\".")
      .def_ro("cuda_version", &ProfileIdentity::cuda_version, "The driver's: 13000 is CUDA 13.0.")
      .def_ro("driver_release", &ProfileIdentity::driver_release, "\"\" if unknown.")
      .def_ro("cpu_model", &ProfileIdentity::cpu_model, "\"\" if unknown.")
      .def_ro("num_cores", &ProfileIdentity::num_cores)
      .def_prop_ro(
          "file",
          [](const ProfileIdentity& identity) {
            return python_file_name(transfer::profile_path(identity).string());
          },
          "The path of its profile; \"\" if profiles are off.")
      .def_prop_ro("file_name", [](const ProfileIdentity& identity) {
        return transfer::profile_file_name(identity);
      });
  m.def("profile_identity", &identity_of, "driver"_a, "ordinal"_a, Release(),
        "Read the identity that a profile of a device must have.");
}

void bind_use(nb::module_& m) {
  nb::class_<Profile>(m, "CostProfile", "The costs that copies are planned with.")
      .def_prop_ro("measured", &Profile::measured, "False: conservative defaults.")
      .def_prop_ro("source", &Profile::source, "Where its figures come from, and why.")
      .def_prop_ro(
          "ring_threads",
          [](const Profile& profile) {
            const auto& threads = profile.ring_threads();
            return std::make_pair(threads.upload, threads.download);
          },
          "For staged uploads and downloads; 0: as many as without a profile.")
      .def(
          "seconds",
          [](const Profile& profile, const std::string& path, const std::string& direction,
             const std::string& host_memory, std::size_t size_bytes) -> nb::object {
            constexpr isthmus::MemoryKind kinds[] = {isthmus::MemoryKind::pageable,
                                                     isthmus::MemoryKind::pinned};
            constexpr Word<transfer::Direction> directions[] = {
                {"h2d", transfer::Direction::host_to_device},
                {"d2h", transfer::Direction::device_to_host}};
            const auto* const curve = profile.curve(
                value_of(kPaths, path, "way to copy"), value_of(directions, direction, "direction"),
                value_of(kinds, host_memory, "kind of host memory"));
            return curve == nullptr ? nb::none() : nb::cast(curve->seconds(size_bytes));
          },
          nb::kw_only(), "path"_a, "direction"_a, "host_memory"_a, "size_bytes"_a,
          nb::sig("def seconds(self, *, path: str, direction: str, host_memory: str, size_bytes: "
                  "int) -> float | None"),
          "Predict the time of one copy; None if that path wasn't measured.");
  m.def(
      "profile_in_use",
      [](const isthmus::Driver& driver, int ordinal) {
        return Profile::for_device(identity_of(driver, ordinal));
      },
      "driver"_a, "ordinal"_a, Release(),
      "Load the costs for planning copies with a device: the stored profile, or defaults.");
  m.def(
      "margin_of",
      [](const std::string& path) {
        return transfer::margin_of(value_of(kPaths, path, "way to copy"));
      },
      "path"_a, "The factor on a path's predicted time when paths are compared.");
  m.def(
      "parse_profile",
      [](const std::string& text, const ProfileIdentity& identity) {
        return Profile::parse(text, identity);
      },
      "text"_a, "identity"_a,
      "Read the text of a profile; UsageError if it doesn't match the machine.");
}

void bind_turns(nb::module_& m) {
  using measure::Turns;
  const Turns usual;
  nb::class_<Turns>(m, "Turns", "How often compared items are measured in turn.")
      .def(
          "__init__",
          [](Turns* self, std::size_t min_turns, std::size_t max_turns, double max_seconds,
             double turn_seconds, double hopeless) {
            new (self) Turns{min_turns, max_turns, max_seconds, turn_seconds, hopeless};
          },
          nb::kw_only(), "min_turns"_a = usual.min_turns, "max_turns"_a = usual.max_turns,
          "max_seconds"_a = usual.max_seconds, "turn_seconds"_a = usual.turn_seconds,
          "hopeless"_a = usual.hopeless);
  nb::class_<measure::PathTimes>(m, "PathTimes", "The times of copies by one path.")
      .def_prop_ro("path",
                   [](const measure::PathTimes& one) { return isthmus::name_of(one.path).data(); })
      .def_prop_ro(
          "seconds", [](const measure::PathTimes& one) { return one.times.seconds; },
          "For one copy, one figure per turn.")
      .def_ro("absence", &measure::PathTimes::absence,
              "Why this path isn't possible here; \"\" if it is.");
  nb::class_<measure::RingTimes>(m, "RingTimes",
                                 "The times of staged copies with one number of threads.")
      .def_ro("num_threads", &measure::RingTimes::num_threads)
      .def_prop_ro("seconds", [](const measure::RingTimes& one) { return one.times.seconds; });
}

std::vector<measure::PathTimes> measure_paths(SharedPathBench& bench, SharedBuffers& buffers,
                                              const std::vector<std::string>& paths,
                                              const std::string& direction, std::size_t size_bytes,
                                              const measure::Turns& turns, double pause_seconds) {
  measure::CopyPathsOptions options;
  for (const std::string& path : paths)
    options.paths.push_back(value_of(kPaths, path, "way to copy"));
  options.direction = value_of<measure::Direction>(direction, "direction");
  options.size_bytes = size_bytes;
  options.turns = turns;
  options.pause_seconds = pause_seconds;
  return bench->measure(*buffers, options);
}

void bind_bench(nb::module_& m) {
  nb::class_<SharedPathBench>(m, "PathBench", "Measures copies by each path.")
      .def(
          "__init__",
          [](SharedPathBench* self, const SharedContext& context) {
            new (self) SharedPathBench(CopyPaths(*context));
          },
          "context"_a, Release())
      .def("measure", &measure_paths, "buffers"_a, nb::kw_only(), "paths"_a, "direction"_a,
           "size_bytes"_a, "turns"_a, "pause_seconds"_a = 0.0, Release(),
           "Measure copies of one size by several paths in turn, each turn or copy after a pause.")
      .def(
          "measure_ring",
          [](SharedPathBench& bench, SharedBuffers& buffers, const std::string& direction,
             std::size_t size_bytes, const measure::Turns& turns) {
            return bench->measure_ring(
                *buffers, value_of<measure::Direction>(direction, "direction"), size_bytes, turns);
          },
          "buffers"_a, nb::kw_only(), "direction"_a, "size_bytes"_a, "turns"_a, Release(),
          "Measure staged copies with several numbers of threads; if only one is possible, it "
          "isn't timed.")
      .def(
          "use_ring_threads",
          [](SharedPathBench& bench, int upload, int download) {
            bench->use_ring_threads({upload, download});
          },
          nb::kw_only(), "upload"_a, "download"_a,
          "Set the numbers of threads for staged copies; 0: as many as without a profile.");
}

}  // namespace

void bind_measure_paths(nb::module_& m) {
  bind_identity(m);
  bind_use(m);
  bind_turns(m);
  bind_bench(m);
}
