// The objects of the fake resource manager's clients, and the effect of ALLOC, DUP_OBJECT,
// MAP_MEMORY and so on.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "fake_resource_manager.hpp"

namespace isthmus::window::fakes {

using namespace rm;

namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint32_t kEmulatedClientPrefix = 0xc1d0;

template <typename Type>
Type* parameters_of(const Control& request) {
  const bool fits = request.parameters_bytes == sizeof(Type) && request.parameters != 0;
  return fits ? reinterpret_cast<Type*>(request.parameters) : nullptr;
}

}  // namespace

std::uint32_t FakeResourceManager::misuse(std::uint32_t status, const std::string& what) {
  complain(0, what);
  return status;
}

FakeResourceManager::Client* FakeResourceManager::client_of(int descriptor, Handle root) {
  const auto found = clients_.find(root);
  const bool fits = found != clients_.end() && found->second.control_descriptor == descriptor;
  if (!fits) complain(0, "a client that isn't, or is another file's");
  return fits ? &found->second : nullptr;
}

const FakeResourceManager::Object* FakeResourceManager::device_of(const Client& client,
                                                                  Handle handle) const {
  const auto found = client.objects.find(handle);
  const bool fits = found != client.objects.end() && !found->second.is_memory &&
                    found->second.object_class == Class::device;
  return fits ? &found->second : nullptr;
}

const FakeResourceManager::Card* FakeResourceManager::card_with(std::uint32_t gpu_id) const {
  for (const Card& card : cards_)
    if (card.gpu_id == gpu_id) return &card;
  return nullptr;
}

std::uint32_t FakeResourceManager::alloc(int descriptor, Alloc& request) {
  if (static_cast<Class>(request.object_class) == Class::root)
    return alloc_root(descriptor, request);
  Client* const client = client_of(descriptor, request.root);
  if (client == nullptr) return kInvalidClient;
  switch (static_cast<Class>(request.object_class)) {
    case Class::device:
      return alloc_device(*client, request);
    case Class::subdevice:
      return alloc_subdevice(*client, request);
    default:
      return misuse(kInvalidClass, "ALLOC of an unknown class");
  }
}

std::uint32_t FakeResourceManager::alloc_root(int descriptor, Alloc& request) {
  if (request.object != 0 || request.root != 0)
    return misuse(kInvalidArgument, "ALLOC of a client with a handle of the caller's");
  request.object = next_root_++;
  clients_[request.object].control_descriptor = descriptor;
  return kOk;
}

std::uint32_t FakeResourceManager::add(Client& client, Handle& handle, Object object) {
  if (handle == 0) handle = next_object_++;
  if (!client.objects.emplace(handle, object).second)
    return misuse(kDuplicateName, "a handle that the client has already");
  return kOk;
}

std::uint32_t FakeResourceManager::alloc_device(Client& client, Alloc& request) {
  if (request.parent != request.root)
    return misuse(kInvalidObjectParent, "ALLOC of a device under something else than the client");
  if (request.parameters_bytes != sizeof(DeviceParameters) || request.parameters == 0)
    return misuse(kInvalidParameterStruct, "ALLOC of a device with parameters of another size");
  const auto& parameters = *reinterpret_cast<const DeviceParameters*>(request.parameters);
  for (const Card& card : cards_) {
    if (card.instance != parameters.device_instance) continue;
    for (const auto& [handle, object] : client.objects)
      if (!object.is_memory && object.object_class == Class::device && object.card == &card)
        return misuse(kStateInUse, "ALLOC of a device that the client has already");
    return add(client, request.object,
               {.object_class = Class::device, .parent = request.root, .card = &card});
  }
  return misuse(kInvalidDevice, "ALLOC of a device that isn't there");
}

std::uint32_t FakeResourceManager::alloc_subdevice(Client& client, Alloc& request) {
  const Object* const device = device_of(client, request.parent);
  if (device == nullptr)
    return misuse(kInvalidObjectParent, "ALLOC of a subdevice under something else than a device");
  if (request.parameters_bytes != sizeof(SubdeviceParameters) || request.parameters == 0)
    return misuse(kInvalidParameterStruct, "ALLOC of a subdevice with parameters of another size");
  return add(client, request.object,
             {.object_class = Class::subdevice, .parent = request.parent, .card = device->card});
}

std::uint32_t FakeResourceManager::control(int descriptor, const Control& request) {
  Client* const client = client_of(descriptor, request.client);
  if (client == nullptr) return kInvalidClient;
  const auto command = static_cast<Command>(request.command);
  const bool on_client = request.object == request.client;
  if (command == Command::fb_get_info) return fb_info(request, *client);
  if (command == Command::memory_get_surface_info) return surface_info(request, *client);
  if (!on_client) return misuse(kInvalidObjectHandle, "CONTROL of the client on another object");
  if (command == Command::gpu_get_id_info) return id_info(request);
  if (command == Command::import_objects_from_descriptor) return import(request, *client);
  return misuse(kInvalidCommand, "CONTROL with an unknown command");
}

