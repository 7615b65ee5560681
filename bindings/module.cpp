// The extension module isthmus._native: one bind_* function per area, each in its own file.
#include "bindings/bindings.hpp"

NB_MODULE(_native, m) {
  // When the interpreter ends, another library's array may still hold a block of pinned memory or
  // one of our tensors: that is no mistake of the program, and must not print anything.
  nanobind::set_leak_warnings(false);
  m.doc() = "The native core of Isthmus. Use the isthmus package; this module is its foundation.";
  bind_errors(m);
  bind_driver(m);
  bind_device(m);
  bind_device_memory(m);
  bind_device_tensor(m);
  bind_taken_tensor(m);
  bind_host(m);
  bind_measure(m);
  bind_measure_loops(m);
  bind_measure_paths(m);
  bind_measure_paging(m);
  bind_arrays(m);
  bind_windows(m);
  bind_pinned(m);
  bind_copy_future(m);
  bind_copy_plans(m);
  bind_transfer(m);
  bind_saving(m);
  bind_paged(m);
  bind_row_cache(m);
  bind_pages(m);
  bind_own_policy(m);
  bind_sim(m);
  bind_sim_result(m);
  bind_trace(m);
  bind_trace_import(m);
  bind_watch(m);
  bind_workloads(m);
}
