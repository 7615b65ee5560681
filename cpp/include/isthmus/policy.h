/* A migration policy of your own for `isthmus sim`: what moves to the GPU, and what leaves it.
 *
 *     static uint32_t on_access(void* state, const isthmus_access* access, isthmus_span* spans,
 *                               uint32_t room) {
 *       spans[0].offset_bytes = access->offset_bytes; // its unit
 *       spans[0].length_bytes = access->length_bytes;
 *       return 1;
 *     }
 *     ISTHMUS_POLICY const isthmus_policy_table* isthmus_policy(void) {
 *       static isthmus_policy_table table = {ISTHMUS_POLICY_VERSION};
 *       table.on_access = on_access;
 *       return &table;
 *     }
 *
 *     include=$(python -c 'import isthmus; print(isthmus.__path__[0] + "/include")')
 *     c++ -O2 -shared -fPIC -I$include mine.cpp -o mine.so
 *     isthmus sim run lps -p ranges -p ./mine.so --set policy.unit=4KiB
 *
 * Each run has its own state and one thread; several runs may go on at once. A function may throw a
 * std::exception: the run ends with its message. */
#ifndef ISTHMUS_POLICY_H
#define ISTHMUS_POLICY_H

#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming): the C style of type names. */

#ifdef __cplusplus
#define ISTHMUS_POLICY extern "C" __attribute__((visibility("default")))
#else
#define ISTHMUS_POLICY __attribute__((visibility("default")))
#endif

/* Changes with every change of this file: a library is built for one version. */
#define ISTHMUS_POLICY_VERSION 1U

/* The run's sizes (powers of two) and settings: `--set policy.NAME=VALUE`, each yours to use. */
typedef struct isthmus_policy_setup {
  uint64_t memory_bytes;                       /* the GPU's, for pages */
  uint32_t page_bytes, unit_bytes, line_bytes; /* unit: the least that moves; line: an access */
  uint32_t bit_bytes; /* of a bit in isthmus_access: a unit; with policy.write=validate a line */
  uint32_t gap_bytes, max_ranges, tree_threshold_percent, grow_bytes, prefetch_bytes;
  uint32_t counter_threshold, counter_bytes, max_unit_bytes;
} isthmus_policy_setup;

typedef struct isthmus_span {
  uint32_t offset_bytes, length_bytes; /* in the page */
} isthmus_span;

typedef struct isthmus_access {
  uint64_t page; /* its address / page_bytes */
  uint32_t offset_bytes, length_bytes;
  uint32_t is_write;
  uint32_t is_hit;       /* 1: the bytes are on the GPU; what you return is ignored */
  const uint64_t* asked; /* a bit for each unit on the GPU or on its way; null for a hit */
  const uint64_t* valid; /* a bit for each unit on the GPU; null for a hit */
} isthmus_access;

typedef struct isthmus_policy_table {
  uint32_t version;    /* ISTHMUS_POLICY_VERSION */
  uint32_t wants_hits; /* 1: on_access is told every access that GPU memory serves, too; one that
                        * has waited for its bytes comes twice */
  uint32_t remote;     /* 1: what on_access leaves out is served over the link; 0: an error */
  void* context;       /* passed to create */
  /* Both may be null. A run creates a state (not null) and destroys it. */
  void* (*create)(void* context, const isthmus_policy_setup* setup);
  void (*destroy)(void* state);
  /* An access to bytes that are neither on the GPU nor on their way. Writes to `spans` what is to
   * migrate, and returns how many these are, `room` (the page's units) at most. They are extended
   * to whole units; what is there or on its way isn't sent again. The access waits for them, and
   * they contain it; with `remote` they needn't, and then it is served over the link. */
  uint32_t (*on_access)(void* state, const isthmus_access* access, isthmus_span* spans,
                        uint32_t room);
  /* May be null. Bytes have arrived. */
  void (*on_arrival)(void* state, uint64_t page, isthmus_span bytes);
  /* May be null: options.eviction_kind decides. Memory is full, and `needed` pages must leave.
   * Writes numbers out of `pages`, which may leave, in the order in which they came, the best
   * victim first. Returns how many; those beyond `needed` stay. With fewer the access waits. */
  uint32_t (*victims)(void* state, const uint64_t* pages, uint32_t num_pages, uint32_t needed,
                      uint64_t* chosen);
} isthmus_policy_table;

/* Your library defines this. The table stays as it is while the library is loaded. */
ISTHMUS_POLICY const isthmus_policy_table* isthmus_policy(void);

/* NOLINTEND(readability-identifier-naming) */

#endif
