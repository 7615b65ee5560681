#include "measure/paging/paging.hpp"

#include <array>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

/// "bfs_level", "paged" -> the file workload_bfs, and its isthmus_workload_bfs_level_paged.
class FoundKernels {
public:
  explicit FoundKernels(const Kernels& kernels) : kernels_(kernels) {}

  const Kernel& get(std::string_view name, const char* kind) {
    const std::string entry = "isthmus_workload_" + std::string(name) + "_" + kind;
    const auto found = found_.find(entry);
    if (found != found_.end()) return found->second;
    const std::string file = "workload_" + std::string(name.substr(0, name.find('_')));
    return found_.emplace(entry, kernels_.get(file, entry.c_str())).first->second;
  }

private:
  Kernels kernels_;
  std::map<std::string, Kernel> found_;
};

namespace {

using workloads::HostRun;
using workloads::Part;
using Step = trace::HostStep;

constexpr std::uint64_t kFirstAddress = workloads::Heap::kFirstAddress;

std::uint64_t total_bytes(const std::vector<Part>& parts) {
  std::uint64_t bytes = 0;
  for (const Part& part : parts) bytes += part.size_bytes;
  return bytes;
}

}  // namespace

struct PagingWorkload::State {
  State(const Context& its_context, const Kernels& its_kernels, std::unique_ptr<HostRun> its_run)
      : context(its_context),
        kernels(its_kernels),
        found(its_kernels),
        run(std::move(its_run)),
        host(its_context, run->memory().size()),
        stream(its_context),
        place{context, kernels, *run, host, stream} {
    std::memcpy(host.data(), run->memory().data(), run->memory().size());
    for (const workloads::ReadyLaunch& launch : run->launches()) place_constants(launch.call);
  }

  /// Replaces the pointers to constants by the device's.
  void place_constants(workloads::KernelCall call) {
    for (const workloads::KernelConstant& constant : call.constants) {
      DeviceBuffer& buffer = constants.emplace_back(context, constant.size_bytes);
      context.driver().call(symbol::memcpy_htod)(buffer.pointer(), constant.values,
                                                 constant.size_bytes);
      const CUdeviceptr pointer = buffer.pointer();
      std::memcpy(&call.arguments[constant.argument_offset], &pointer, sizeof pointer);
    }
    calls.push_back(std::move(call));
  }

  void step(WayOfPaging& way, const Step& step, std::span<const std::byte> written) const {
    const Part part = workloads::part_of(step);
    switch (step.kind) {
      case Step::Kind::upload:
      case Step::Kind::upload_again:
        return way.upload(part);
      case Step::Kind::write:
        return way.write(part, written);
      case Step::Kind::read:
      case Step::Kind::download:
        return way.read(part);
    }
  }

  void launch(WayOfPaging& way, std::size_t index) {
    const HeapArgument heap = way.heap();
    const trace::Launch& shape = run->program().launches[index];
    workloads::KernelCall& call = calls[index];
    CUdeviceptr pointer = heap.pointer;
    std::uint64_t first_address = kFirstAddress;
    std::uint32_t num_ctas = shape.num_ctas;
    std::uint32_t num_threads = shape.threads_per_cta;
    std::array<void*, 5> arguments{call.arguments.data(), &pointer, &first_address, &num_ctas,
                                   &num_threads};
    found.get(call.kernel, heap.kind)
        .launch_with(stream.handle(), num_ctas, num_threads, arguments.data());
  }

  /// The program, as it would run; gives its seconds.
  double timed(WayOfPaging& way) {
    const auto start = Clock::now();
    for (std::size_t index = 0; index < calls.size(); ++index) {
      const std::vector<Step>& before = run->program().launches[index].before;
      for (std::size_t i = 0; i < before.size(); ++i)
        if (way.launches() || before[i].kind == Step::Kind::upload)
          step(way, before[i], run->launches()[index].written[i]);
      if (way.launches()) launch(way, index);
    }
    stream.synchronize();
    return seconds_since(start);
  }

  double sample_of(WayOfPaging& way) {
    way.prepare();
    return timed(way);
  }

  void check(WayOfPaging& way) const {
    const std::span<const std::byte> memory = way.finish();
    if (!way.launches()) return check_uploads(memory);
    const std::string difference = run->difference(memory);
    if (difference.empty()) return;
    throw CorruptTransfer("verification failed: workload '" + run->program().name +
                          "': " + difference);
  }
  void check_uploads(std::span<const std::byte> memory) const {
    for (const Part& part : run->uploaded())
      if (std::memcmp(&memory[part.first], &run->memory()[part.first], part.size_bytes) != 0)
        throw CorruptTransfer("verification failed: copies of workload '" + run->program().name +
                              "' didn't arrive");
  }

  Context context;
  Kernels kernels;
  FoundKernels found;
  std::unique_ptr<HostRun> run;
  PinnedBuffer host;
  Stream stream;
  PagingPlace place;
  std::vector<DeviceBuffer> constants;
  std::vector<workloads::KernelCall> calls;
};

PagingWorkload::PagingWorkload(const Context& context, const Kernels& kernels,
                               std::unique_ptr<HostRun> run) {
  const CurrentContext current(context);
  state_ = std::make_unique<State>(context, kernels, std::move(run));
}
PagingWorkload::~PagingWorkload() = default;
PagingWorkload::PagingWorkload(PagingWorkload&&) noexcept = default;

std::uint64_t PagingWorkload::memory_bytes() const { return state_->run->memory().size(); }
std::uint64_t PagingWorkload::uploaded_bytes() const {
  return total_bytes(state_->run->uploaded());
}

Measurement PagingWorkload::measure(const PagingOptions& options) {
  const CurrentContext current(state_->context);
  if (options.way == PagingWay::copies && state_->run->uploaded().empty())
    throw Unavailable("copies of this workload", "its program copies nothing to the GPU",
                      "another workload");
  const std::unique_ptr<WayOfPaging> way = make_way(state_->place, options);
  Measurement measurement;
  measurement.first_call_seconds = state_->sample_of(*way);
  if (options.stopping.verify) state_->check(*way);
  measurement.samples.push_back(
      sample(options.stopping, "run", 1, [&] { return state_->sample_of(*way); }));
  if (options.stopping.verify) state_->check(*way);
  measurement.verified_on = options.stopping.verify ? VerifiedOn::host : VerifiedOn::nobody;
  return measurement;
}

}  // namespace isthmus::measure
