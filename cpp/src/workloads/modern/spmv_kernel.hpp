// Sparse matrix times vector, with compressed rows (CSR): one warp for each row.
#pragma once

#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

struct SpmvArguments {
  Array<unsigned> row_begins;  ///< [rows + 1]
  Array<unsigned> columns;
  Array<float> values;  ///< like columns
  Array<float> x;
  Array<float> y;
};

// Instructions of a thread, counted in the source: addresses, loop, multiplication.
inline constexpr unsigned kSpmvRow = 20;  ///< including five steps of the sum
inline constexpr unsigned kSpmvEntry = 9;

template <class Cta>
void spmv_rows(Cta& cta, const SpmvArguments& in) {
  cta.each_warp([&](auto& warp) {
    const auto row = warp.lanes(cta.index() * cta.num_warps() + warp.index());
    auto entry = warp.load(in.row_begins, row) + warp.lane();
    const auto end = warp.load(in.row_begins, row + 1);
    auto sum = warp.lanes(0.0F);
    warp.loop([&] { return entry < end; },
              [&] {
                const auto column = warp.load(in.columns, entry);
                const auto value = warp.load(in.values, entry);
                warp.set(sum, sum + value * warp.load(in.x, column));
                warp.set(entry, entry + 32);
                warp.compute(kSpmvEntry);
              });
    const auto total = warp.sum_of_lanes(sum);
    warp.compute(kSpmvRow);
    warp.when(warp.lane() == 0, [&] { warp.store(in.y, row, total); });
  });
}

}  // namespace isthmus::workloads
