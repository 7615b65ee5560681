/* ISTHMUS_API marks what the shared library exports. Everything else is hidden. ISTHMUS_HIDDEN
 * hides those members of an exported class that only the library uses. */
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
