#include "fake_resource_manager.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "emulator.h"

namespace isthmus::window::fakes {

using namespace rm;

namespace {

constexpr const char* kControlFile = "/dev/nvidiactl";

Escape escape_of(unsigned long request) { return static_cast<Escape>(_IOC_NR(request)); }

std::string name_of_alloc(const Alloc& request) {
  switch (static_cast<Class>(request.object_class)) {
    case Class::root:
      return "ALLOC root";
    case Class::device:
      return "ALLOC device";
    case Class::subdevice:
      return "ALLOC subdevice";
  }
  return "ALLOC unknown class";
}

std::string name_of_control(const Control& request) {
  switch (static_cast<Command>(request.command)) {
    case Command::gpu_get_id_info:
      return "CONTROL GPU_GET_ID_INFO";
    case Command::import_objects_from_descriptor:
      return "CONTROL IMPORT_OBJECTS";
    case Command::fb_get_info:
      return "CONTROL FB_GET_INFO";
    case Command::memory_get_surface_info:
      return "CONTROL GET_SURFACE_INFO";
  }
  return "CONTROL unknown command";
}

/// 0 for arguments without a fixed size.
std::size_t argument_bytes(Escape escape) {
  switch (escape) {
    case Escape::free:
      return sizeof(Free);
    case Escape::control:
      return sizeof(Control);
    case Escape::alloc:
      return sizeof(Alloc);
    case Escape::dup_object:
      return sizeof(DupObject);
    case Escape::map_memory:
      return sizeof(MapMemory);
    case Escape::unmap_memory:
      return sizeof(UnmapMemory);
    case Escape::card_info:
      return sizeof(CardInfo);
    case Escape::register_descriptor:
      return sizeof(RegisterDescriptor);
    case Escape::check_version:
      return sizeof(CheckVersion);
  }
  return 0;
}

template <typename Type>
Type& as(void* argument) {
  return *static_cast<Type*>(argument);
}

}  // namespace

FakeResourceManager::FakeResourceManager(const Driver& driver) {
  void* const library = dlopen(driver.path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  object_file_ = reinterpret_cast<decltype(object_file_)>(
      library == nullptr ? nullptr : dlsym(library, "isthmus_emulator_object_file"));
  if (object_file_ == nullptr) throw std::runtime_error("not the emulated driver");
  const auto ask = [&](CUdevice_attribute attribute, int ordinal) {
    int value = 0;
    driver.call(symbol::device_get_attribute)(&value, attribute, ordinal);
    return static_cast<std::uint32_t>(value);
  };
  for (int ordinal = 0; ordinal < driver.device_count(); ++ordinal) {
    const auto number = static_cast<std::uint32_t>(ordinal);
    cards_.push_back({.ordinal = ordinal,
                      .bus = ask(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, ordinal),
                      .domain = ask(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, ordinal),
                      .gpu_id = 0x100 * (number + 1),
                      .minor_number = 7 - number,
                      .instance = 5 - number});
  }
}

std::string FakeResourceManager::file_of(int ordinal) const {
  return "/dev/nvidia" + std::to_string(cards_.at(static_cast<std::size_t>(ordinal)).minor_number);
}

int FakeResourceManager::on_open(const std::string& path, int descriptor) {
  if (path == kControlFile) return 0;
  for (const Card& card : cards_) {
    if (path != file_of(card.ordinal)) continue;
    device_files_[descriptor] = {.card = &card};
    return 0;
  }
  return -ENOENT;
}

std::string FakeResourceManager::name_of(unsigned long request, const void* argument) const {
  switch (escape_of(request)) {
    case Escape::free:
      return "FREE";
    case Escape::control:
      return name_of_control(*static_cast<const Control*>(argument));
    case Escape::alloc:
      return name_of_alloc(*static_cast<const Alloc*>(argument));
    case Escape::dup_object:
      return "DUP_OBJECT";
    case Escape::map_memory:
      return "MAP_MEMORY";
    case Escape::unmap_memory:
      return "UNMAP_MEMORY";
    case Escape::card_info:
      return "CARD_INFO";
    case Escape::register_descriptor:
      return "REGISTER_FD";
    case Escape::check_version:
      return "CHECK_VERSION";
  }
  return "unknown escape";
}

int FakeResourceManager::on_control(int descriptor, unsigned long request, void* argument) {
  const Escape escape = escape_of(request);
  const std::size_t bytes = argument_bytes(escape);
  const bool is_array = escape == Escape::card_info;
  if (_IOC_TYPE(request) != 'F' || _IOC_DIR(request) != (_IOC_READ | _IOC_WRITE) || bytes == 0 ||
      (is_array ? _IOC_SIZE(request) % bytes != 0 : _IOC_SIZE(request) != bytes))
    return complain(EINVAL, name_of(request, argument) + " with an argument of another size");
  const bool is_device_file = device_files_.contains(descriptor);
  if (escape == Escape::register_descriptor) {
    if (!is_device_file) return complain(EINVAL, "REGISTER_FD on /dev/nvidiactl");
    return register_descriptor(descriptor, as<RegisterDescriptor>(argument));
  }
  if (is_device_file) return complain(EINVAL, name_of(request, argument) + " on a GPU's file");
  return on_control_file(descriptor, request, argument);
}

int FakeResourceManager::on_control_file(int descriptor, unsigned long request, void* argument) {
  std::uint32_t status = kOk;
  switch (escape_of(request)) {
    case Escape::card_info:
      return list_cards(request, argument);
    case Escape::check_version:
      return check_version(as<CheckVersion>(argument));
    case Escape::alloc:
      status = alloc(descriptor, as<Alloc>(argument));
      break;
    case Escape::control:
      status = control(descriptor, as<Control>(argument));
      break;
    case Escape::dup_object:
      status = dup(descriptor, as<DupObject>(argument));
      break;
    case Escape::map_memory:
      status = map_memory(descriptor, as<MapMemory>(argument));
      break;
    case Escape::unmap_memory:
      status = unmap_memory(descriptor, as<UnmapMemory>(argument));
      break;
    case Escape::free:
      status = free(descriptor, as<Free>(argument));
      break;
    case Escape::register_descriptor:
      break;
  }
  answer_status(request, argument, status);
  return 0;
}

void FakeResourceManager::answer_status(unsigned long request, void* argument,
                                        std::uint32_t status) {
  switch (escape_of(request)) {
    case Escape::free:
      as<Free>(argument).status = status;
      break;
    case Escape::control:
      as<Control>(argument).status = status;
      break;
    case Escape::alloc:
      as<Alloc>(argument).status = status;
      break;
    case Escape::dup_object:
      as<DupObject>(argument).status = status;
      break;
    case Escape::map_memory:
      as<MapMemory>(argument).status = status;
      break;
    case Escape::unmap_memory:
      as<UnmapMemory>(argument).status = status;
      break;
    default:
      break;  // the others report only errno
  }
}

int FakeResourceManager::check_version(CheckVersion& argument) {
  if (argument.command != kQueryVersion)
    return complain(EINVAL, "CHECK_VERSION that isn't a question");
  argument.reply = 1;
  std::strncpy(argument.version.data(), settings.version.c_str(), argument.version.size() - 1);
  return 0;
}

int FakeResourceManager::list_cards(unsigned long request, void* argument) {
  const std::size_t capacity = _IOC_SIZE(request) / sizeof(CardInfo);
  auto* const listed = static_cast<CardInfo*>(argument);
  for (std::size_t index = 0; index < capacity; ++index) listed[index] = {};
  if (!settings.lists_gpus) return 0;
  std::size_t index = 1;  // a hole first: the list isn't contiguous
  for (const Card& card : cards_) {
    if (index >= capacity) return complain(EINVAL, "CARD_INFO with room for too few GPUs");
    CardInfo& entry = listed[index++];
    entry.valid = 1;
    entry.pci_domain = card.domain;
    entry.pci_bus = static_cast<std::uint8_t>(card.bus);
    entry.pci_vendor = 0x10de;
    entry.gpu_id = card.gpu_id;
    entry.bar1_bytes = std::uint64_t{settings.bar1_mib} << 20;
    entry.minor_number = card.minor_number;
  }
  return 0;
}

int FakeResourceManager::register_descriptor(int descriptor, const RegisterDescriptor& argument) {
  const auto control_file = open_files().find(argument.control_descriptor);
  if (control_file == open_files().end() || control_file->second != kControlFile)
    return complain(EINVAL, "REGISTER_FD with a file that isn't /dev/nvidiactl");
  DeviceFile& file = device_files_.at(descriptor);
  if (file.control_descriptor >= 0) return complain(EINVAL, "REGISTER_FD of a file, twice");
  file.control_descriptor = argument.control_descriptor;
  return 0;
}

int FakeResourceManager::on_map(int descriptor, off_t offset, std::size_t size_bytes,
                                Pages& pages) {
  const auto file = device_files_.find(descriptor);
  if (file == device_files_.end()) return complain(EINVAL, "mmap of /dev/nvidiactl");
  const auto found = mappings_.find(file->second.pending_address);
  if (found == mappings_.end()) return complain(EINVAL, "mmap without MAP_MEMORY");
  if (offset != 0 || size_bytes != found->second.length)
    return complain(EINVAL, "mmap of another size than MAP_MEMORY's");
  pages.file = clients_.at(found->second.client).objects.at(found->second.memory).file;
  pages.offset = found->second.offset;
  return 0;
}

// Closing the control file ends its clients, like the end of a process.
void FakeResourceManager::on_close(int descriptor) {
  const auto device_file = device_files_.find(descriptor);
  if (device_file != device_files_.end()) {
    if (mappings_.contains(device_file->second.pending_address))
      complain(0, "close of a GPU's file whose mapping hasn't been undone");
    device_files_.erase(device_file);
    return;
  }
  for (auto client = clients_.begin(); client != clients_.end();) {
    if (client->second.control_descriptor != descriptor) {
      ++client;
      continue;
    }
    for (const auto& [handle, object] : client->second.objects) {
      if (object.is_memory) complain(0, "close of /dev/nvidiactl with memory left");
      if (object.file >= 0) ::close(object.file);
    }
    std::erase_if(mappings_,
                  [&](const auto& mapping) { return mapping.second.client == client->first; });
    client = clients_.erase(client);
  }
}

std::size_t FakeResourceManager::num_clients() const {
  const std::lock_guard lock(mutex_);
  return clients_.size();
}

std::size_t FakeResourceManager::num_objects() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [root, client] : clients_) count += 1 + client.objects.size();
  return count;
}

std::size_t FakeResourceManager::num_memory_objects() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [root, client] : clients_)
    for (const auto& [handle, object] : client.objects) count += object.is_memory ? 1 : 0;
  return count;
}

std::size_t FakeResourceManager::num_rm_mappings() const {
  const std::lock_guard lock(mutex_);
  return mappings_.size();
}

}  // namespace isthmus::window::fakes
