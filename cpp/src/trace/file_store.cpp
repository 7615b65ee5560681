#include "trace/file_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <isthmus/errors.hpp>

namespace isthmus::trace {

FileStore::FileStore(std::string label, int descriptor)
    : label_(std::move(label)), descriptor_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {
  if (descriptor_ >= 0) return;
  throw UsageError(label_ + ": " + std::generic_category().message(errno));
}

FileStore::~FileStore() { close(descriptor_); }

void FileStore::read(std::uint64_t offset_bytes, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count =
        pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw UsageError(label_ + ": " + std::generic_category().message(errno));
    if (count == 0) throw UsageError(label_ + " has become shorter while it was read");
    offset_bytes += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace isthmus::trace
