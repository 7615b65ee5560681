// Each file of this folder binds types and functions and decides when to release the GIL. Only
// arrays/, which reads the arrays of other libraries, has logic of its own.
#pragma once

#include <nanobind/nanobind.h>

void bind_arrays(nanobind::module_& m);
void bind_errors(nanobind::module_& m);
void bind_driver(nanobind::module_& m);
void bind_device(nanobind::module_& m);
void bind_device_memory(nanobind::module_& m);
void bind_device_tensor(nanobind::module_& m);
void bind_taken_tensor(nanobind::module_& m);
void bind_host(nanobind::module_& m);
void bind_measure(nanobind::module_& m);
void bind_measure_loops(nanobind::module_& m);
void bind_measure_paging(nanobind::module_& m);
void bind_measure_paths(nanobind::module_& m);
void bind_windows(nanobind::module_& m);
void bind_pinned(nanobind::module_& m);
void bind_paged(nanobind::module_& m);
void bind_row_cache(nanobind::module_& m);
void bind_own_policy(nanobind::module_& m);
void bind_pages(nanobind::module_& m);
void bind_copy_future(nanobind::module_& m);
void bind_copy_plans(nanobind::module_& m);
void bind_transfer(nanobind::module_& m);
void bind_saving(nanobind::module_& m);
void bind_sim(nanobind::module_& m);
void bind_sim_result(nanobind::module_& m);
void bind_trace(nanobind::module_& m);
void bind_trace_import(nanobind::module_& m);
void bind_watch(nanobind::module_& m);
void bind_workloads(nanobind::module_& m);
