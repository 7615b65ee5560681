// MigrationPolicy, PageTable and Eviction for Python: for tests, and to set options.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/text.hpp"
#include "bindings/words.hpp"
#include "pages/eviction.hpp"
#include "pages/page_table.hpp"
#include "pages/policy_names.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace pages = isthmus::pages;
using pages::Eviction;
using pages::MigrationPolicy;
using pages::PageTable;
using pages::Span;

namespace {

using Policies = nb::class_<MigrationPolicy>;
using Run = std::pair<std::uint32_t, std::uint32_t>;  // offset and length, in bytes

/// Binds a member whose values are words in Python.
template <typename Value>
void bind_choice(Policies& policies, const char* name, Value MigrationPolicy::* member) {
  policies.def_prop_rw(
      name, [member](const MigrationPolicy& self) { return word_of(self.*member); },
      [member, name](MigrationPolicy& self, const std::string& word) {
        self.*member = value_of<Value>(word, name);
      });
}

void bind_sizes(Policies& policies) {
  policies.def_rw("page_bytes", &MigrationPolicy::page_bytes)
      .def_rw("unit_bytes", &MigrationPolicy::unit_bytes)
      .def_rw("line_bytes", &MigrationPolicy::line_bytes)
      .def_rw("merge", &MigrationPolicy::merge)
      .def_rw("gap_bytes", &MigrationPolicy::gap_bytes)
      .def_rw("max_ranges", &MigrationPolicy::max_ranges)
      .def_rw("tree_threshold_percent", &MigrationPolicy::tree_threshold_percent)
      .def_rw("grow_bytes", &MigrationPolicy::grow_bytes)
      .def_rw("prefetch_bytes", &MigrationPolicy::prefetch_bytes)
      .def_rw("counter_threshold", &MigrationPolicy::counter_threshold)
      .def_rw("counter_bytes", &MigrationPolicy::counter_bytes)
      .def_rw("max_unit_bytes", &MigrationPolicy::max_unit_bytes);
}

void bind_policy(nb::module_& m) {
  Policies policies(
      m, "MigrationPolicy",
      "What moves when the GPU accesses a page: the defaults of a kind, with options by name.");
  policies.def(
      "__init__",
      [](MigrationPolicy* self, const std::string& kind) {
        new (self)
            MigrationPolicy(pages::default_policy(value_of<pages::PolicyKind>(kind, "kind")));
      },
      "kind"_a);
  policies.def_prop_ro("kind", [](const MigrationPolicy& self) { return word_of(self.kind); });
  bind_choice(policies, "overflow", &MigrationPolicy::overflow);
  bind_choice(policies, "single_gap", &MigrationPolicy::single_gap);
  bind_choice(policies, "request", &MigrationPolicy::request);
  bind_choice(policies, "write", &MigrationPolicy::write);
  bind_sizes(policies);
  policies.def("check", &pages::check, "Raise UsageError if the options are inconsistent.");
}

std::vector<Run> runs_of(std::span<const Span> spans) {
  std::vector<Run> runs;
  for (const Span span : spans) runs.emplace_back(span.offset_bytes, span.length_bytes);
  return runs;
}

using Answered = std::tuple<std::string, std::uint32_t, std::uint32_t, std::vector<Run>>;

Answered request(PageTable& table, std::uint64_t address, std::uint32_t length_bytes,
                 bool is_write) {
  const pages::Answer answer = table.request(address, length_bytes, is_write);
  return {word_of(answer.outcome), answer.slot, answer.epoch, runs_of(answer.transfers)};
}

/// The page's slot, checked: Python callers may pass any number.
std::uint32_t checked(const PageTable& table, std::uint32_t slot) {
  if (slot < table.num_slots()) return slot;
  throw isthmus::UsageError("there is no slot " + std::to_string(slot) + ": the table has " +
                            std::to_string(table.num_slots()));
}

void bind_table(nb::module_& m) {
  nb::class_<PageTable>(m, "PageTable",
                        "What each GPU access finds, and which bytes it makes migrate.")
      .def(nb::init<const MigrationPolicy&>(), "policy"_a)
      .def("request", &request, "address"_a, "length_bytes"_a, "is_write"_a = false,
           "The outcome (hit, wait, migrate, remote), slot, epoch, and the (offset, length) to "
           "migrate.")
      .def(
          "arrived",
          [](PageTable& table, std::uint32_t slot, std::uint32_t epoch, Run transfer) {
            return table.arrived(checked(table, slot), epoch, {transfer.first, transfer.second});
          },
          "slot"_a, "epoch"_a, "transfer"_a, "False if no bytes have become valid.")
      .def("cpu_request", &PageTable::cpu_request, "page_number"_a,
           "Give a page back to the CPU; returns the number of bytes that move back.")
      .def("make_resident", &PageTable::make_resident, "address"_a, "size_bytes"_a)
      .def("slot_of", &PageTable::slot_of, "page_number"_a)
      .def(
          "state",
          [](const PageTable& table, std::uint32_t slot) {
            return word_of(table.state(checked(table, slot)));
          },
          "slot"_a, "cpu, partial or gpu.")
      .def(
          "ranges",
          [](const PageTable& table, std::uint32_t slot) {
            return runs_of(table.ranges(checked(table, slot)));
          },
          "slot"_a, "The valid ranges (offset, length), in order.")
      .def_prop_ro("valid_bytes", &PageTable::valid_bytes)
      .def_prop_ro("resident_bytes", &PageTable::resident_bytes,
                   "Valid bytes, including those in transfer.");
}

using Gone = std::tuple<std::uint32_t, Run, std::uint32_t>;

std::vector<Gone> make_room(Eviction& eviction, std::uint32_t kept_slot) {
  std::vector<Gone> gone;
  for (const pages::Victim& victim : eviction.make_room(kept_slot))
    gone.emplace_back(victim.slot, Run(victim.part.offset_bytes, victim.part.length_bytes),
                      victim.back_bytes);
  return gone;
}

void make_eviction(Eviction* self, PageTable& table, const std::string& kind,
                   std::uint64_t limit_bytes, const std::string& recency) {
  pages::EvictionPolicy policy;
  policy.kind = value_of<pages::EvictionKind>(kind, "eviction kind");
  policy.limit_bytes = limit_bytes;
  policy.recency = value_of<pages::Recency>(recency, "recency");
  new (self) Eviction(policy, table);
}

void bind_eviction(nb::module_& m) {
  nb::class_<Eviction>(m, "Eviction", "Which pages are evicted when the GPU's memory is full.")
      .def("__init__", &make_eviction, "table"_a, "kind"_a, "limit_bytes"_a, nb::kw_only(),
           "recency"_a = "migration", nb::keep_alive<1, 2>())
      .def(
          "started",
          [](Eviction& self, std::uint32_t slot, Run transfer) {
            self.started(slot, {transfer.first, transfer.second});
          },
          "slot"_a, "transfer"_a)
      .def("used", &Eviction::used, "slot"_a, "offset_bytes"_a)
      .def("left", &Eviction::left, "slot"_a)
      .def("make_room", &make_room, "kept_slot"_a,
           "The evicted slot, its (offset, length), and the bytes that move back.")
      .def_prop_ro("fits", &Eviction::fits)
      .def_prop_ro("framed_bytes", &Eviction::framed_bytes);
}

}  // namespace

void bind_pages(nb::module_& m) {
  bind_policy(m);
  bind_table(m);
  bind_eviction(m);
}
