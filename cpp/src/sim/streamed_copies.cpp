#include "sim/streamed_copies.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <isthmus/errors.hpp>

namespace isthmus::sim {
namespace {

using trace::HostStep;

constexpr std::uint64_t kMaxChunks = 1U << 22U;        // 64 MiB of them
constexpr std::uint64_t kMaxVisitedParts = 1U << 28U;  // about a second
constexpr std::uint32_t kNoUpload = ~0U;

/// The parts into which the boundaries of all copies cut the address space: part p is
/// [boundaries[p], boundaries[p + 1]).
class Parts {
public:
  struct Range {
    std::size_t first, end;
  };

  explicit Parts(const trace::Program& program) {
    for (const trace::Launch& launch : program.launches) add(launch.before);
    add(program.after);
    std::ranges::sort(boundaries_);
    const auto rest = std::ranges::unique(boundaries_);
    boundaries_.erase(rest.begin(), rest.end());
  }

  /// The parts that overlap [begin, end).
  Range overlapping(std::uint64_t begin, std::uint64_t end) {
    if (boundaries_.size() < 2) return {0, 0};
    // Most lines are in the same part as the line before.
    if (begin >= boundaries_[last_] && end <= boundaries_[last_ + 1]) return {last_, last_ + 1};
    const auto after = std::ranges::upper_bound(boundaries_, begin);
    const auto past = std::ranges::lower_bound(boundaries_, end);
    const auto first = static_cast<std::size_t>(after - boundaries_.begin());
    const auto stop = static_cast<std::size_t>(past - boundaries_.begin());
    const Range found{first == 0 ? 0 : first - 1, std::min(stop, boundaries_.size() - 1)};
    if (found.first < found.end) last_ = found.first;
    return found;
  }
  std::uint64_t end_of(std::size_t part) const { return boundaries_[part + 1]; }
  std::size_t count() const { return boundaries_.empty() ? 0 : boundaries_.size() - 1; }

private:
  void add(const std::vector<HostStep>& steps) {
    for (const HostStep& step : steps) {
      boundaries_.push_back(step.address);
      boundaries_.push_back(step.address + step.size_bytes);
    }
  }
  std::vector<std::uint64_t> boundaries_;
  std::size_t last_ = 0;
};

/// Goes through a program in its order.
class Planner {
public:
  Planner(const trace::Program& program, std::uint64_t chunk_bytes, ChunkOrder order)
      : program_(program), chunk_bytes_(chunk_bytes), order_(order), parts_(program) {
    of_part_.resize(parts_.count());
    check_number_of_chunks();
  }

  CopyPlan operator()(trace::Source& source) {
    source.rewind();
    while (const auto block = source.next()) {
      if (block->launch >= program_.launches.size()) break;
      if (block->launch + 1 < plan_.launches.size()) break;  // in no order: the run refuses it
      begin_launches(block->launch + 1);
      add(*block);
    }
    begin_launches(program_.launches.size());
    add(program_.after);
    source.rewind();
    return std::move(plan_);
  }

private:
  /// What the program has done to a part so far.
  struct Part {
    std::uint32_t upload = kNoUpload;  // the latest
    std::uint32_t touched = 0;         // by launch number touched - 1; 0: by none
    std::uint32_t stored = 0;
    std::uint32_t downloads = 0;  // so many, up to the latest of this part
  };
  struct Upload {
    std::uint64_t address = 0;
    std::uint64_t size_bytes = 0;
    std::size_t first_chunk = 0;  // in place_of_chunk_
    PlannedCopy after;
  };

  void check_number_of_chunks() const {
    std::uint64_t chunks = 0;
    const auto count = [&](const std::vector<HostStep>& steps) {
      for (const HostStep& step : steps) {
        if (trace::copies_to_gpu(step.kind)) chunks += step.size_bytes / chunk_bytes_ + 1;
      }
    };
    for (const trace::Launch& launch : program_.launches) count(launch.before);
    count(program_.after);
    if (chunks <= kMaxChunks) return;
    throw UsageError("the program's uploads have " + std::to_string(chunks) + " chunks of " +
                     std::to_string(chunk_bytes_) + " bytes: at most " +
                     std::to_string(kMaxChunks) + " are planned (options.chunk)");
  }

  void begin_launches(std::size_t end) {
    while (plan_.launches.size() < end) {
      add(program_.launches[plan_.launches.size()].before);
      plan_.launches.emplace_back();
    }
  }

