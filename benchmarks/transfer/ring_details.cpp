// Measurements behind the staging ring's constants, as JSON: threads x slots x parts x direction x
// size, beside the driver's own copies from pageable and from pinned memory in the same rounds.
//
//   ring_details [OPTION=LIST]...     ring_details threads=8,10 slot_mib=4,8,16 slots=3,4
//
// OPTION     default                  what it varies
// threads    8,10,12,15               RingSettings::num_threads (never more than cores)
// slot_mib   8,16                     slot_bytes
// slots      4                        num_slots
// up_slot_mib 8                       upload_slot_bytes
// paused_slot_mib 4                   paused_upload_slot_bytes
// part_kib   256                      max_part_bytes
// min_part_kib 64                   min_part_bytes; never more than part_kib
// filler_kib 2048                     filler_bytes
// marks      flags                    flags, events: marks_by_events
// first_kib  512                      first_bytes
// up_pieces  4                        upload_pieces
// down_pieces 8                       download_pieces
// growth     200                      percent: growth
// long_up_growth 135                  percent: long_upload_growth
// long_down_growth 150                percent: long_download_growth
// stores     best                     best, plain, fetched, streaming, demoted: of an upload
// few_slots_mib 128                   min_few_slots_bytes
// sleeping_mib 64                     min_sleeping_bytes
// streamed_kib 32768                  min_streamed_bytes
// huge_kib   4096                     min_huge_bytes
// size_kib   1024,4096,16384,65536,1048576
// directions h2d,d2h
// rounds     7                        the medians are of this many
// conditions warm,pause,cold,fresh    warm: right after two other copies of the ring; pause: 2 ms later,
//                                     when its threads sleep; cold: 2 ms after other memory was
//                                     read, too; fresh: into memory never touched
//
// Each row says the CPU time of all threads of the process for one copy, too: without what threads
// spin once it has ended, and reliable from some ms on, since the kernel counts other threads that run
// now and then. Rings' rows also say where the time went, in seconds, as medians: from the call until
// the last thread began, until the first piece was enqueued, until the last was, and the time of all
// threads in enqueueing, for num_pieces.
//
// The device is the first one of $ISTHMUS_DRIVER. Every ring's copies are verified first.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/buffers.hpp"
#include "host/cpu/clock.hpp"
#include "host/memory/pageable_buffer.hpp"
#include "host/memory/pattern.hpp"
#include "options.hpp"
#include "ring_options.hpp"
#include "rounds.hpp"
#include "rows.hpp"
#include "transfer/staging/copy_moments.hpp"
#include "transfer/staging/staging_ring.hpp"

namespace {

using isthmus::transfer::CopyMoments;
using isthmus::transfer::StagingRing;

constexpr std::chrono::milliseconds kPause{2};
// More than the caches that cores share.
constexpr std::size_t kOtherBytes = std::size_t{256} << 20U;
constexpr std::size_t kLineBytes = 64;

double seconds_between(std::int64_t begun_ns, std::int64_t ended_ns) {
  return static_cast<double>(ended_ns - begun_ns) * 1e-9;
}

/// What copies: a ring, or the driver.
struct Subject {
  Row about;
  std::function<void(std::byte* host, std::size_t size_bytes)> upload;
  std::function<void(std::byte* host, std::size_t size_bytes)> download;
  std::byte* host;                 ///< the copy's host memory; pageable memory may have to be fresh
  CopyMoments* moments = nullptr;  ///< of a ring's last copy
  std::int64_t begun_ns = 0;       ///< of the last copy
};

/// What one copy took.
struct Sample {
  double seconds = 0;
  double cpu_seconds = 0;  ///< of all threads
};

Sample sample_of(const Task& copy) {
  const std::clock_t begun = std::clock();
  const double seconds = seconds_of(copy, 1);
  return {seconds, static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC};
}

/// Where the time of a ring's copies went, one value a round.
struct Splits {
  std::vector<double> until_threads;
  std::vector<double> until_first;
  std::vector<double> until_last;
  std::vector<double> enqueueing;
  std::size_t num_pieces = 0;

