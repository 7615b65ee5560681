// Converts text between C++ (bytes) and Python (Unicode), instead of nanobind's string caster. File
// names, environment variables, drivers' messages and the contents of a broken file may be any
// bytes; nanobind's caster raises UnicodeDecodeError if they aren't UTF-8.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// Text for people: bytes that aren't UTF-8 are escaped, as in "caf\xe9".
inline PyObject* python_text(std::string_view text) noexcept {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()),
                              "backslashreplace");
}

/// A file name, decoded like os.fsdecode(): Python's functions pass the same bytes to the system.
inline nanobind::str python_file_name(std::string_view name) {
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "surrogateescape");
  if (decoded == nullptr) throw nanobind::python_error();
  return nanobind::steal<nanobind::str>(decoded);
}

/// For __repr__: a class's name and what it has, such as "PagedStats(unit_bytes=1024, ...)".
inline std::string text_of_members(nanobind::handle self) {
  std::string text;
  for (const nanobind::handle name : nanobind::handle(self.type().attr("__dict__"))) {
    const std::string member = nanobind::str(name).c_str();
    if (!member.starts_with('_'))
      text += (text.empty() ? "" : ", ") + member + "=" + nanobind::repr(self.attr(name)).c_str();
  }
  return std::string(nanobind::str(self.type().attr("__name__")).c_str()) + "(" + text + ")";
}

namespace nanobind::detail {

template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  /// File names get their original bytes back; text that can't be encoded is refused like another
  /// type. Throws std::bad_alloc, which nanobind's own casters may not.
  bool from_python(handle source, std::uint32_t /*flags*/, cleanup_list* /*cleanup*/) {
    if (!str_check(source.ptr())) return false;
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(source.ptr(), &size);
    if (text != nullptr) {
      value.assign(text, static_cast<std::size_t>(size));
      return true;
    }
    PyErr_Clear();
    PyObject* const bytes = PyUnicode_AsEncodedString(source.ptr(), "utf-8", "surrogateescape");
    if (bytes == nullptr) {
      PyErr_Clear();
      return false;
    }
    value.assign(PyBytes_AsString(bytes), static_cast<std::size_t>(PyBytes_Size(bytes)));
    Py_DECREF(bytes);
    return true;
  }

  static handle from_cpp(const std::string& text, rv_policy /*policy*/,
                         cleanup_list* /*cleanup*/) noexcept {
    return python_text(text);
  }
};

template <>
struct type_caster<std::optional<std::string>> {
  NB_TYPE_CASTER(std::optional<std::string>, const_name("str | None"))

  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) {
    value.reset();
    if (source.is_none()) return true;
    type_caster<std::string> text;
    const bool is_text = text.from_python(source, flags, cleanup);
    if (is_text) value = std::move(text.value);
    return is_text;
  }
};

}  // namespace nanobind::detail
