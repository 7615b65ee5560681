// The link between CPU and GPU: a server for each direction.
#pragma once

#include <cstdint>

#include "sim/machine.hpp"
#include "sim/observer.hpp"
#include "sim/result.hpp"

namespace isthmus::sim {

/// Copies are served in the order in which they are booked; the latency is added after the service.
class HostLink {
public:
  /// link        outlives this object
  HostLink(const LinkParameters& link, Utilisation& utilisation, Observer* observer);

  /// Books the next free time, at `time_ps` or later. Returns when the last byte has arrived.
  Picoseconds to_gpu(Picoseconds time_ps, std::uint64_t size_bytes);
  Picoseconds to_cpu(Picoseconds time_ps, std::uint64_t size_bytes);

  /// How long a copy keeps the link to the GPU (or CPU) busy.
  Picoseconds cost_ps(std::uint64_t size_bytes, bool to_gpu) const;

  /// How long one direction was busy until `end_ps`, at least: the longer of both, or their sum if
  /// they share the link.
  Picoseconds least_busy_ps(Picoseconds end_ps) const;

  Picoseconds to_gpu_busy_ps() const { return to_gpu_.busy_ps; }
  Picoseconds to_cpu_busy_ps() const { return to_cpu_.busy_ps; }

private:
  struct Server {
    Picoseconds free_ps = 0;
    Picoseconds busy_ps = 0;
    std::uint64_t last_bytes = 0;  // the argument of the last cost_ps
    Picoseconds last_cost_ps = 0;
  };
  Picoseconds book(Server& server, Picoseconds& free_ps, Picoseconds time_ps,
                   std::uint64_t size_bytes, bool to_gpu);
  Picoseconds cost_from_points(std::uint64_t size_bytes) const;
  void note_busy(bool to_gpu, Span span);
  void halve_resolution();

  const LinkParameters& link_;
  Server to_gpu_, to_cpu_;
  Utilisation& utilisation_;
  Observer* observer_;
};

}  // namespace isthmus::sim
