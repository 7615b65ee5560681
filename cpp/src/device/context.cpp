#include "device/context.hpp"

#include "device/cleanup.hpp"

namespace isthmus {
namespace {

CUcontext current_handle(const Driver& driver) {
  CUcontext current = nullptr;
  driver.call(symbol::ctx_get_current)(&current);
  return current;
}

bool current_is_of(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  CUdevice wanted = 0;
  driver.call(symbol::ctx_get_device)(&device);
  driver.call(symbol::device_get)(&wanted, ordinal);
  return device == wanted;
}

}  // namespace

PrimaryContext::PrimaryContext(const Driver& driver, int ordinal) : driver_(driver) {
  driver_.call(symbol::device_get)(&device_, ordinal);
  driver_.call(symbol::primary_ctx_retain)(&handle_, device_);
}

PrimaryContext::~PrimaryContext() {
  if (!in_own_process()) return;
  report_cleanup(driver_, driver_.raw(symbol::primary_ctx_release)(device_),
                 symbol::primary_ctx_release.name);
}

bool PrimaryContext::in_own_process() const noexcept { return driver_.in_own_process(); }

Context::State::State(const Driver& driver, int ordinal)
    : facts(read_device_facts(driver, ordinal)), primary(driver, ordinal) {}

Context Context::retain(const Driver& driver, int ordinal) {
  return Context(std::make_shared<const State>(driver, ordinal));
}

bool Context::is_foreign_current() const {
  CUcontext current = nullptr;
  driver().call(symbol::ctx_get_current)(&current);
  return current != nullptr && current != handle();
}

std::size_t Context::free_memory_bytes() const {
  const CurrentContext current(*this);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  driver().call(symbol::mem_get_info)(&free_bytes, &total_bytes);
  return free_bytes;
}

CurrentContext::CurrentContext(const Context& context)
    : CurrentContext(context.driver(), context.handle()) {}

CurrentContext::CurrentContext(const PrimaryContext& context)
    : CurrentContext(context.driver(), context.handle()) {}

CurrentContext::CurrentContext(const Driver& driver, CUcontext context) : driver_(driver) {
  driver_.call(symbol::ctx_push_current)(context);
}

CurrentContext::~CurrentContext() {
  CUcontext popped = nullptr;
  report_cleanup(driver_, driver_.raw(symbol::ctx_pop_current)(&popped),
                 symbol::ctx_pop_current.name);
}

ContextOfDevice::ContextOfDevice(const Context& context) {
  const CUcontext current = current_handle(context.driver());
  if (current == context.handle()) return;
  if (current != nullptr && current_is_of(context.driver(), context.device().ordinal)) return;
  pushed_.emplace(context);
}

ContextOfDevice::ContextOfDevice(const Driver& driver, int ordinal) {
  if (current_handle(driver) != nullptr && current_is_of(driver, ordinal)) return;
  retained_.emplace(driver, ordinal);
  pushed_.emplace(*retained_);
}

}  // namespace isthmus
