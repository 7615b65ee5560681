// A JSON text as a tree, read by nlohmann's parser and held in values of our own: those of the
// library take memory when they are destroyed, and end the process where there is none.
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
  /// As messages call it: "object", "number".
  std::string_view type_name() const noexcept;
  /// Of a number or a string as it may be written; of what has parts, what it is.
  std::string text() const;
};

/// What bounds the time and the memory that a text may cost.
struct JsonLimits {
  std::size_t max_levels;
  std::size_t max_values;
};

/// Throws      UsageError for what is no JSON, goes beyond the limits, or has a member twice: which
///             of both is meant can't be known.
JsonValue parse_json(std::string_view text, const JsonLimits& limits);

}  // namespace isthmus::transfer