  void note(const Subject& subject) {
    if (subject.moments == nullptr) return;
    const CopyMoments& moments = *subject.moments;
    until_threads.push_back(seconds_between(subject.begun_ns, moments.last_begun_ns()));
    until_first.push_back(seconds_between(subject.begun_ns, moments.first_enqueued_ns()));
    until_last.push_back(seconds_between(subject.begun_ns, moments.last_enqueued_ns()));
    enqueueing.push_back(seconds_between(0, moments.enqueueing_ns()));
    num_pieces = static_cast<std::size_t>(moments.num_pieces());
  }
  void add_to(Row& row) const {
    if (until_first.empty()) return;
    row.add("until_threads_seconds", median(until_threads))
        .add("until_first_seconds", median(until_first))
        .add("until_last_seconds", median(until_last))
        .add("enqueueing_seconds", median(enqueueing))
        .add("num_pieces", num_pieces);
  }
};

class Bench {
public:
  explicit Bench(const Options& options)
      : context_(isthmus::Context::retain(isthmus::Driver::open(), 0)),
        current_(context_),
        max_bytes_(std::ranges::max(numbers(options, "size_kib")) * kKiB),
        device_(context_, max_bytes_),
        pageable_(max_bytes_),
        pinned_(context_, max_bytes_),
        num_rounds_(numbers(options, "rounds").front()),
        other_(kOtherBytes) {
    isthmus::host::fill_pattern(other_.data(), kOtherBytes, 1);
    isthmus::host::fill_pattern(pageable_.data(), max_bytes_, 1);
    isthmus::host::fill_pattern(pinned_.data(), max_bytes_, 1);
    add_driver("driver_pageable", pageable_.data());
    add_driver("driver_pinned", pinned_.data());
    for (const RingSettings& settings : settings_of(options)) add_ring(settings);
  }

  bool emulated() const { return context_.driver().emulated(); }
  std::vector<Row> measure(const std::string& condition, bool up, std::size_t size_bytes);

private:
  void add_driver(const std::string& name, std::byte* host);
  void add_ring(RingSettings settings);
  void verify(StagingRing& ring);
  void read_other_memory() const;
  Sample sample_of_one(Subject& subject, const std::string& condition, bool up,
                       std::size_t size_bytes);

