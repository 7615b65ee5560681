// JSON, one object a line.
#pragma once

#include <iomanip>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

/// One JSON object, its members in order of insertion.
class Row {
public:
  Row& add(const std::string& name, const std::string& text) { return raw(name, '"' + text + '"'); }
  Row& add(const std::string& name, const char* text) { return add(name, std::string(text)); }
  Row& add(const std::string& name, std::size_t number) {
    return raw(name, std::to_string(number));
  }
  Row& add(const std::string& name, bool value) { return raw(name, value ? "true" : "false"); }
  Row& add(const std::string& name, double number) {
    std::ostringstream text;
    text << std::setprecision(6) << number;
    return raw(name, text.str());
  }
  Row& add(const std::string& name, const std::optional<double>& number) {
    return number ? add(name, *number) : raw(name, "null");
  }
  Row& raw(const std::string& name, const std::string& value) {
    members_ += (members_.empty() ? "\"" : ", \"") + name + "\": " + value;
    return *this;
  }
  std::string text() const { return '{' + members_ + '}'; }

private:
  std::string members_;
};

inline std::string list(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) text += (text.empty() ? "\n    " : ",\n    ") + row.text();
  return '[' + text + "\n  ]";
}
