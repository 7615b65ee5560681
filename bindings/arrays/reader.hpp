// Reads arrays from any library: which memory an object means, and which work uses it.
//
// Python chooses once how to read each type (isthmus/move/arrays/reading.py). Arrays of the usual
// types are then read in 0.1 us, without calling a Python function. If an array can't be read,
// Python explains why (isthmus/move/arrays/refusals.py).
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays/array.hpp"
#include "bindings/arrays/dlpack_structs.hpp"

/// What a caller does with an array.
enum class Role { source, target };

/// How long an array's memory must stay in place.
enum class Hold {
  call,  ///< while the caller holds the object and nobody can change it
  copy,  ///< as long as the Export lives, whatever happens to the object
};

/// How to read the arrays of one type.
struct TypeReader {
  /// `structure` isn't an array: its members may be.
  enum class Way {
    any,
    buffer,
    numpy,
    pointer,
    own,
    cuda_interface,
    torch,
    cupy,
    dlpack,
    structure
  };

  nanobind::object type;  // kept: another type could get its address
  Way way = Way::any;
  const dlpack::Exchange* exchange = nullptr;
  nanobind::object current_stream;  ///< CuPy's function; for `dlpack`: a function, or None
  bool on_device = false;           ///< for pointers
  bool known_layout = false;        ///< for `numpy`: see numpy_layout.hpp
  bool is_tensor = false;           ///< for `dlpack`: PyTorch's
  bool immutable = false;           ///< for `dlpack`: its arrays never change
};

/// Why an object can't be read. Python turns it into a message.
class Refusal : public std::exception {
public:
  explicit Refusal(const char* the_reason, nanobind::object the_detail = nanobind::none())
      : reason(the_reason), detail(std::move(the_detail)) {}
  const char* what() const noexcept override { return reason; }

  const char* reason;  ///< a word that isthmus/move/arrays/refusals.py knows
  nanobind::object detail;
};

/// Thrown for a list, a tuple or a mapping: no array, but its members may be arrays.
class HoldsArrays : public std::exception {};

class ArrayReader {
public:
  /// asked   an isthmus.move.arrays.reading.Answers: what only Python knows
  explicit ArrayReader(nanobind::object asked) : asked_(std::move(asked)) {}

  /// Reads an array. If its library has yet to export it, the address is known only after
  /// export_after().
  ///
  /// Throws      nanobind::python_error, a UsageError that explains what is wrong with the object;
  ///             HoldsArrays
  void read(nanobind::handle object, Role role, Hold hold, Array& array);
  /// True for a list, a tuple, a mapping or a module of PyTorch's.
  bool is_structure(nanobind::handle object);
  /// A dictionary of the members of a structure that isn't a sequence: itself, if it is one.
  nanobind::object members_of(nanobind::handle structure, Role role) const;
  /// Throws the UsageError that explains that an object has no memory.
  [[noreturn]] void refuse_structure(nanobind::handle object) const;
  /// Throws a refusal again, with the place of its array in front.
  ///
  /// error       a Python exception; other than UsageError it is thrown as it is
  [[noreturn]] void refuse_at(const std::string& path, nanobind::handle error) const;
  /// Makes an array's library order its pending work before a stream, and exports the array if
  /// necessary.
  ///
  /// stream      nullopt: no order is needed
  /// Throws      as read()
  void export_after(nanobind::handle object, std::optional<std::uintptr_t> stream, Array& array);
  /// Tells autograd that tensors are written, so that backward() refuses those it has saved.
  ///
  /// tensors     a sequence of PyTorch's tensors
  void note_writes(nanobind::handle tensors);
  /// Waits until the work in an array's stream is complete.
  void wait_for(const Array& array) const;
  /// A stream of a device, for a library that can only order its work before a given stream.
  std::uintptr_t own_stream(int device) const;
  /// The stream that a caller means: an int, or a stream of any library.
  std::uintptr_t stream_of(nanobind::handle stream) const;
  /// The array as a Python object that keeps its memory.
  nanobind::object describe(nanobind::handle object, Array& array) const;

private:
  /// Null if the type is new.
  const TypeReader* reader_for(PyTypeObject* type) const;
  /// Stores it, if there is room.
  void keep(const TypeReader& reader);
  TypeReader ask(nanobind::handle type) const;
  void read_dlpack(nanobind::handle object, const TypeReader& reader, Role role,
                   Array& array) const;
  void read_any(nanobind::handle object, const TypeReader& reader, Role role, Array& array) const;
  void read_by(const TypeReader& reader, nanobind::handle object, Role role, Hold hold,
               Array& array) const;
  /// Throws the UsageError that explains a refusal.
  void refuse(nanobind::handle object, const char* reason, nanobind::handle detail) const;
  /// A capsule of DLPack.
  nanobind::object exported(nanobind::handle object, nanobind::handle device,
                            nanobind::handle stream) const;
  template <typename Read>
  void explain_failures(nanobind::handle object, Read&& read) const;

  nanobind::object asked_;
  nanobind::object note_writes_;  ///< what it gives, from the first tensor that is written on
  std::vector<TypeReader> readers_;
};
