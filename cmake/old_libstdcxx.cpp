// Lets libraries run with the libstdc++ of GCC 11: see ISTHMUS_OLD_LIBSTDCXX in CMakeLists.txt.
//
// std::condition_variable::wait got another version in GCC 12. Every older libstdc++ has it by the
// version that is asked for here. GCC 12's and newer ones export both.
extern "C" {

// The linker sends the calls of std::condition_variable::wait here (--wrap). The names are those of
// the C++ interface: a member function takes its object as the first argument.
void isthmus_old_condition_variable_wait(void* condition, void* lock);
__asm__(
    ".symver isthmus_old_condition_variable_wait,"
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");

void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(void* condition, void* lock);
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(void* condition, void* lock) {
  isthmus_old_condition_variable_wait(condition, lock);
}
}
