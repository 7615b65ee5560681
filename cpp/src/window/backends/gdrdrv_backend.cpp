// Windows through GDRCopy's kernel module, if an administrator has loaded it.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

#include <isthmus/errors.hpp>

#include "driver/forks.hpp"
#include "window/backend.hpp"
#include "window/backends/device_files.hpp"
#include "window/backends/gdrdrv_abi.hpp"
#include "window/host_pages.hpp"

namespace isthmus::window {
namespace {

using gdrdrv::MappingType;

[[noreturn]] void refuse(const std::string& why) {
  throw Unavailable("gdrdrv windows", why,
                    "GDRCopy's kernel module gdrdrv, 2.0 or later, loaded and open to this user");
}

std::string text_of(std::uint32_t version) {
  return std::to_string(gdrdrv::major_of(version)) + "." +
         std::to_string(gdrdrv::minor_of(version));
}

const char* name_of(MappingType type) {
  switch (type) {
    case MappingType::write_combined:
      return "write-combined";
    case MappingType::cached:
      return "cached";
    case MappingType::device:
      return "device memory";
    case MappingType::none:
      break;
  }
  return "unknown";
}

/// The open device file. The module knows its owner: no other process may use it.
class Module {
public:
  explicit Module(std::shared_ptr<const DeviceFiles> files) : files_(std::move(files)) {
    descriptor_ = files_->open(gdrdrv::kDeviceFile);
    if (descriptor_ == -ENOENT || descriptor_ == -ENXIO || descriptor_ == -ENODEV)
      refuse("no /dev/gdrdrv: the kernel module is not loaded");
    if (descriptor_ < 0) refuse(std::string("open of /dev/gdrdrv: ") + error_text(-descriptor_));
    close_in_children(descriptor_);
  }
  ~Module() {
    if (process_ != process_generation()) return;
    forget_descriptor(descriptor_);
    files_->close(descriptor_);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::shared_ptr<const DeviceFiles>& files() const noexcept { return files_; }
  bool is_ours() const noexcept { return process_ == process_generation(); }

  /// 0 or -errno.
  template <typename Argument>
  int ask(unsigned long request, Argument& argument) const {
    return files_->control(descriptor_, request, &argument);
  }
  /// Calls the module; throws Unavailable with the call's name if it fails.
  template <typename Argument>
  void require(unsigned long request, Argument& argument, const char* name) const {
    const int result = ask(request, argument);
    if (result < 0) refuse(std::string(name) + " of gdrdrv: " + error_text(-result));
  }
  void* map(std::uint64_t handle, std::size_t size_bytes, void* where) const {
    const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    void* mapped = nullptr;
    const int result = files_->map(where, size_bytes, descriptor_,
                                   static_cast<off_t>(handle * page_bytes), &mapped);
    if (result < 0) refuse(std::string("mmap of /dev/gdrdrv: ") + error_text(-result));
    return mapped;
  }

private:
  std::shared_ptr<const DeviceFiles> files_;
  int descriptor_ = -1;
  std::uint64_t process_ = process_generation();
};

/// Whole GPU pages, held by the module. One pin can be mapped once.
class Pin {
public:
  Pin(std::shared_ptr<const Module> module, DevicePages pages) : module_(std::move(module)) {
    gdrdrv::PinBuffer request{};
    request.address = pages.begin;
    request.size_bytes = pages.size_bytes;
    module_->require(gdrdrv::kPinBuffer, request, "PIN_BUFFER");
    handle_ = request.handle;
  }
  ~Pin() {
    if (!module_->is_ours()) return;
    gdrdrv::UnpinBuffer request{handle_};
    // The module frees the rest when its file is closed, so an error here doesn't matter.
    module_->ask(gdrdrv::kUnpinBuffer, request);
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

  const Module& module() const noexcept { return *module_; }
  std::uint64_t handle() const noexcept { return handle_; }

private:
  std::shared_ptr<const Module> module_;
  std::uint64_t handle_ = 0;
};

/// The mapping of a pin. It begins at the pin, which may be before the requested pages.
class GdrdrvPages : public PageMapping {
public:
  GdrdrvPages(std::shared_ptr<const Module> module, DevicePages pages, void* where, bool shared)
      : PageMapping(MappingSteps(module->files()), FoundBy::pinned_pages),
        head_bytes_(pages.begin % gdrdrv::kGpuPageBytes),
        mapped_bytes_(head_bytes_ + pages.size_bytes) {
    steps_.time(Step::pin,
                [&] { pin_ = std::make_unique<Pin>(std::move(module), whole_gpu_pages(pages)); });
    mapped_ = steps_.time(Step::map,
                          [&] { return pin_->module().map(pin_->handle(), mapped_bytes_, where); });
    // The module does this itself. It is repeated here because a child that wrote to the parent's
    // device memory would be hard to find.
    madvise(mapped_, mapped_bytes_, MADV_DONTFORK);
    data_ = static_cast<std::byte*>(mapped_) + head_bytes_;
    size_bytes_ = pages.size_bytes;
    shared_ = shared;
  }
  // Unmap before unpinning: otherwise the module would remove the pages and leave the addresses.
  ~GdrdrvPages() override {
    if (!pin_->module().is_ours()) return;
    steps_.time(Step::unmap, [this] { pin_->module().files()->unmap(mapped_, mapped_bytes_); });
    steps_.time(Step::unpin, [this] { pin_.reset(); });
  }

