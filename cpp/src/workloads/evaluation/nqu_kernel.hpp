// N queens: each thread counts the solutions for one placement of the first two queens, by
// backtracking with a stack in shared memory. A CTA adds its counts in shared memory.
#pragma once

#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

/// One bit per column in which the next row's queen can't be.
struct NquArguments {
  Array<unsigned> columns;         ///< for each task
  Array<unsigned> left_diagonals;  ///< where they cross the next row
  Array<unsigned> right_diagonals;
  Array<unsigned> counts;  ///< for each CTA
  unsigned num_tasks;
  unsigned num_rows;  ///< left to fill
  unsigned board;     ///< a bit for every column
};

inline constexpr unsigned kNquThreads = 96;

// Instructions of a thread, calibrated: ISPASS'09 counts 2 M in total.
inline constexpr unsigned kNquSetUp = 12;
inline constexpr unsigned kNquTask = 16;
inline constexpr unsigned kNquStep = 24;  ///< try a column or go back a row
inline constexpr unsigned kNquAdd = 6;    ///< one step of the sum

/// The stack of a CTA's threads, in shared memory: [row][thread].
struct NquStack {
  unsigned* columns;
  unsigned* left_diagonals;
  unsigned* right_diagonals;
  unsigned* open;  ///< columns left to try
};

template <class Warp, class Value>
void nqu_push(Warp& warp, const NquStack& stack, const Value& place, const Value& columns,
              const Value& left, const Value& right, unsigned board) {
  warp.write(stack.columns, place, columns);
  warp.write(stack.left_diagonals, place, left);
  warp.write(stack.right_diagonals, place, right);
  warp.write(stack.open, place,
             warp.map([board](unsigned c, unsigned l, unsigned r) { return board & ~(c | l | r); },
                      columns, left, right));
}

/// Adds to `count`, starting from row 0 of the stack.
template <class Warp, class Value>
void nqu_count(Warp& warp, const NquStack& stack, const NquArguments& in, Value& count) {
  const auto thread = warp.thread();
  auto depth = warp.lanes(1U);  // rows on the stack
  warp.loop([&] { return depth > 0; },
            [&] {
              warp.compute(kNquStep);
              const auto place = (depth - 1) * kNquThreads + thread;
              const auto open = warp.read(stack.open, place);
              const auto queen = open & (warp.lanes(0U) - open);
              const auto is_last = depth == in.num_rows;
              warp.write(stack.open, place, open - queen);
              warp.when(
                  (open == 0) | is_last,
                  [&] {
                    warp.set(count, count + warp.select(open != 0, warp.lanes(1U), warp.lanes(0U)));
                    warp.set(depth, warp.select(open != 0, depth, depth - 1));
                  },
                  [&] {
                    nqu_push(warp, stack, place + kNquThreads,
                             warp.read(stack.columns, place) | queen,
                             (warp.read(stack.left_diagonals, place) | queen) << 1,
                             (warp.read(stack.right_diagonals, place) | queen) >> 1, in.board);
                    warp.set(depth, depth + 1);
                  });
            });
}

template <class Cta>
void nqu_board(Cta& cta, const NquArguments& in) {
  const unsigned stack_size = in.num_rows * kNquThreads;
  unsigned* sums = cta.template shared<unsigned>(kNquThreads);
  const NquStack stack{
      cta.template shared<unsigned>(stack_size), cta.template shared<unsigned>(stack_size),
      cta.template shared<unsigned>(stack_size), cta.template shared<unsigned>(stack_size)};
  cta.each_warp([&](auto& warp) {
    const auto thread = warp.thread();
    const auto task = thread + cta.index() * kNquThreads;
    auto count = warp.lanes(0U);
    warp.compute(kNquSetUp);
    warp.when(task < in.num_tasks, [&] {
      warp.compute(kNquTask);
      const auto columns = warp.load(in.columns, task);
      const auto left = warp.load(in.left_diagonals, task);
      nqu_push(warp, stack, thread, columns, left, warp.load(in.right_diagonals, task), in.board);
      nqu_count(warp, stack, in, count);
    });
    warp.write(sums, thread, count);
  });
  // 96 -> 48 -> 24 -> 12 -> 6 -> 3 -> 1
  for (unsigned left = kNquThreads; left > 1; left /= 2) {
    cta.barrier();
    cta.each_warp([&](auto& warp) {
      const auto thread = warp.thread();
      warp.compute(kNquAdd);
      warp.when(thread < left / 2, [&] {
        auto sum = warp.read(sums, thread) + warp.read(sums, thread + left / 2);
        // If the number is odd, the last one is added to the first.
        if (left % 2 == 1)
          sum =
              sum + warp.select(thread == 0, warp.read(sums, warp.lanes(left - 1)), warp.lanes(0U));
        warp.write(sums, thread, sum);
      });
    });
  }
  cta.each_warp([&](auto& warp) {
    warp.when(warp.thread() == 0, [&] {
      warp.store(in.counts, warp.lanes(cta.index()), warp.read(sums, warp.lanes(0U)));
    });
  });
}

}  // namespace isthmus::workloads
