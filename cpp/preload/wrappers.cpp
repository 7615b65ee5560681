// The wrappers: one a row of entries.inc, made of its type.
#include <dlfcn.h>

#include "preload/binding.hpp"
#include "preload/calls.hpp"
#include "preload/counting.hpp"

namespace isthmus::preload {
namespace {

constexpr bool contains(const char* name, const char* part) {
  for (; *name != '\0'; ++name) {
    const char* a = name;
    const char* b = part;
    while (*b != '\0' && *a == *b) ++a, ++b;
    if (*b == '\0') return true;
  }
  return false;
}

template <typename Function>
Function real_of(Entry& entry) {
  void* real = __atomic_load_n(&entry.real, __ATOMIC_ACQUIRE);
  if (real == nullptr) [[unlikely]]
    real = bind_late(entry);
  return reinterpret_cast<Function>(real);
}

template <int Id, EntryClass Class, auto Read, typename Function>
struct Wrapper;

template <int Id, EntryClass Class, auto Read, typename... Arguments>
struct Wrapper<Id, Class, Read, CUresult(CUDAAPI*)(Arguments...)> {
  static CUresult CUDAAPI call(Arguments... arguments) {
    Entry& entry = entries[Id];
    const auto real = real_of<CUresult (*)(Arguments...)>(entry);
    if (real == nullptr) return CUDA_ERROR_NOT_FOUND;
    if (is_inside_call) return real(arguments...);
    is_inside_call = true;
    What what = Read(arguments...);
    const Taken taken = begin_call(entry, what);
    const CUresult result = taken.done ? CUDA_SUCCESS : real(arguments...);
    end_call(entry, what, taken, result);
    is_inside_call = false;
    return result;
  }
};

/// Counted alone: no clock, no pointer, and no register that an argument is in is touched.
template <int Id, auto Read, typename... Arguments>
struct Wrapper<Id, kLaunch, Read, CUresult(CUDAAPI*)(Arguments...)> {
  using Real = CUresult (*)(Arguments...);

  static CUresult CUDAAPI call(Arguments... arguments) {
    Thread* const thread = own_thread;
    const auto real = reinterpret_cast<Real>(__atomic_load_n(&entries[Id].real, __ATOMIC_RELAXED));
    if (thread == nullptr || real == nullptr) [[unlikely]]
      return first_call(arguments...);
    ++thread->row->launches;
    return real(arguments...);
  }

  [[gnu::noinline]] static CUresult first_call(Arguments... arguments) {
    const auto real = real_of<Real>(entries[Id]);
    if (real == nullptr) return CUDA_ERROR_NOT_FOUND;
    count_launch();
    return real(arguments...);
  }
};

/// What the driver gave out is looked up by its address.
template <int Id, auto Read, typename... More>
struct Wrapper<Id, kResolve, Read,
               CUresult(CUDAAPI*)(const char*, void**, int, cuuint64_t, More...)> {
  static CUresult CUDAAPI call(const char* symbol, void** function, int version, cuuint64_t flags,
                               More... more) {
    using Real = CUresult (*)(const char*, void**, int, cuuint64_t, More...);
    const auto real = real_of<Real>(entries[Id]);
    if (real == nullptr) return CUDA_ERROR_NOT_FOUND;
    const CUresult result = real(symbol, function, version, flags, more...);
    if (result != CUDA_SUCCESS || function == nullptr || *function == nullptr) return result;
    void* const given = substitute(*function);
    if (given == *function && symbol != nullptr) note_unwatched(symbol, version);
    *function = given;
    return result;
  }
};

}  // namespace

// Programs that are linked with the driver call these: the driver's names, exported. Each jumps to its
// wrapper, and has a second address: see Entry. They are no functions of C++, so that the declarations
// and macros of cuda.h don't meet them. A reader has overloads: which one is meant follows from the
// arguments.
extern "C" {
#define ISTHMUS_ENTRY(symbol, type, entry_class, read)                                             \
  extern __attribute__((visibility("hidden"))) const char isthmus_export_##symbol[];               \
  extern __attribute__((visibility("hidden"))) const char isthmus_apart_##symbol[];                \
  extern __attribute__((visibility("hidden"))) PFN_##type const isthmus_wrapper_##symbol;          \
  constexpr PFN_##type isthmus_wrapper_##symbol =                                                  \
      Wrapper<k_##symbol, entry_class, [](auto... of) { return reading::read(of...); },            \
              PFN_##type>::call;                                                                   \
  __attribute__((visibility("hidden"))) PFN_##type isthmus_linked_##symbol =                       \
      isthmus_wrapper_##symbol;                                                                    \
  __asm__(".text\n.globl " #symbol "\n.type " #symbol ",@function\n.globl isthmus_export_" #symbol \
          "\n.hidden isthmus_export_" #symbol "\n.p2align 4\n" #symbol                             \
          ":\nisthmus_export_" #symbol ":\n  endbr64\n  jmp *isthmus_linked_" #symbol              \
          "(%rip)\n.size " #symbol ",.-" #symbol "\n.globl isthmus_apart_" #symbol                 \
          "\n.hidden isthmus_apart_" #symbol "\n.p2align 4\nisthmus_apart_" #symbol                \
          ":\n  endbr64\n  jmp *isthmus_wrapper_" #symbol "(%rip)\n");
#include "preload/entries.inc"
#undef ISTHMUS_ENTRY
}

Entry entries[kNumEntries] = {
#define ISTHMUS_ENTRY(symbol, type, entry_class, read) \
  {#symbol,                                            \
   const_cast<char*>(isthmus_export_##symbol),         \
   const_cast<char*>(isthmus_export_##symbol),         \
   const_cast<char*>(isthmus_apart_##symbol),          \
   reinterpret_cast<void**>(&isthmus_linked_##symbol), \
   nullptr,                                            \
   entry_class,                                        \
   contains(#symbol, "Async"),                         \
   contains(#symbol, "_pt")},
#include "preload/entries.inc"
#undef ISTHMUS_ENTRY
};

}  // namespace isthmus::preload
