// Where members of CPython's objects lie, by its own headers. Compiled once for each interpreter.
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_frame.h>
#include <stddef.h>
#include <stdio.h>

int main(void) {
#if PY_VERSION_HEX < 0x030c0000
  int holder = offsetof(_PyCFrame, current_frame);
  size_t thread = offsetof(PyThreadState, cframe);
  size_t code = offsetof(_PyInterpreterFrame, f_code);
  int shims = 255;
#elif PY_VERSION_HEX < 0x030d0000
  int holder = offsetof(_PyCFrame, current_frame);
  size_t thread = offsetof(PyThreadState, cframe);
  size_t code = offsetof(_PyInterpreterFrame, f_code);
  int shims = FRAME_OWNED_BY_CSTACK;
#else
  int holder = -1;
  size_t thread = offsetof(PyThreadState, current_frame);
  size_t code = offsetof(_PyInterpreterFrame, f_executable);
  int shims = FRAME_OWNED_BY_CSTACK;
#endif
#if PY_VERSION_HEX < 0x030d0000
  size_t instruction = offsetof(_PyInterpreterFrame, prev_instr);
#else
  size_t instruction = offsetof(_PyInterpreterFrame, instr_ptr);
#endif
  printf("%d, %zu, %d, %zu, %zu, %zu, %zu, %d, %zu, %zu, %zu, %zu\n", PY_MINOR_VERSION, thread, holder,
         code, offsetof(_PyInterpreterFrame, previous), instruction,
         offsetof(_PyInterpreterFrame, owner), shims, offsetof(PyCodeObject, co_firstlineno),
         offsetof(PyCodeObject, co_code_adaptive), sizeof(PyASCIIObject),
         sizeof(PyCompactUnicodeObject));
  printf("%zu %zu %zu %zu %zu %zu\n", offsetof(PyCodeObject, co_filename),
         offsetof(PyCodeObject, co_qualname), offsetof(PyCodeObject, co_linetable),
         offsetof(PyBytesObject, ob_sval), offsetof(PyVarObject, ob_size),
         offsetof(PyASCIIObject, state));
  return 0;
}
