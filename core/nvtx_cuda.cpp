#include <nvtx3/nvToolsExt.h>

#include <string>

#include "chatty/core/nvtx.h"

namespace chatty::nvtx {

std::atomic<int> attached{0};

namespace {

/// Null without a profiler; then no range is opened.
nvtxDomainHandle_t Domain() {
  static const nvtxDomainHandle_t domain = [] {
    const nvtxDomainHandle_t made = nvtxDomainCreateA("chatty");
    attached.store(made != nullptr ? 1 : -1, std::memory_order_relaxed);
    return made;
  }();
  return domain;
}

/// The name without its argument places (#): the profiler shows the first argument as the payload. Registered once and never
/// freed.
nvtxStringHandle_t Register(nvtxDomainHandle_t domain, const char* name) {
  auto* const text = new std::string;
  for (; *name != '\0'; ++name) {
    if (*name == '#') continue;
    if (*name != ' ' || (!text->empty() && text->back() != ' ')) *text += *name;
  }
  while (!text->empty() && text->back() == ' ') text->pop_back();
  return nvtxDomainRegisterStringA(domain, text->c_str());
}

}  // namespace

void PushRange(Handle& handle, const char* name, std::uint32_t category, const char* category_name, std::uint64_t payload) {
  const nvtxDomainHandle_t domain = Domain();
  if (domain == nullptr) return;
  void* text = handle.load(std::memory_order_acquire);
  if (text == nullptr) {  // several threads may register a name; the profiler gives all the same handle
    nvtxDomainNameCategoryA(domain, category, category_name);
    text = Register(domain, name);
    handle.store(text, std::memory_order_release);
  }
  nvtxEventAttributes_t range = {};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.category = category;
  range.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  range.payload.ullValue = payload;
  range.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  range.message.registered = static_cast<nvtxStringHandle_t>(text);
  nvtxDomainRangePushEx(domain, &range);
}

void PopRange() {
  if (const nvtxDomainHandle_t domain = Domain(); domain != nullptr) nvtxDomainRangePop(domain);
}

}  // namespace chatty::nvtx
