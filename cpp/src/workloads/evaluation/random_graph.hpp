// A graph of nodes that are joined at random.
#pragma once

#include <cstdint>

#include "workloads/evaluation/bfs_kernel.hpp"

namespace isthmus::workloads {

/// Joins each node to `edges` / 2 random ones, in both directions.
///
/// nodes, edges  filled; nodes zeroed before, and as many edges as nodes x `edges_of_node`
void join_randomly(const Array<BfsNode>& nodes, const Array<unsigned>& edges,
                   std::uint32_t edges_of_node, std::uint64_t seed);

/// The levels of a breadth-first search from `source`, with the last, which reaches nothing.
std::uint32_t num_levels(const Array<BfsNode>& nodes, const Array<unsigned>& edges,
                         std::uint32_t source);

}  // namespace isthmus::workloads