  // Uploads without a download between them are queued together.
  void add(const std::vector<HostStep>& steps) {
    const std::size_t first = uploads_.size();
    std::size_t queued = first;
    for (const HostStep& step : steps) {
      if (step.size_bytes == 0) continue;
      if (trace::copies_to_gpu(step.kind)) {
        add_upload(step);
      } else {
        queue_from(queued);
        queued = uploads_.size();
        add_download(step);
      }
    }
    queue_from(queued);
  }

  void add_upload(const HostStep& step) {
    Upload upload{step.address, step.size_bytes, place_of_chunk_.size(), {}};
    upload.after.after_launches = last_downloaded_launch_;
    upload.after.after_downloads = static_cast<std::uint32_t>(plan_.downloads.size());
    for_parts(step, [&](Part& part) {
      upload.after.after_launches = std::max(upload.after.after_launches, part.touched);
      part.upload = static_cast<std::uint32_t>(uploads_.size());
    });
    place_of_chunk_.resize(place_of_chunk_.size() + num_chunks(upload));
    uploads_.push_back(upload);
  }

  void add_download(const HostStep& step) {
    PlannedCopy download{step.size_bytes, 0, 0};
    for_parts(step, [&](Part& part) {
      download.after_launches = std::max(download.after_launches, part.stored);
      part.downloads = static_cast<std::uint32_t>(plan_.downloads.size() + 1);
    });
    last_downloaded_launch_ = std::max(last_downloaded_launch_, download.after_launches);
    plan_.downloads.push_back(download);
  }

  template <class Change>
  void for_parts(const HostStep& step, Change&& change) {
    const auto range = parts_.overlapping(step.address, step.address + step.size_bytes);
    visited_parts_ += range.end - range.first;
    if (visited_parts_ > kMaxVisitedParts) {
      throw UsageError("the program's copies overlap in too many ways to plan them: more than " +
                       std::to_string(kMaxVisitedParts) + " parts of copies");
    }
    for (std::size_t part = range.first; part < range.end; ++part) change(of_part_[part]);
  }

  std::uint64_t num_chunks(const Upload& upload) const {
    return (upload.size_bytes + chunk_bytes_ - 1) / chunk_bytes_;
  }

  // Queues the chunks of all uploads from number `first`.
  void queue_from(std::size_t first) {
    struct QueuedChunk {
      std::size_t upload, chunk;
      double share;  // of the upload, up to this chunk
    };
    std::vector<QueuedChunk> chunks;
    for (std::size_t upload = first; upload < uploads_.size(); ++upload) {
      const std::uint64_t count = num_chunks(uploads_[upload]);
      for (std::uint64_t chunk = 0; chunk < count; ++chunk) {
        chunks.push_back({upload, chunk, static_cast<double>(chunk) / static_cast<double>(count)});
      }
    }
    if (order_ == ChunkOrder::in_turns) std::ranges::stable_sort(chunks, {}, &QueuedChunk::share);
    for (const QueuedChunk& chunk : chunks) queue(uploads_[chunk.upload], chunk.chunk);
  }

  void queue(const Upload& upload, std::size_t chunk) {
    place_of_chunk_[upload.first_chunk + chunk] = static_cast<std::uint32_t>(plan_.uploads.size());
    PlannedCopy planned = upload.after;
    planned.size_bytes = std::min(chunk_bytes_, upload.size_bytes - chunk * chunk_bytes_);
    plan_.uploads.push_back(planned);
  }

  void add(const trace::Block& block) {
    const std::uint32_t warps = program_.launches[block.launch].warps_per_cta;
    PlannedLaunch& launch = plan_.launches[block.launch];
    for (std::uint32_t cta = 0; cta < block.num_ctas; ++cta) {
      std::uint32_t chunks = launch.chunks.empty() ? 0 : launch.chunks.back();
      const std::size_t first_warp = std::size_t{cta} * warps;
      const std::uint32_t end = block.op_begin[first_warp + warps];
      for (std::uint32_t op = block.op_begin[first_warp]; op < end; ++op) {
        const auto kind = static_cast<trace::OpKind>(block.kinds[op]);
        if (trace::is_local(kind)) continue;
        const std::uint32_t line = block.line_begin[op];
        const auto lines = block.lines.subspan(line, block.line_begin[op + 1] - line);
        chunks = std::max(chunks, touch(lines, kind != trace::OpKind::load, launch));
      }
      launch.chunks.push_back(chunks);
    }
  }