  std::uint64_t handle() const noexcept { return pin_->handle(); }

private:
  static DevicePages whole_gpu_pages(DevicePages pages) {
    const std::uintptr_t begin = pages.begin - pages.begin % gdrdrv::kGpuPageBytes;
    const std::size_t bytes = pages.begin + pages.size_bytes - begin;
    const std::size_t num_pages = (bytes + gdrdrv::kGpuPageBytes - 1) / gdrdrv::kGpuPageBytes;
    return {begin, num_pages * gdrdrv::kGpuPageBytes};
  }

  std::size_t head_bytes_;
  std::size_t mapped_bytes_;
  std::unique_ptr<Pin> pin_;
  void* mapped_ = nullptr;
};

class GdrdrvBackend : public Backend {
public:
  explicit GdrdrvBackend(std::shared_ptr<const DeviceFiles> files)
      : module_(std::make_shared<const Module>(std::move(files))) {
    gdrdrv::GetVersion version{};
    module_->require(gdrdrv::kGetVersion, version, "GET_VERSION");
    version_ = version.module;
    if (version_ < gdrdrv::kOldestVersion)
      refuse("gdrdrv is version " + text_of(version_) + "; 2.0 is the oldest that will do");
    if (version.oldest_interface > gdrdrv::kSpokenInterface)
      refuse("gdrdrv " + text_of(version_) + " asks for interface " +
             text_of(version.oldest_interface) + " or later; Isthmus speaks " +
             text_of(gdrdrv::kSpokenInterface));
    persistent_ = asks_for_persistent_mappings();
  }

  WindowBackend kind() const noexcept override { return WindowBackend::gdrdrv; }

  std::string description() const override {
    std::string text = "gdrdrv " + text_of(version_);
    if (persistent_) text += ", persistent mappings";
    const MappingType type = mapping_type_.load(std::memory_order_relaxed);
    if (type != MappingType::none) text += std::string(", ") + name_of(type);
    return text;
  }

  std::string notice() const override {
    if (version_ <= gdrdrv::kNewestKnownVersion) return {};
    return "gdrdrv " + text_of(version_) + " is newer than " +
           text_of(gdrdrv::kNewestKnownVersion) +
           ", the newest that Isthmus knows; windows use it, and test it before they do";
  }

  std::unique_ptr<PageMapping> map(const Context&, const Allocation& allocation, DevicePages pages,
                                   void* where) override {
    if (where != nullptr && pages.begin % gdrdrv::kGpuPageBytes != 0)
      refuse(
          "gdrdrv maps from multiples of 64 KiB on: it can't put pages that begin elsewhere "
          "beside others");
    auto mapping = std::make_unique<GdrdrvPages>(module_, pages, where, shares_pages(allocation));
    const MappingType type = type_of(mapping->handle());
    if (type == MappingType::none) refuse("gdrdrv took the pages back while they were mapped");
    mapping_type_.store(type, std::memory_order_relaxed);
    return mapping;
  }

private:
  bool asks_for_persistent_mappings() const {
    gdrdrv::GetAttribute question{gdrdrv::kPersistentMappings, 0};
    return version_ >= gdrdrv::kVersionWithMappingType &&
           module_->ask(gdrdrv::kGetAttribute, question) == 0 && question.value != 0;
  }

  MappingType type_of(std::uint64_t handle) const {
    if (version_ >= gdrdrv::kVersionWithMappingType) {
      gdrdrv::GetInfoV2 info{};
      info.handle = handle;
      module_->require(gdrdrv::kGetInfoV2, info, "GET_INFO_V2");
      return info.mapping_type;
    }
    gdrdrv::GetInfo info{};
    info.handle = handle;
    module_->require(gdrdrv::kGetInfo, info, "GET_INFO");
    if (info.mapped == 0) return MappingType::none;
    return info.write_combined != 0 ? MappingType::write_combined : MappingType::cached;
  }

  std::shared_ptr<const Module> module_;
  std::uint32_t version_ = 0;
  bool persistent_ = false;
  std::atomic<MappingType> mapping_type_{MappingType::none};
};

}  // namespace

// The module asks the GPU's kernel driver itself; the CUDA driver isn't involved.
std::unique_ptr<Backend> open_gdrdrv_backend(const Driver&,
                                             std::shared_ptr<const DeviceFiles> files) {
  return std::make_unique<GdrdrvBackend>(std::move(files));
}

}  // namespace isthmus::window