std::uint32_t FakeResourceManager::id_info(const Control& request) {
  auto* const info = parameters_of<GpuIdInfo>(request);
  if (info == nullptr) return misuse(kInvalidParameterStruct, "GPU_GET_ID_INFO of another size");
  const Card* const card = card_with(info->gpu_id);
  if (card == nullptr) return misuse(kInvalidArgument, "GPU_GET_ID_INFO of an unknown GPU");
  info->device_instance = card->instance;
  info->subdevice_instance = 0;
  info->gpu_instance = static_cast<std::uint32_t>(card->ordinal);
  info->numa_node = -1;
  return kOk;
}

std::uint64_t FakeResourceManager::free_bar1_bytes() const {
  std::uint64_t free_bytes = std::uint64_t{settings.bar1_mib} << 20;
  for (const auto& [address, mapping] : mappings_) free_bytes -= mapping.length;
  return free_bytes;
}

std::uint32_t FakeResourceManager::fb_info(const Control& request, const Client& client) {
  const auto object = client.objects.find(request.object);
  if (object == client.objects.end() || object->second.is_memory ||
      object->second.object_class != Class::subdevice)
    return misuse(kInvalidObjectHandle, "FB_GET_INFO of something else than a subdevice");
  auto* const info = parameters_of<InfoList>(request);
  if (info == nullptr) return misuse(kInvalidParameterStruct, "FB_GET_INFO of another size");
  auto* const entries = reinterpret_cast<InfoEntry*>(info->entries);
  for (std::uint32_t index = 0; index < info->num_entries; ++index) {
    if (entries[index].index == kFbInfoBar1Size) {
      entries[index].value = settings.bar1_mib * 1024;
    } else if (entries[index].index == kFbInfoBar1Available) {
      entries[index].value = static_cast<std::uint32_t>(free_bar1_bytes() / 1024);
    } else {
      return misuse(kInvalidArgument, "FB_GET_INFO with an unknown index");
    }
  }
  return kOk;
}

std::uint32_t FakeResourceManager::surface_info(const Control& request, const Client& client) {
  const auto object = client.objects.find(request.object);
  if (object == client.objects.end() || !object->second.is_memory)
    return misuse(kInvalidObjectHandle, "GET_SURFACE_INFO of what isn't memory");
  auto* const info = parameters_of<InfoList>(request);
  if (info == nullptr) return misuse(kInvalidParameterStruct, "GET_SURFACE_INFO of another size");
  const std::uint64_t size_bytes = object->second.size_bytes;
  auto* const entries = reinterpret_cast<InfoEntry*>(info->entries);
  for (std::uint32_t index = 0; index < info->num_entries; ++index) {
    if (entries[index].index == kSurfaceInfoSizeLow) {
      entries[index].value = static_cast<std::uint32_t>(size_bytes);
    } else if (entries[index].index == kSurfaceInfoSizeHigh) {
      entries[index].value = static_cast<std::uint32_t>(size_bytes >> 32U);
    } else if (entries[index].index == kSurfaceInfoAddressSpace) {
      entries[index].value = static_cast<std::uint32_t>(AddressSpace::video);
    } else {
      return misuse(kInvalidArgument, "GET_SURFACE_INFO with an unknown index");
    }
  }
  return kOk;
}

std::uint32_t FakeResourceManager::import(const Control& request, Client& client) {
  auto* const import = parameters_of<ImportObjects>(request);
  if (import == nullptr) return misuse(kInvalidParameterStruct, "IMPORT_OBJECTS of another size");
  const Object* const device = device_of(client, import->parent);
  if (device == nullptr) return misuse(kInvalidObjectParent, "IMPORT_OBJECTS without a device");
  if (import->num_objects != 1 || import->first_index != 0)
    return misuse(kInvalidArgument, "IMPORT_OBJECTS of more than one");
  struct stat facts{};
  if (fstat(import->descriptor, &facts) != 0 || !S_ISREG(facts.st_mode))
    return misuse(kInvalidArgument, "IMPORT_OBJECTS of what isn't exported memory");
  const int file = fcntl(import->descriptor, F_DUPFD_CLOEXEC, 0);
  const std::uint32_t status = add(client, import->objects[0],
                                   {.is_memory = true,
                                    .parent = import->parent,
                                    .card = device->card,
                                    .file = file,
                                    .size_bytes = static_cast<std::uint64_t>(facts.st_size)});
  if (status != kOk) ::close(file);
  import->types[0] = 1;
  return status;
}

