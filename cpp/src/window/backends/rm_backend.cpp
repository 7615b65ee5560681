// Windows through our own client of the resource manager: it takes a second reference to the memory
// behind CUDA's pointer, and maps it.
#include <unistd.h>

#include <isthmus/errors.hpp>

#include "window/backend.hpp"
#include "window/backends/device_files.hpp"
#include "window/backends/rm_client.hpp"
#include "window/backends/rm_memory.hpp"
#include "window/backends/rm_search.hpp"
#include "window/backends/rm_versions.hpp"
#include "window/host_pages.hpp"

namespace isthmus::window {
namespace {

// The object behind a buffer, and the offset of the requested pages in it.
struct ObjectPages {
  std::unique_ptr<rm::OwnedObject> object;
  std::uint64_t offset_bytes = 0;
  bool shared = false;
  FoundBy found_by = FoundBy::ipc_handle;
};

class RmPages : public PageMapping {
public:
  RmPages(MappingSteps steps, ObjectPages pages, std::unique_ptr<rm::MappedObject> mapped)
      : PageMapping(std::move(steps), pages.found_by),
        object_(std::move(pages.object)),
        mapped_(std::move(mapped)) {
    data_ = mapped_->data();
    size_bytes_ = mapped_->size_bytes();
    shared_ = pages.shared;
  }
  ~RmPages() override {
    steps_.time(Step::unmap, [this] { mapped_.reset(); });
    steps_.time(Step::unpin, [this] { object_.reset(); });
  }

private:
  std::unique_ptr<rm::OwnedObject> object_;
  std::unique_ptr<rm::MappedObject> mapped_;
};

class RmBackend : public Backend {
public:
  RmBackend(const Driver& driver, std::shared_ptr<const DeviceFiles> files)
      : driver_(driver),
        files_(std::move(files)),
        client_(std::make_shared<rm::Client>(files_)),
        search_(files_, client_),
        verdict_(rm::judge(client_->driver_version())) {}

  const rm::Verdict& verdict() const noexcept { return verdict_; }

  WindowBackend kind() const noexcept override { return WindowBackend::rm; }
  std::string description() const override { return verdict_.text; }
  std::string notice() const override {
    if (verdict_.trust == rm::Trust::tested) return {};
    return "windows use a private interface of the driver that Isthmus was not tested with (" +
           verdict_.text + "); it passed the self-test. ISTHMUS_WINDOW=off turns windows off";
  }

  std::unique_ptr<PageMapping> map(const Context& context, const Allocation& allocation,
                                   DevicePages pages, void* where) override {
    const rm::Gpu gpu = client_->gpu(context.device().pci_address);
    MappingSteps steps(files_);
    ObjectPages found =
        steps.time(Step::pin, [&] { return take_object(context, gpu, allocation, pages); });
    auto mapped = steps.time(Step::map, [&] {
      return std::make_unique<rm::MappedObject>(*found.object, found.offset_bytes, pages.size_bytes,
                                                where);
    });
    return std::make_unique<RmPages>(std::move(steps), std::move(found), std::move(mapped));
  }

private:
  ObjectPages take_object(const Context& context, const rm::Gpu& gpu, const Allocation& allocation,
                          DevicePages pages) {
    if (const auto object = rm::object_behind(driver_, allocation))
      return duplicate(gpu, allocation, *object, pages);
    // Refuses other memory before the pages are looked at: a pool's buffer may end inside a page.
    const rm::CreatedObject created(driver_, allocation);
    require_inside(pages, allocation.base, allocation.size_bytes);
    auto object = created.exportable() ? import(gpu, created)
                                       : search_.find(context, gpu, allocation, created);
    return {std::move(object), pages.begin - allocation.base, shares_pages(allocation),
            created.exportable() ? FoundBy::descriptor : FoundBy::record};
  }

  ObjectPages duplicate(const rm::Gpu& gpu, const Allocation& allocation,
                        const rm::MemoryObject& object, DevicePages pages) {
    const std::uintptr_t object_begin = allocation.base - object.offset_bytes;
    require_inside(pages, object_begin, object.size_bytes);
    auto owned = std::make_unique<rm::OwnedObject>(
        client_, gpu, client_->duplicate(gpu, object.client, object.object));
    return {std::move(owned), pages.begin - object_begin,
            object.size_bytes != allocation.size_bytes, FoundBy::ipc_handle};
  }

  std::unique_ptr<rm::OwnedObject> import(const rm::Gpu& gpu, const rm::CreatedObject& created) {
    const int descriptor = created.descriptor();
    std::unique_ptr<rm::OwnedObject> owned;
    try {
      owned = std::make_unique<rm::OwnedObject>(client_, gpu, client_->import(gpu, descriptor));
    } catch (...) {
      close(descriptor);
      throw;
    }
    close(descriptor);
    return owned;
  }

  static void require_inside(DevicePages pages, std::uintptr_t begin, std::uint64_t size_bytes) {
    if (pages.begin < begin || pages.begin + pages.size_bytes > begin + size_bytes)
      throw Unavailable("rm windows", "the pages asked for reach beyond the buffer's memory object",
                        "a window whose pages lie inside the buffer");
  }

  Driver driver_;
  std::shared_ptr<const DeviceFiles> files_;
  std::shared_ptr<rm::Client> client_;
  rm::ObjectSearch search_;
  rm::Verdict verdict_;
};

}  // namespace

std::unique_ptr<Backend> open_rm_backend(const Driver& driver,
                                         std::shared_ptr<const DeviceFiles> files,
                                         bool chosen_by_user) {
  auto backend = std::make_unique<RmBackend>(driver, std::move(files));
  if (backend->verdict().trust == rm::Trust::refused && !chosen_by_user)
    throw Unavailable("rm windows", backend->verdict().text,
                      "a tested driver, or ISTHMUS_WINDOW=rm to try it with this one");
  return backend;
}

}  // namespace isthmus::window
