#include "transfer/profile/json_document.hpp"

#include <array>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include <isthmus/errors.hpp>

#include "host/system/printable.hpp"

namespace isthmus::transfer {
namespace {

// For the time and the memory that a text may cost: a file from `isthmus profile` has five levels
// and some thousand values.
constexpr std::size_t kMaxLevels = 16;
constexpr std::size_t kMaxValues = std::size_t{1} << 17U;
/// In the order of JsonValue::held.
constexpr std::array<std::string_view, 8> kTypeNames{"null",   "boolean", "number", "number",
                                                     "number", "string",  "array",  "object"};

/// Builds the tree while the parser reads. Its functions are required by nlohmann's SAX interface.
class TreeBuilder {
public:
  JsonValue take() { return std::move(root_); }

  bool null() { return add({}); }
  bool boolean(bool value) { return add({value}); }
  bool number_integer(std::int64_t value) { return add({value}); }
  bool number_unsigned(std::uint64_t value) { return add({value}); }
  bool number_float(double value, const std::string& /*text*/) { return add({value}); }
  bool string(std::string& value) { return add({std::move(value)}); }
  bool binary(nlohmann::json::binary_t& /*value*/) { return false; }  // JSON has no such type
  bool start_object(std::size_t /*unknown*/) { return open({JsonObject{}}); }
  bool start_array(std::size_t /*unknown*/) { return open({JsonArray{}}); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    auto& members = std::get<JsonObject>(open_.back()->held);
    const auto [member, is_new] = members.try_emplace(name);
    if (!is_new) throw UsageError("\"" + host::printable(name, 80) + "\" appears twice");
    next_ = &member->second;
    return true;
  }

  bool parse_error(std::size_t /*place*/, const std::string& /*token*/,
                   const nlohmann::json::exception& error) {
    // The message repeats the offending bytes, whatever they are.
    throw UsageError(host::printable(error.what(), 200));
  }

private:
  bool add(JsonValue value) {
    place(std::move(value));
    return true;
  }
  bool open(JsonValue value) {
    if (open_.size() >= kMaxLevels)
      throw UsageError("it is nested more than " + std::to_string(kMaxLevels) + " levels deep");
    open_.push_back(&place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  JsonValue& place(JsonValue value) {
    if (++num_values_ > kMaxValues)
      throw UsageError("it has more than " + std::to_string(kMaxValues) + " values");
    if (open_.empty()) return root_ = std::move(value);
    if (auto* const items = std::get_if<JsonArray>(&open_.back()->held))
      return items->emplace_back(std::move(value));
    return *next_ = std::move(value);
  }

  JsonValue root_;
  std::vector<JsonValue*> open_;  // the arrays and objects that contain the next value
  JsonValue* next_ = nullptr;     // the member whose name was read last
  std::size_t num_values_ = 0;
};

template <typename Number>
std::string text_of_number(Number value) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.begin(), digits.end(), value);
  return {digits.begin(), end};
}

}  // namespace

std::string_view JsonValue::type_name() const noexcept { return kTypeNames[held.index()]; }

std::string JsonValue::text() const {
  if (get<JsonArray>() != nullptr) return "an array";
  if (get<JsonObject>() != nullptr) return "an object";
  if (const auto* const text = get<std::string>()) return "\"" + *text + "\"";
  if (const auto* const number = get<std::uint64_t>()) return text_of_number(*number);
  if (const auto* const number = get<std::int64_t>()) return text_of_number(*number);
  if (const auto* const number = get<double>()) return text_of_number(*number);
  if (const auto* const flag = get<bool>()) return *flag ? "true" : "false";
  return "null";
}

JsonValue parse_json(std::string_view text) {
  TreeBuilder builder;
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace isthmus::transfer
