// What ThreadSanitizer may not report of these tests.
#ifdef __SANITIZE_THREAD__
/// The default transfers of a process live until it ends, and so may a thread of theirs that has
/// nothing left to sweep: nobody joins it.
extern "C" [[gnu::visibility("default")]] const char*
__tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "thread:isthmus::transfer::WindowCache::add\n";
}
#endif
