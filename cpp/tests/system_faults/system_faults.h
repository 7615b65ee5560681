/* Makes the system refuse what a program asks of it: memory, threads, mappings, files. For tests.
 *
 * A library that a program is linked with before any other, or that is preloaded (LD_PRELOAD); the
 * functions below are found by dlsym then. Only calls from the modules that are named count: a
 * driver's own are left alone. */
#ifndef ISTHMUS_SYSTEM_FAULTS_H
#define ISTHMUS_SYSTEM_FAULTS_H

#ifdef __cplusplus
extern "C" {
#endif

/* The nth next call (1 = the very next) of a kind is refused, once.
 *
 * kind     "new" (operator new), "thread" (pthread_create), "mmap", "mlock", "open", "write",
 *          "fsync", "rename"
 * modules  parts of the names of the libraries whose calls count, with a space between; "main" is
 *          the program itself
 * Returns 0, or -1 if there is no such kind. */
int isthmus_system_faults_arm(const char* kind, int nth, const char* modules);

/* Refuses nothing any more. Returns how many calls of the kind there were until one was refused:
 * `nth`, or fewer if none was. */
int isthmus_system_faults_disarm(void);

#ifdef __cplusplus
}
#endif
#endif
