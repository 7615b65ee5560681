// A JSON text as a tree, parsed by nlohmann's parser but held in our own values: nlohmann's
// allocate memory when they are destroyed, and end the process if there is none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace isthmus::transfer {

struct JsonValue;
using JsonArray = std::vector<JsonValue>;
using JsonObject = std::map<std::string, JsonValue, std::less<>>;

struct JsonValue {
  std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double, std::string, JsonArray,
               JsonObject>
      held;

  template <typename Type>
  const Type* get() const noexcept {
    return std::get_if<Type>(&held);
  }
  bool is_null() const noexcept { return get<std::monostate>() != nullptr; }
  /// The type's name for messages: "object", "number".
  std::string_view type_name() const noexcept;
  /// For messages: a number or string as it may be written; for arrays and objects, the type.
  std::string text() const;
};

/// Throws      UsageError if the text isn't JSON, is nested too deeply or too long, or has a member
///             twice: which of the two is meant can't be known.
JsonValue parse_json(std::string_view text);

}  // namespace isthmus::transfer