  // The number of chunks that must have arrived.
  std::uint32_t touch(std::span<const std::uint64_t> lines, bool stores, PlannedLaunch& launch) {
    const auto launch_number = static_cast<std::uint32_t>(plan_.launches.size());
    std::uint32_t chunks = 0;
    for (const std::uint64_t line : lines) {
      const std::uint64_t end = (line + 1) * trace::kLineBytes;
      const auto range = parts_.overlapping(line * trace::kLineBytes, end);
      for (std::size_t index = range.first; index < range.end; ++index) {
        Part& part = of_part_[index];
        part.touched = launch_number;
        if (stores) {
          part.stored = launch_number;
          launch.after_downloads = std::max(launch.after_downloads, part.downloads);
        }
        if (part.upload == kNoUpload) continue;
        const Upload& upload = uploads_[part.upload];
        const std::uint64_t last = std::min(end, parts_.end_of(index)) - 1 - upload.address;
        chunks = std::max(chunks, place_of_chunk_[upload.first_chunk + last / chunk_bytes_] + 1);
      }
    }
    return chunks;
  }

  const trace::Program& program_;
  std::uint64_t chunk_bytes_;
  ChunkOrder order_;
  Parts parts_;
  std::vector<Part> of_part_;
  std::vector<Upload> uploads_;
  std::vector<std::uint32_t> place_of_chunk_;  // of all uploads: the chunk's place in the queue
  std::uint64_t visited_parts_ = 0;
  std::uint32_t last_downloaded_launch_ = 0;  // so many launches end before all downloads so far
  CopyPlan plan_;
};

}  // namespace

CopyPlan plan_copies(trace::Source& source, std::uint64_t chunk_bytes, ChunkOrder order) {
  return Planner(source.program(), chunk_bytes, order)(source);
}

StreamedCopies::StreamedCopies(CopyPlan plan, bool count_downloads, HostLink& link,
                               Traffic& traffic)
    : plan_(std::move(plan)), count_downloads_(count_downloads), link_(link), traffic_(traffic) {}

// Downloads first: an upload may wait for one of them.
void StreamedCopies::launches_ended(std::uint32_t num_launches, Picoseconds time_ps) {
  while (book_download(num_launches, time_ps)) continue;
  while (book_upload(num_launches, time_ps)) continue;
}

bool StreamedCopies::book_download(std::uint32_t num_launches, Picoseconds time_ps) {
  const std::size_t next = downloaded_ps_.size() - 1;
  if (next == plan_.downloads.size()) return false;
  const PlannedCopy& copy = plan_.downloads[next];
  if (copy.after_launches > num_launches) return false;
  Picoseconds done = time_ps;
  if (count_downloads_) {
    traffic_.copied_to_cpu += copy.size_bytes;
    done = link_.to_cpu(time_ps, copy.size_bytes);
  }
  downloaded_ps_.push_back(std::max(downloaded_ps_.back(), done));
  return true;
}

bool StreamedCopies::book_upload(std::uint32_t num_launches, Picoseconds time_ps) {
  const std::size_t next = uploaded_ps_.size() - 1;
  if (next == plan_.uploads.size()) return false;
  const PlannedCopy& copy = plan_.uploads[next];
  if (copy.after_launches > num_launches) return false;
  if (copy.after_downloads >= downloaded_ps_.size()) return false;
  traffic_.copied_to_gpu += copy.size_bytes;
  const Picoseconds start = std::max(time_ps, downloaded_ps_[copy.after_downloads]);
  uploaded_ps_.push_back(link_.to_gpu(start, copy.size_bytes));
  return true;
}

bool StreamedCopies::booked(std::uint32_t launch) const {
  const PlannedLaunch& planned = plan_.launches[launch];
  const std::size_t chunks = planned.chunks.empty() ? 0 : planned.chunks.back();
  return chunks < uploaded_ps_.size() && planned.after_downloads < downloaded_ps_.size();
}

Picoseconds StreamedCopies::arrived_ps(std::uint32_t launch, std::uint32_t cta) const {
  const std::vector<std::uint32_t>& chunks = plan_.launches[launch].chunks;
  return cta < chunks.size() ? uploaded_ps_[chunks[cta]] : 0;
}

Picoseconds StreamedCopies::stores_may_begin_ps(std::uint32_t launch) const {
  return downloaded_ps_[plan_.launches[launch].after_downloads];
}

Picoseconds StreamedCopies::end_ps() const {
  return std::max(uploaded_ps_.back(), downloaded_ps_.back());
}

}  // namespace isthmus::sim