  isthmus::Context context_;
  isthmus::CurrentContext current_;
  std::size_t max_bytes_;
  isthmus::DeviceBuffer device_;
  isthmus::host::PageableBuffer pageable_;
  isthmus::PinnedBuffer pinned_;
  std::size_t num_rounds_;
  isthmus::host::PageableBuffer other_;
  std::vector<std::unique_ptr<CopyMoments>> moments_;
  std::vector<std::unique_ptr<StagingRing>> rings_;
  std::vector<Subject> subjects_;
};

void Bench::add_driver(const std::string& name, std::byte* host) {
  const isthmus::Driver driver = context_.driver();
  const CUdeviceptr device = device_.pointer();
  subjects_.push_back({Row().add("way", name),
                       [=](std::byte* from, std::size_t size_bytes) {
                         driver.call(isthmus::symbol::memcpy_htod)(device, from, size_bytes);
                       },
                       [=](std::byte* to, std::size_t size_bytes) {
                         driver.call(isthmus::symbol::memcpy_dtoh)(to, device, size_bytes);
                       },
                       host});
}

void Bench::add_ring(RingSettings settings) {
  settings.moments = moments_.emplace_back(std::make_unique<CopyMoments>()).get();
  StagingRing& ring = *rings_.emplace_back(std::make_unique<StagingRing>(context_, settings));
  // Rings limited to the same number of cores would be identical.
  if (ring.num_threads() < settings.num_threads) {
    rings_.pop_back();
    return;
  }
  verify(ring);
  const CUdeviceptr device = device_.pointer();
  Row about;
  about.add("way", "ring")
      .add("threads", static_cast<std::size_t>(settings.num_threads))
      .add("slot_bytes", settings.slot_bytes)
      .add("slots", static_cast<std::size_t>(settings.num_slots))
      .add("upload_slot_bytes", settings.upload_slot_bytes)
      .add("paused_upload_slot_bytes", settings.paused_upload_slot_bytes)
      .add("part_bytes", settings.max_part_bytes)
      .add("min_part_bytes", settings.min_part_bytes)
      .add("marks", settings.marks_by_events ? "events" : "flags")
      .add("first_bytes", settings.first_bytes)
      .add("upload_pieces", static_cast<std::size_t>(settings.upload_pieces))
      .add("download_pieces", static_cast<std::size_t>(settings.download_pieces))
      .add("growth", settings.growth)
      .add("long_upload_growth", settings.long_upload_growth)
      .add("long_download_growth", settings.long_download_growth)
      .add("stores", name_of(settings.stores))
      .add("few_slots_bytes", settings.min_few_slots_bytes)
      .add("sleeping_bytes", settings.min_sleeping_bytes)
      .add("streamed_bytes", settings.min_streamed_bytes)
      .add("huge_bytes", settings.min_huge_bytes);
  subjects_.push_back({about,
                       [&ring, device](std::byte* from, std::size_t size_bytes) {
                         ring.upload(device, from, size_bytes, nullptr);
                       },
                       [&ring, device](std::byte* to, std::size_t size_bytes) {
                         ring.download(to, device, size_bytes, nullptr);
                       },
                       pageable_.data(), settings.moments});
}

/// Uploads a new pattern and downloads it into other memory.
void Bench::verify(StagingRing& ring) {
  const std::size_t size_bytes = std::min(max_bytes_, std::size_t{32} << 20U) - 1;
  std::vector<std::byte> sent(size_bytes);
  std::vector<std::byte> found(size_bytes);
  isthmus::host::fill_pattern(sent.data(), size_bytes, 2 + rings_.size());
  ring.upload(device_.pointer(), sent.data(), size_bytes, nullptr);
  ring.download(found.data(), device_.pointer(), size_bytes, nullptr);
  if (found != sent) throw std::runtime_error("a ring's copy isn't what was sent");
}

/// Fills the caches with it.
void Bench::read_other_memory() const {
  const volatile std::byte* const memory = other_.data();
  for (std::size_t i = 0; i < kOtherBytes; i += kLineBytes) (void)memory[i];
}

Sample Bench::sample_of_one(Subject& subject, const std::string& condition, bool up,
                            std::size_t size_bytes) {
  const auto copy = [&](std::byte* host, std::size_t bytes) {
    if (subject.moments != nullptr) subject.moments->clear();
    subject.begun_ns = isthmus::host::steady_ns();
    (up ? subject.upload : subject.download)(host, bytes);
  };
  if (condition == "fresh" && subject.host == pageable_.data()) {
    const isthmus::host::PageableBuffer fresh(size_bytes);
    return sample_of([&] { copy(fresh.data(), size_bytes); });
  }
  // Threads stay awake for the next copy only after one that follows another.
  for (int i = 0; i < 2; ++i) copy(subject.host, size_bytes);
  if (condition == "cold") read_other_memory();
  if (condition == "cold" || condition == "pause") std::this_thread::sleep_for(kPause);
  return sample_of([&] { copy(subject.host, size_bytes); });
}

std::vector<Row> Bench::measure(const std::string& condition, bool up, std::size_t size_bytes) {
  std::vector<std::vector<double>> samples(subjects_.size());
  std::vector<std::vector<double>> cpu_samples(subjects_.size());
  std::vector<Splits> splits(subjects_.size());
  for (std::size_t round = 0; round < num_rounds_; ++round) {
    for (std::size_t turn = 0; turn < subjects_.size(); ++turn) {
      const std::size_t i = (round + turn) % subjects_.size();
      const Sample sample = sample_of_one(subjects_[i], condition, up, size_bytes);
      samples[i].push_back(sample.seconds);
      cpu_samples[i].push_back(sample.cpu_seconds);
      splits[i].note(subjects_[i]);
    }
  }
  const double pinned_seconds = median(samples[1]);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < subjects_.size(); ++i) {
    const double seconds = median(samples[i]);
    rows.push_back(subjects_[i].about);
    rows.back()
        .add("condition", condition)
        .add("direction", up ? "h2d" : "d2h")
        .add("bytes", size_bytes)
        .add("seconds", seconds)
        .add("bytes_per_s", static_cast<double>(size_bytes) / seconds)
        .add("of_pinned", pinned_seconds / seconds)
        .add("cpu_seconds", median(cpu_samples[i]));
    splits[i].add_to(rows.back());
  }
  return rows;
}

void run(const Options& options) {
  Bench bench(options);
  std::vector<Row> rows;
  for (const std::size_t size_kib : numbers(options, "size_kib")) {
    for (const std::string& condition : options.at("conditions")) {
      for (const std::string& direction : options.at("directions")) {
        const bool up = direction == "h2d";
        if (up && condition == "fresh") continue;
        const auto found = bench.measure(condition, up, size_kib * kKiB);
        rows.insert(rows.end(), found.begin(), found.end());
      }
    }
  }
  print_rows(rows, bench.emulated());
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, kDefaults, run); }
