/* What the shared library exports is marked with ISTHMUS_API. Everything else in it is hidden, and
 * so is what an exported class keeps for the library itself: ISTHMUS_HIDDEN. */
#ifndef ISTHMUS_EXPORT_H
#define ISTHMUS_EXPORT_H

#if defined(__GNUC__)
#define ISTHMUS_API __attribute__((visibility("default")))
#define ISTHMUS_HIDDEN __attribute__((visibility("hidden")))
#else
#define ISTHMUS_API
#define ISTHMUS_HIDDEN
#endif

#endif
