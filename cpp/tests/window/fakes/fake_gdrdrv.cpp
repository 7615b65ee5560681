#include "fake_gdrdrv.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace isthmus::window::fakes {

using gdrdrv::MappingType;

namespace {

std::uint64_t host_page_bytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

off_t offset_of(std::uint64_t handle) { return static_cast<off_t>(handle * host_page_bytes()); }

}  // namespace

int FakeGdrdrv::on_open(const std::string& path, int) {
  if (path != gdrdrv::kDeviceFile || !settings.loaded) return -ENOENT;
  process_ = getpid();
  return 0;
}

std::string FakeGdrdrv::name_of(unsigned long request, const void*) const {
  switch (request) {
    case gdrdrv::kPinBuffer:
      return "PIN_BUFFER";
    case gdrdrv::kUnpinBuffer:
      return "UNPIN_BUFFER";
    case gdrdrv::kGetInfo:
      return "GET_INFO";
    case gdrdrv::kGetInfoV2:
      return "GET_INFO_V2";
    case gdrdrv::kGetAttribute:
      return "GET_ATTR";
    case gdrdrv::kGetVersion:
      return "GET_VERSION";
    default:
      return "unknown request " + std::to_string(request);
  }
}

int FakeGdrdrv::on_control(int descriptor, unsigned long request, void* argument) {
  if (getpid() != process_) return complain(EACCES, "ioctl of another process's file");
  const bool knows_v2 = settings.version >= gdrdrv::version_of(2, 4);
  switch (request) {
    case gdrdrv::kGetVersion:
      *static_cast<gdrdrv::GetVersion*>(argument) = {settings.version, settings.oldest_interface};
      return 0;
    case gdrdrv::kGetAttribute: {
      if (!knows_v2) return complain(ENOTTY, "GET_ATTR of a module without it");
      auto& question = *static_cast<gdrdrv::GetAttribute*>(argument);
      if (question.attribute != gdrdrv::kPersistentMappings) return -EINVAL;
      question.value = settings.persistent ? 1 : 0;
      return 0;
    }
    case gdrdrv::kPinBuffer:
      return pin(descriptor, *static_cast<gdrdrv::PinBuffer*>(argument));
    case gdrdrv::kUnpinBuffer:
      return unpin(*static_cast<gdrdrv::UnpinBuffer*>(argument));
    case gdrdrv::kGetInfo:
      return describe(*static_cast<gdrdrv::GetInfo*>(argument));
    case gdrdrv::kGetInfoV2:
      if (!knows_v2) return complain(ENOTTY, "GET_INFO_V2 of a module without it");
      return describe(*static_cast<gdrdrv::GetInfoV2*>(argument));
    default:
      return complain(ENOTTY, "an ioctl that gdrdrv doesn't have");
  }
}

bool FakeGdrdrv::is_device_memory(std::uint64_t address, std::uint64_t size_bytes) const {
  unsigned type = 0;
  const auto get = driver_.raw(symbol::pointer_get_attribute);
  // A pin covers whole GPU pages, so the buffer may begin inside a page.
  for (std::uint64_t at = address; at < address + size_bytes; at += 512) {
    if (get(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) == CUDA_SUCCESS &&
        type == CU_MEMORYTYPE_DEVICE)
      return true;
  }
  return false;
}

int FakeGdrdrv::pin(int descriptor, gdrdrv::PinBuffer& request) {
  constexpr std::uint64_t kPage = gdrdrv::kGpuPageBytes;
  if (request.address == 0) return complain(EINVAL, "PIN_BUFFER of a null pointer");
  if (request.p2p_token != 0 || request.va_space != 0)
    return complain(EINVAL, "PIN_BUFFER with a token, which persistent mappings refuse");
  const std::uint64_t begin = request.address / kPage * kPage;
  const std::uint64_t end = (request.address + request.size_bytes + kPage - 1) / kPage * kPage;
  if (!is_device_memory(begin, end - begin)) return -EINVAL;
  if (request.size_bytes % kPage != 0)
    complain(0, "PIN_BUFFER of part of a page, which 2.3 and older pass on unrounded");
  request.handle = next_handle_;
  next_handle_ += (end - begin) / host_page_bytes();
  pins_[request.handle] = {descriptor, begin, end - begin, request.address - begin};
  return 0;
}

int FakeGdrdrv::unpin(const gdrdrv::UnpinBuffer& request) {
  const auto found = pins_.find(request.handle);
  if (found == pins_.end()) return complain(EINVAL, "UNPIN_BUFFER of what isn't pinned");
  if (mapping_of(found->second.descriptor, offset_of(request.handle)) != nullptr)
    complain(0, "UNPIN_BUFFER of what is still mapped");
  pins_.erase(found);
  return 0;
}

MappingType FakeGdrdrv::type_of(std::uint64_t handle, const Pin& pin) const {
  const bool mapped = !pin.taken_back && mapping_of(pin.descriptor, offset_of(handle)) != nullptr;
  return mapped ? settings.mapping_type : MappingType::none;
}

template <typename Info>
int FakeGdrdrv::describe(Info& info) const {
  const auto found = pins_.find(info.handle);
  if (found == pins_.end()) return -EINVAL;
  const Pin& pin = found->second;
  const MappingType type = type_of(info.handle, pin);
  info.address = pin.address;
  info.mapped_bytes = pin.size_bytes;
  info.page_bytes = gdrdrv::kGpuPageBytes;
  if constexpr (std::is_same_v<Info, gdrdrv::GetInfoV2>) {
    info.mapping_type = type;
  } else {
    info.mapped = type != MappingType::none ? 1 : 0;
    info.write_combined = type == MappingType::write_combined ? 1 : 0;
  }
  return 0;
}

int FakeGdrdrv::on_map(int descriptor, off_t offset, std::size_t size_bytes, Pages& pages) {
  if (getpid() != process_) return complain(EACCES, "mmap of another process's file");
  const auto found = pins_.find(static_cast<std::uint64_t>(offset) / host_page_bytes());
  if (found == pins_.end() || found->second.descriptor != descriptor)
    return complain(EINVAL, "mmap at an offset that is no pin's");
  const Pin& pin = found->second;
  if (mapping_of(descriptor, offset) != nullptr) return complain(EINVAL, "mmap of a pin, twice");
  if (pin.taken_back) return -EINVAL;
  if (pin.offset != 0) return complain(EINVAL, "mmap of a pin that begins inside a GPU page");
  if (size_bytes == 0 || size_bytes % host_page_bytes() != 0 || size_bytes > pin.size_bytes)
    return complain(EINVAL, "mmap of more than is pinned, or not of whole pages");
  pages.address = reinterpret_cast<void*>(pin.address);
  return 0;
}

// The module releases what the file's owner didn't.
void FakeGdrdrv::on_close(int descriptor) {
  if (std::erase_if(pins_, [&](const auto& pin) { return pin.second.descriptor == descriptor; }) >
      0)
    complain(0, "close of /dev/gdrdrv with pins left");
}

void FakeGdrdrv::take_back_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [handle, pin] : pins_) {
    pin.taken_back = true;
    void* const mapped = mapping_of(pin.descriptor, offset_of(handle));
    if (mapped != nullptr)
      mmap(mapped, host_page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
}

std::size_t FakeGdrdrv::num_pins() const {
  const std::lock_guard lock(mutex_);
  return pins_.size();
}

std::size_t FakeGdrdrv::pinned_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [handle, pin] : pins_) bytes += pin.size_bytes;
  return bytes;
}

}  // namespace isthmus::window::fakes