std::uint32_t FakeResourceManager::dup(int descriptor, DupObject& request) {
  Client* const client = client_of(descriptor, request.client);
  if (client == nullptr) return kInvalidClient;
  const Object* const device = device_of(*client, request.parent);
  if (device == nullptr) return misuse(kInvalidObjectParent, "DUP_OBJECT without a device");
  if (request.source_client >> 16 != kEmulatedClientPrefix)
    return misuse(kInvalidClient, "DUP_OBJECT from a client that isn't CUDA's");
  std::size_t size_bytes = 0;
  const int file = object_file_(request.source_object, &size_bytes);
  if (file < 0) return kObjectNotFound;  // not misuse: what looks like a number may be none
  const std::uint32_t status = add(*client, request.object,
                                   {.is_memory = true,
                                    .parent = request.parent,
                                    .card = device->card,
                                    .file = file,
                                    .size_bytes = size_bytes});
  if (status != kOk) ::close(file);
  return status;
}

std::uint32_t FakeResourceManager::map_memory(int descriptor, MapMemory& request) {
  Client* const client = client_of(descriptor, request.client);
  if (client == nullptr) return kInvalidClient;
  const auto memory = client->objects.find(request.memory);
  if (memory == client->objects.end() || !memory->second.is_memory)
    return misuse(kInvalidObjectHandle, "MAP_MEMORY of what isn't memory");
  if (request.device != memory->second.parent)
    return misuse(kInvalidDevice, "MAP_MEMORY with another device than the memory's");
  const auto file = device_files_.find(request.descriptor);
  if (file == device_files_.end())
    return misuse(kInvalidArgument, "MAP_MEMORY with a file that isn't a GPU's");
  if (file->second.card != memory->second.card)
    return misuse(kInvalidArgument, "MAP_MEMORY with another GPU's file");
  if (file->second.control_descriptor != descriptor)
    return misuse(kInvalidArgument, "MAP_MEMORY with a file that isn't registered");
  if (file->second.pending_address != 0)
    return misuse(kStateInUse, "MAP_MEMORY with a file that has a mapping already");
  if (request.offset % kPageBytes != 0 || request.length % kPageBytes != 0 || request.length == 0)
    return misuse(kInvalidArgument, "MAP_MEMORY of parts of pages");
  if (request.offset + request.length > memory->second.size_bytes)
    return misuse(kInvalidLimit, "MAP_MEMORY beyond the end of the memory");
  if (request.length > free_bar1_bytes()) return kInsufficientResources;
  request.address = next_address_;
  next_address_ += request.length;
  file->second.pending_address = request.address;
  mappings_[request.address] = {request.client,
                                request.device,
                                request.memory,
                                request.descriptor,
                                static_cast<off_t>(request.offset),
                                request.length};
  return kOk;
}

std::uint32_t FakeResourceManager::unmap_memory(int descriptor, const UnmapMemory& request) {
  if (client_of(descriptor, request.client) == nullptr) return kInvalidClient;
  const auto found = mappings_.find(request.address);
  if (found == mappings_.end() || found->second.client != request.client ||
      found->second.memory != request.memory || found->second.device != request.device)
    return misuse(kObjectNotFound, "UNMAP_MEMORY of what isn't mapped");
  if (mapping_of(found->second.descriptor, 0) != nullptr)
    complain(0, "UNMAP_MEMORY of what the process still has mapped");
  mappings_.erase(found);
  return kOk;
}

void FakeResourceManager::drop(Client& client, Handle handle) {
  const auto found = client.objects.find(handle);
  if (found->second.file >= 0) ::close(found->second.file);
  client.objects.erase(found);
}

std::uint32_t FakeResourceManager::free(int descriptor, const Free& request) {
  Client* const client = client_of(descriptor, request.root);
  if (client == nullptr) return kInvalidClient;
  const auto found = client->objects.find(request.object);
  if (found == client->objects.end())
    return misuse(kInvalidObjectHandle, "FREE of what the client doesn't have");
  if (found->second.parent != request.parent)
    return misuse(kInvalidObjectParent, "FREE under another parent");
  for (const auto& [handle, object] : client->objects)
    if (object.parent == request.object)
      return misuse(kStateInUse, "FREE of what other objects are under");
  for (const auto& [address, mapping] : mappings_)
    if (mapping.client == request.root && mapping.memory == request.object)
      return misuse(kStateInUse, "FREE of memory that is mapped");
  drop(*client, request.object);
  return kOk;
}

}  // namespace isthmus::window::fakes
