#include "window/backends/rm_client.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>

#include <isthmus/errors.hpp>

#include "driver/forks.hpp"
#include "host/system/printable.hpp"

namespace isthmus::window::rm {
namespace {

constexpr const char* kControlFile = "/dev/nvidiactl";

// Source: nvstatuscodes.h.
constexpr std::array<std::pair<Status, const char*>, 4> kNames{{
    {0x1a, "insufficient resources"},
    {0x1b, "insufficient permissions"},
    {0x51, "out of memory"},
    {0x56, "not supported"},
}};

[[noreturn]] void refuse(const std::string& why) {
  throw Unavailable(
      "rm windows", why,
      "access to /dev/nvidiactl and /dev/nvidiaN, and a driver whose resource manager "
      "lets a process map its own memory");
}

// Says which call failed, and where: in the kernel (or a sandbox before it), or in the resource
// manager.
void require(int error, Status status, const std::string& call) {
  if (error != 0)
    refuse(call + ": " + error_text(-error) +
           (error == -EPERM || error == -ENOSYS ? " (refused by a sandbox?)" : ""));
  if (status != kOk) refuse(call + ": " + status_text(status));
}

std::string pci_address_of(const CardInfo& card) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04" PRIx32 ":%02x:%02x.%x", card.pci_domain,
                card.pci_bus, card.pci_slot, card.pci_function);
  return text.data();
}

}  // namespace

std::string status_text(Status status) {
  std::array<char, 24> code{};
  std::snprintf(code.data(), code.size(), "status 0x%" PRIx32, status);
  for (const auto& [value, name] : kNames)
    if (value == status) return std::string(name) + " (" + code.data() + ")";
  return code.data();
}

Client::Client(std::shared_ptr<const DeviceFiles> files)
    : files_(std::move(files)), process_(process_generation()) {
  control_descriptor_ = open_file(kControlFile);
  try {
    driver_version_ = query_version();
    root_ = alloc(0, Class::root, nullptr, 0, "allocate a client");
  } catch (...) {
    close_file(control_descriptor_);
    throw;
  }
}

// Closing the file ends the client: the resource manager frees all its objects.
Client::~Client() { close_file(control_descriptor_); }

int Client::open_file(const std::string& path) const {
  const int descriptor = files_->open(path.c_str());
  require(descriptor < 0 ? descriptor : 0, kOk, "open " + path);
  close_in_children(descriptor);
  return descriptor;
}

void Client::close_file(int descriptor) const noexcept {
  if (process_ != process_generation()) return;
  forget_descriptor(descriptor);
  files_->close(descriptor);
}

int Client::call(Escape escape, void* argument, std::size_t argument_bytes) const {
  return files_->control(control_descriptor_, request(escape, argument_bytes), argument);
}

std::string Client::query_version() const {
  CheckVersion query{};
  query.command = kQueryVersion;
  require(call(Escape::check_version, &query, sizeof query), kOk, "ask for the driver's version");
  query.version.back() = '\0';
  return host::printable(query.version.data());
}

Handle Client::alloc(Handle parent, Class object_class, void* parameters,
                     std::size_t parameters_bytes, const char* name) {
  Alloc request{root_,
                parent,
                0,
                static_cast<std::uint32_t>(object_class),
                reinterpret_cast<std::uint64_t>(parameters),
                static_cast<std::uint32_t>(parameters_bytes),
                kOk};
  const int error = call(Escape::alloc, &request, sizeof request);
  require(error, request.status, name);
  return request.object;
}

void Client::control(Handle object, Command command, void* parameters, std::size_t parameters_bytes,
                     const char* name) const {
  Control request{root_,
                  object,
                  static_cast<std::uint32_t>(command),
                  0,
                  reinterpret_cast<std::uint64_t>(parameters),
                  static_cast<std::uint32_t>(parameters_bytes),
                  kOk};
  const int error = call(Escape::control, &request, sizeof request);
  require(error, request.status, name);
}

CardInfo Client::card(const std::string& pci_address) const {
  std::array<CardInfo, kMaxCards> cards{};
  require(call(Escape::card_info, cards.data(), sizeof cards), kOk, "list the GPUs");
  for (const CardInfo& card : cards)
    if (card.valid != 0 && pci_address_of(card) == pci_address) return card;
  refuse("the resource manager knows no GPU at " + pci_address);
}

Gpu Client::attach(const std::string& pci_address) {
  const CardInfo card = this->card(pci_address);
  GpuIdInfo id{};
  id.gpu_id = card.gpu_id;
  control(root_, Command::gpu_get_id_info, &id, sizeof id, "ask for the GPU's number");
  DeviceParameters device{};
  device.device_instance = id.device_instance;
  Gpu gpu;
  gpu.file = "/dev/nvidia" + std::to_string(card.minor_number);
  gpu.device = alloc(root_, Class::device, &device, sizeof device, "allocate the device");
  SubdeviceParameters subdevice{id.subdevice_instance};
  try {
    gpu.subdevice =
        alloc(gpu.device, Class::subdevice, &subdevice, sizeof subdevice, "allocate the subdevice");
  } catch (...) {
    // If it were kept, the next attempt would fail: a client can allocate a device only once.
    Free request{root_, root_, gpu.device, kOk};
    call(Escape::free, &request, sizeof request);
    throw;
  }
  return gpu;
}

