// Copies by every path, blocking and not; pinned memory, files, windows.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include <isthmus/pinned.hpp>
#include <isthmus/pinned_resource.hpp>
#include <isthmus/transfer.hpp>
#include <isthmus/window.hpp>

#include "consumer.hpp"

namespace consumer {
namespace {

struct HostAccessible {};
struct DeviceAccessible {};

void copy_there_and_back(isthmus::Transfers& transfers, void* device, std::string_view path) {
  const isthmus::CopyOptions options{.path = path};
  const Bytes sent = pattern(70'001, static_cast<unsigned>(path.size()));
  Bytes received(sent.size());
  transfers.copy(device, sent.data(), sent.size(), options);
  transfers.copy(received.data(), device, sent.size(), options);
  require(received == sent, "bytes have arrived by path '" + std::string(path) + "'");
}

void copy_beside(isthmus::Transfers& transfers, void* device) {
  const Bytes sent = pattern(kDeviceBytes, 3);
  Bytes received(sent.size());
  transfers.copy_async(device, sent.data(), sent.size()).wait();
  isthmus::CopyFuture future = transfers.copy_async(
      received.data(), device, sent.size(), {.ordered = false}, isthmus::SourceOrder::stream);
  future.wait();
  require(future.ready() && future.over(), "a copy that was waited for is over");
  require(received == sent, "bytes have arrived by copy_async()");
}

void copy_many(isthmus::Transfers& transfers, void* device) {
  const Bytes sent = pattern(kDeviceBytes, 4);
  Bytes received(sent.size());
  auto* const there = static_cast<std::byte*>(device);
  const std::size_t half = sent.size() / 2;
  transfers.use_nvrtc("");
  const isthmus::ManyCopy up[]{{there, sent.data(), half},
                               {there + half, sent.data() + half, half}};
  transfers.copy_many(up);
  const isthmus::ManyCopy down[]{{received.data(), there, half},
                                 {received.data() + half, there + half, half}};
  isthmus::CopyFuture future = transfers.copy_many_async(down);
  require(!future.cancel(), "copies of one call are not taken back");
  future.wait();
  require(future.ordered() && future.event() == 0, "nothing has to wait for what is complete");
  future.delay(0);
  require(received == sent, "bytes have arrived by copy_many()");
}

void copy_rows(isthmus::Transfers& transfers, void* device) {
  const Bytes sent = pattern(1024, 5);
  transfers.copy(device, sent.data(), sent.size());
  Bytes rows(8 * 16);
  transfers.copy_strided({rows.data(), device, 1, {8, 16}, {16, 1}, {128, 1}});
  for (std::size_t row = 0; row < 8; ++row)
    require(std::equal(rows.begin() + static_cast<std::ptrdiff_t>(16 * row),
                       rows.begin() + static_cast<std::ptrdiff_t>(16 * row + 16),
                       sent.begin() + static_cast<std::ptrdiff_t>(128 * row)),
            "the rows have arrived by copy_strided()");
}

void copy_blocks(isthmus::Transfers& transfers, void* device) {
  const Bytes sent = pattern(16 * 256, 7);
  Bytes received(sent.size());
  const isthmus::BlockPool there{device, 16, 0};
  const isthmus::BlockPool here{const_cast<unsigned char*>(sent.data()), 16, 0};
  const isthmus::BlockPool back{received.data(), 16, 256};
  const std::int32_t to[]{3, 5};
  const std::int64_t of[]{9, 2};
  transfers.copy_blocks({{&there, 1}, {&here, 1}, 256, to, of, 2}).wait();
  const isthmus::BlockCopy down{{&back, 1}, {&there, 1}, 256, of, to, 2};
  const isthmus::PreparedCopy prepared = transfers.prepare_blocks(down);
  require(prepared.explain().num_copies == 2 && prepared.explain().size_bytes == 512,
          "a copy of blocks says what it is");
  prepared.run().wait();
  transfers.check_blocks();
  for (const std::ptrdiff_t block : {9, 2})
    require(std::equal(received.begin() + 256 * block, received.begin() + 256 * (block + 1),
                       sent.begin() + 256 * block),
            "the blocks have arrived by copy_blocks()");
  const isthmus::ManyCopy one{received.data(), device, 100};
  transfers.prepare_many({&one, 1}).run().wait();
  const std::uint64_t target = reinterpret_cast<std::uint64_t>(received.data());
  const std::uint64_t source = reinterpret_cast<std::uint64_t>(device);
  const std::uint64_t size = 100;
  transfers.copy_pieces({&target, &source, &size, 1}).wait();
}

void explain(isthmus::Transfers& transfers, void* device) {
  const Bytes source(4096);
  const isthmus::CopyPlan plan = transfers.explain(device, source.data(), source.size());
  require(name_of(plan.source) == "pageable" && name_of(plan.target) == "device",
          "the plan names both ends");
  require(!plan.costs.empty() && !name_of(plan.path).empty(), "the plan has costs");
}

}  // namespace

Bytes pattern(std::size_t size_bytes, unsigned seed) {
  Bytes bytes(size_bytes);
  for (std::size_t at = 0; at < size_bytes; ++at)
    bytes[at] = static_cast<unsigned char>(at * 7 + at / 251 + seed);
  return bytes;
}

void use_copies(const isthmus::Driver& driver, std::uintptr_t device) {
  isthmus::Transfers transfers(driver);
  void* const there = reinterpret_cast<void*>(device);
  for (const std::string_view path :
       {"", "window", "window_threads", "driver", "staged", "registered"})
    copy_there_and_back(transfers, there, path);
  copy_beside(transfers, there);
  copy_many(transfers, there);
  copy_rows(transfers, there);
  copy_blocks(transfers, there);
  explain(transfers, there);
  std::uint64_t num_copies = 0;
  for (const isthmus::PathUse& use : transfers.stats()) num_copies += use.num_copies;
  require(num_copies == 25, "stats() counts every copy");
  require(transfers.windows().mapped_bytes(0) > 0, "copies have opened a window");
  transfers.trim();
  require(transfers.windows().mapped_bytes(0) == 0, "trim() closes it");
  require(transfers.driver().path() == driver.path(), "they know their driver");
}

void use_files(const isthmus::Driver& driver, std::uintptr_t device) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  require(file != nullptr, "there is a temporary file");
  const Bytes sent = pattern(10'000, 5);
  require(std::fwrite(sent.data(), 1, sent.size(), file.get()) == sent.size() &&
              std::fflush(file.get()) == 0,
          "it can be written");
  isthmus::Transfers transfers(driver);
  void* const there = reinterpret_cast<void*>(device);
  transfers.copy_file(there, fileno(file.get()), 100, 9'000);
  Bytes received(9'000);
  transfers.copy(received.data(), there, received.size());
  require(std::memcmp(received.data(), sent.data() + 100, received.size()) == 0,
          "bytes of a file have arrived");
}

void use_pinned_memory(const isthmus::Driver& driver, std::uintptr_t device) {
  isthmus::PinnedPool pool(driver, 0,
                           {.region_bytes = std::size_t{2} << 20U, .pin = {.num_threads = 1}});
  isthmus::PinnedResource<HostAccessible, DeviceAccessible> resource(pool);
  void* const pinned = resource.allocate_sync(kDeviceBytes);
  require(pool.contains(pinned, kDeviceBytes) && pool.device() == 0, "the block is the pool's");
  const Bytes sent = pattern(kDeviceBytes, 6);
  isthmus::Transfers transfers(driver);
  void* const there = reinterpret_cast<void*>(device);
  transfers.copy(there, sent.data(), sent.size());
  transfers.copy_async(pinned, there, sent.size()).wait();
  require(std::memcmp(pinned, sent.data(), sent.size()) == 0, "bytes arrived in pinned memory");
  resource.deallocate_sync(pinned, kDeviceBytes);
  pool.trim();
  require(pool.stats().pinned_bytes == 0, "trim() unpins what nobody uses");
}

void use_windows(const isthmus::Driver& driver, std::uintptr_t device) {
  isthmus::Windows windows(driver, {.bar1_limit_bytes = std::size_t{64} << 20U});
  isthmus::Window window = windows.open(device, 4096, {.num_threads = 2});
  const Bytes sent = pattern(1000, 8);
  window.write(11, sent.data(), sent.size());
  window.post(2000, sent.data(), sent.size());
  isthmus::Window::fence();
  Bytes received(sent.size());
  window.read(received.data(), 2000, received.size());
  require(received == sent && std::memcmp(window.data() + 11, sent.data(), sent.size()) == 0,
          "bytes have arrived by a window");
  require(name_of(window.backend()) == "dmabuf" && !window.instructions().empty(),
          "a window knows how it works");
  require(window.buffer_is_alive() && window.device_pointer() == device &&
              window.mapped_bytes() >= window.size_bytes(),
          "a window knows its buffer");
  require(windows.backends(0).size() == 3 && windows.memory_kinds(0).size() == 4 &&
              windows.costs().map.count > 0,
          "windows tell what was tried, and what it cost");
  window.close();
  require(!window.is_open(), "a closed window is closed");
}

}  // namespace consumer
