// How much of its page a request covers.
#pragma once

#include <isthmus/pages/policy.hpp>
#include <isthmus/pages/span.hpp>

namespace isthmus::pages {

/// What a policy requests when the GPU accesses `lines` of a page: those, their units, or the page.
ISTHMUS_HOST_DEVICE inline Span asked_for(const MigrationPolicy& policy, Span lines) {
  if (policy.kind == PolicyKind::whole_page) return {0, policy.page_bytes};
  const bool may_be_lines =
      policy.kind == PolicyKind::single_range || policy.kind == PolicyKind::ranges;
  if (may_be_lines && policy.request == RequestedLength::line) return lines;
  return aligned(lines, policy.unit_bytes);
}

/// `asked` and the prefetch_bytes behind it, up to the end of the page.
ISTHMUS_HOST_DEVICE inline Span with_following(const MigrationPolicy& policy, Span asked) {
  const std::uint32_t room_bytes = policy.page_bytes - asked.end_bytes();
  const std::uint32_t more_bytes =
      policy.prefetch_bytes < room_bytes ? policy.prefetch_bytes : room_bytes;
  return {asked.offset_bytes, asked.length_bytes + more_bytes};
}

}  // namespace isthmus::pages
