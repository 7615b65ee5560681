// The layout of the files in which watched processes count, for Python: made of the rows of counters.inc.
#include <cstddef>
#include <type_traits>

#include <nanobind/nanobind.h>

#include "bindings/bindings.hpp"
#include "preload/counters.hpp"

namespace nb = nanobind;

namespace {

using namespace isthmus::preload;

/// As Python's struct calls it.
template <typename Type>
constexpr const char* format_of() {
  if (std::is_same_v<Type, text>) return "s";
  return sizeof(Type) == 1 ? "B" : sizeof(Type) == 2 ? "H" : sizeof(Type) == 4 ? "I" : "Q";
}

template <size_t Number>
nb::list names(const char* const (&given)[Number]) {
  nb::list all;
  for (const char* name : given) all.append(name);
  return all;
}

// NOLINTNEXTLINE(readability-function-size): a list, made of macros
nb::dict watch_layout() {
  nb::dict records;
  nb::list tables;
  const Layout layout;
  // clang-format off
#define ISTHMUS_RECORD(name) { using Record = name; const char* const record = #name; nb::list members;
#define ISTHMUS_ARRAY(type, member, number) \
  members.append(nb::make_tuple(#member, format_of<type>(), number, offsetof(Record, member)));
#define ISTHMUS_MEMBER(type, member) ISTHMUS_ARRAY(type, member, 1)
#define ISTHMUS_END records[record] = nb::make_tuple(sizeof(Record), members); }
#define ISTHMUS_TABLE(member, record, capacity) \
  tables.append(nb::make_tuple(#member, #record, capacity, layout.member));
#include "preload/counters.inc"
  // clang-format on
  nb::dict all;
  all["magic"] = kCountersMagic;
  all["version"] = kCountersVersion;
  all["records"] = records;
  all["tables"] = tables;
  all["events"] = layout.events;
  all["kinds"] = names(kKindNames);
  all["classes"] = names(kClassNames);
  all["most_staged_bytes"] = kMostStaged;
  all["most_small_bytes"] = kMostSmall;
  all["min_repeated_bytes"] = kMinRepeated;
  return all;
}

}  // namespace

void bind_watch(nb::module_& m) {
  m.def(
      "watch_layout", &watch_layout, nb::sig("def watch_layout() -> dict[str, typing.Any]"),
      "Describe the file in which a watched process counts: its records (size; members with name,\n"
      "struct's format, number and offset), its tables (name, record, capacity, offset), where "
      "the\n"
      "events begin, and the names of kinds and classes. And the bytes up to which pageable "
      "uploads\n"
      "needn't wait for their stream, up to which downloads are small, and from which uploads are\n"
      "compared with those before them.");
}