Gpu Client::gpu(const std::string& pci_address) {
  const std::lock_guard lock(mutex_);
  const auto known = gpus_.find(pci_address);
  if (known != gpus_.end()) return known->second;
  return gpus_.emplace(pci_address, attach(pci_address)).first->second;
}

Handle Client::duplicate(const Gpu& gpu, Handle source_client, Handle source_object) {
  DupObject request{root_, gpu.device, next_handle_++, source_client, source_object, 0, kOk};
  const int error = call(Escape::dup_object, &request, sizeof request);
  require(error, request.status, "duplicate the memory object");
  return request.object;
}

Handle Client::import(const Gpu& gpu, int descriptor) {
  ImportObjects request{};
  request.descriptor = descriptor;
  request.parent = gpu.device;
  request.objects[0] = next_handle_++;
  request.num_objects = 1;
  control(root_, Command::import_objects_from_descriptor, &request, sizeof request,
          "import the exported memory");
  return request.objects[0];
}

void Client::free(const Gpu& gpu, Handle object) noexcept {
  if (process_ != process_generation()) return;
  Free request{root_, gpu.device, object, kOk};
  call(Escape::free, &request, sizeof request);
}

MemoryFacts Client::facts_of(Handle memory) const {
  std::array<InfoEntry, 3> entries{
      {{kSurfaceInfoSizeLow, 0}, {kSurfaceInfoSizeHigh, 0}, {kSurfaceInfoAddressSpace, 0}}};
  InfoList info{entries.size(), 0, reinterpret_cast<std::uint64_t>(entries.data())};
  control(memory, Command::memory_get_surface_info, &info, sizeof info,
          "ask for the memory object's size");
  return {entries[0].value | std::uint64_t{entries[1].value} << 32U,
          static_cast<AddressSpace>(entries[2].value)};
}

void Client::register_with_control(int descriptor, const std::string& path) const {
  RegisterDescriptor argument{control_descriptor_};
  const int error =
      files_->control(descriptor, request(Escape::register_descriptor, sizeof argument), &argument);
  require(error, kOk, "register " + path);
}

MappedMemory Client::map(const Gpu& gpu, Handle memory, std::uint64_t offset_bytes,
                         std::size_t size_bytes, void* where) {
  // A separate file: the kernel keeps one pending mapping per open file.
  MappedMemory mapped;
  mapped.size_bytes = size_bytes;
  mapped.descriptor = open_file(gpu.file);
  MapMemory request{};
  try {
    register_with_control(mapped.descriptor, gpu.file);
    request.client = root_;
    request.device = gpu.device;
    request.memory = memory;
    request.offset = offset_bytes;
    request.length = size_bytes;
    request.descriptor = mapped.descriptor;
    const int error = call(Escape::map_memory, &request, sizeof request);
    if (error == 0 && request.status != kOk)
      refuse("map the memory: " + status_text(request.status) + "; " + bar1_text(gpu));
    require(error, request.status, "map the memory");
  } catch (...) {
    close_file(mapped.descriptor);
    throw;
  }
  mapped.address = request.address;
  const int error = files_->map(where, size_bytes, mapped.descriptor, 0, &mapped.data);
  if (error != 0) {
    unmap(gpu, memory, mapped);
    require(error, kOk, "mmap " + gpu.file);
  }
  return mapped;
}

void Client::unmap(const Gpu& gpu, Handle memory, const MappedMemory& mapped) noexcept {
  if (process_ != process_generation()) return;
  UnmapMemory request{root_, gpu.device, memory, 0, mapped.address, kOk, 0};
  call(Escape::unmap_memory, &request, sizeof request);
  close_file(mapped.descriptor);
}

std::string Client::bar1_text(const Gpu& gpu) const {
  std::array<InfoEntry, 2> entries{{{kFbInfoBar1Size, 0}, {kFbInfoBar1Available, 0}}};
  InfoList info{entries.size(), 0, reinterpret_cast<std::uint64_t>(entries.data())};
  try {
    control(gpu.subdevice, Command::fb_get_info, &info, sizeof info, "ask for BAR1's size");
  } catch (const Unavailable& unknown) {
    return "how much of BAR1 is free is not known";
  }
  return std::to_string(entries[1].value / 1024) + " of " +
         std::to_string(entries[0].value / 1024) + " MiB of BAR1 are free";
}

}  // namespace isthmus::window::rm
