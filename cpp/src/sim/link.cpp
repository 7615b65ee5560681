#include "sim/link.hpp"

#include <algorithm>

namespace isthmus::sim {

HostLink::HostLink(const LinkParameters& link, Utilisation& utilisation, Observer* observer)
    : link_(link), utilisation_(utilisation), observer_(observer) {}

Picoseconds HostLink::to_gpu(Picoseconds time_ps, std::uint64_t size_bytes) {
  return book(to_gpu_, to_gpu_.free_ps, time_ps, size_bytes, true);
}

Picoseconds HostLink::to_cpu(Picoseconds time_ps, std::uint64_t size_bytes) {
  Picoseconds& free_ps = link_.half_duplex ? to_gpu_.free_ps : to_cpu_.free_ps;
  return book(to_cpu_, free_ps, time_ps, size_bytes, false);
}

Picoseconds HostLink::book(Server& server, Picoseconds& free_ps, Picoseconds time_ps,
                           std::uint64_t size_bytes, bool to_gpu) {
  if (server.last_bytes != size_bytes) {
    server.last_bytes = size_bytes;
    server.last_cost_ps = cost_ps(size_bytes, to_gpu);
  }
  const Picoseconds start = std::max(time_ps, free_ps);
  free_ps = start + server.last_cost_ps;
  server.busy_ps += server.last_cost_ps;
  note_busy(to_gpu, {start, free_ps});
  if (observer_ != nullptr) observer_->link_busy(to_gpu, size_bytes, {start, free_ps});
  return free_ps + link_.latency_ps;
}

Picoseconds HostLink::cost_ps(std::uint64_t size_bytes, bool to_gpu) const {
  if (size_bytes == 0) return 0;
  if (!link_.costs.empty()) return cost_from_points(size_bytes);
  std::uint64_t bytes = size_bytes;
  if (link_.packet_bytes != 0) {
    const std::uint64_t packets = (size_bytes + link_.packet_bytes - 1) / link_.packet_bytes;
    bytes += packets * link_.packet_overhead_bytes;
  }
  const bool back = !to_gpu && link_.back_bytes_per_s != 0;
  return transfer_ps(bytes, back ? link_.back_bytes_per_s : link_.bytes_per_s);
}

Picoseconds HostLink::cost_from_points(std::uint64_t size_bytes) const {
  const auto& points = link_.costs;
  const auto upper = std::ranges::lower_bound(points, size_bytes, {}, &LinkCost::size_bytes);
  if (upper == points.begin() || upper == points.end()) {
    const LinkCost& nearest = upper == points.end() ? points.back() : points.front();
    return static_cast<Picoseconds>(Wide{nearest.busy_ps} * size_bytes / nearest.size_bytes);
  }
  const LinkCost& below = *(upper - 1);
  const Wide rise = upper->busy_ps - below.busy_ps;
  return below.busy_ps + static_cast<Picoseconds>(rise * (size_bytes - below.size_bytes) /
                                                  (upper->size_bytes - below.size_bytes));
}

// What was booked beyond the end is taken off.
Picoseconds HostLink::least_busy_ps(Picoseconds end_ps) const {
  const auto until_end = [end_ps](Picoseconds busy_ps, Picoseconds free_ps) {
    const Picoseconds beyond = free_ps - std::min(free_ps, end_ps);
    return busy_ps - std::min(busy_ps, beyond);
  };
  if (link_.half_duplex) return until_end(to_gpu_.busy_ps + to_cpu_.busy_ps, to_gpu_.free_ps);
  return std::max(until_end(to_gpu_.busy_ps, to_gpu_.free_ps),
                  until_end(to_cpu_.busy_ps, to_cpu_.free_ps));
}

void HostLink::note_busy(bool to_gpu, Span span) {
  while (span.end_ps > utilisation_.bin_ps * kNumUtilisationBins) halve_resolution();
  auto& bins = to_gpu ? utilisation_.to_gpu_ps : utilisation_.to_cpu_ps;
  for (Picoseconds time = span.start_ps; time < span.end_ps;) {
    const std::size_t bin = time / utilisation_.bin_ps;
    const Picoseconds end = std::min(span.end_ps, (bin + 1) * utilisation_.bin_ps);
    bins[bin] += end - time;
    time = end;
  }
}

void HostLink::halve_resolution() {
  utilisation_.bin_ps *= 2;
  for (auto* bins : {&utilisation_.to_gpu_ps, &utilisation_.to_cpu_ps}) {
    for (std::size_t i = 0; i < kNumUtilisationBins; ++i) {
      const bool inside = 2 * i + 1 < kNumUtilisationBins;
      (*bins)[i] = inside ? (*bins)[2 * i] + (*bins)[2 * i + 1] : 0;
    }
  }
}

}  // namespace isthmus::sim
