// A class in Python fills in the same table of functions as a library. Accesses that need no answer,
// and arrivals, are collected; the next question passes them on.
#include <nanobind/nanobind.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "pages/own_policy.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::pages::OwnPolicy;

namespace {

constexpr std::size_t kMaxRows = 4096;

// ACCESS and ARRIVAL of python/isthmus/sim/own_class.py.
struct ArrivalRow {
  std::uint64_t page;
  isthmus_span bytes;
};
struct AccessRow {
  ArrivalRow what;
  bool is_write;
  bool is_hit;
};

template <typename Row>
nb::bytes take(std::vector<Row>& rows) {
  nb::bytes taken(rows.data(), rows.size() * sizeof(Row));
  rows.clear();
  return taken;
}

/// A run's object of python/isthmus/sim/own_class.py, Hooks. It is made and dropped with the GIL.
struct PythonRun {
  nb::object hooks;
  std::size_t asked_bytes;
  std::vector<AccessRow> accesses;
  std::vector<ArrivalRow> arrivals;

  std::uint32_t on_access(const isthmus_access& access, isthmus_span* spans, std::uint32_t room) {
    accesses.push_back({{access.page, {access.offset_bytes, access.length_bytes}},
                        access.is_write != 0,
                        access.is_hit != 0});
    if (access.is_hit != 0 && accesses.size() < kMaxRows) return 0;
    const GilHeld held;
    return into_python([&] {
      const nb::bytes asked(access.asked, access.asked == nullptr ? 0 : asked_bytes);
      const nb::list pairs(hooks.attr("on_access")(take(accesses), asked, take(arrivals)));
      std::uint32_t count = 0;
      for (const nb::handle pair : pairs) {
        if (count < room) spans[count] = {nb::cast<unsigned>(pair[0]), nb::cast<unsigned>(pair[1])};
        ++count;
      }
      return count;
    });
  }

  std::uint32_t victims(const std::uint64_t* pages, std::uint32_t num_pages, std::uint32_t needed,
                        std::uint64_t* chosen) {
    const GilHeld held;
    return into_python([&] {
      const nb::bytes numbers(pages, std::size_t{num_pages} * sizeof *pages);
      const nb::list named(hooks.attr("victims")(numbers, needed, take(arrivals)));
      std::uint32_t count = 0;
      for (const nb::handle one : named) {
        if (count < num_pages) chosen[count] = nb::cast<std::uint64_t>(one);
        ++count;
      }
      return count;
    });
  }
};

PythonRun& run_of(void* state) { return *static_cast<PythonRun*>(state); }

/// A class's table. Simulations that hold it may end without the GIL.
struct PythonTable {
  isthmus_policy_table functions{};
  nb::object make_hooks;
};

void drop(PythonTable* table) {
  const GilHeld held;
  into_python([&] { delete table; });
}

void* create(void* context, const isthmus_policy_setup* setup) {
  const auto* const table = static_cast<const PythonTable*>(context);
  const std::uint32_t num_units = setup->page_bytes / setup->bit_bytes;
  const GilHeld held;
  return into_python([&] {
    const std::size_t mask_bytes = std::size_t{(num_units + 63) / 64} * 8;
    return new PythonRun{table->make_hooks(num_units), mask_bytes, {}, {}};
  });
}

OwnPolicy of_class(const std::string& name, nb::handle chosen, nb::object make_hooks) {
  const std::shared_ptr<PythonTable> table(new PythonTable, drop);
  table->make_hooks = std::move(make_hooks);
  isthmus_policy_table& functions = table->functions;
  functions.version = ISTHMUS_POLICY_VERSION;
  functions.wants_hits = nb::hasattr(chosen, "hits") && nb::cast<bool>(chosen.attr("hits"));
  functions.remote = nb::hasattr(chosen, "remote") && nb::cast<bool>(chosen.attr("remote"));
  functions.context = table.get();
  functions.create = create;
  functions.destroy = [](void* state) {
    const GilHeld held;
    into_python([&] { delete &run_of(state); });
  };
  functions.on_access = [](void* state, const isthmus_access* access, isthmus_span* spans,
                           std::uint32_t room) {
    return run_of(state).on_access(*access, spans, room);
  };
  if (nb::hasattr(chosen, "on_arrival")) {
    functions.on_arrival = [](void* state, std::uint64_t page, isthmus_span bytes) {
      run_of(state).arrivals.push_back({page, bytes});  // each follows a question, so they are few
    };
  }
  if (nb::hasattr(chosen, "victims")) {
    functions.victims = [](void* state, const std::uint64_t* pages, std::uint32_t num_pages,
                           std::uint32_t needed, std::uint64_t* out) {
      return run_of(state).victims(pages, num_pages, needed, out);
    };
  }
  return {&functions, name, table, true};
}

}  // namespace

void bind_own_policy(nb::module_& m) {
  nb::class_<OwnPolicy>(m, "OwnPolicy", "A policy of the user's.")
      .def_static("load", &isthmus::pages::load_own_policy, "file"_a,
                  "Load a library, which runs its initialisers.")
      .def_static("of_class", &of_class, "name"_a, "chosen"_a, "make_hooks"_a,
                  "Use a class; `make_hooks(num_units)` gives the Hooks of a run.");
}
