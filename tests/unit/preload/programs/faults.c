// Makes calls of a replaced copy fail, one at a time: the driver's, then the system's. Says what the
// program saw of it, for the test to compare with what it must be.
#include "driver.h"

enum { BYTES = LONG, GUARD = 4096 };

typedef int (*Arm)(const char*, int, const char*);
typedef int (*Disarm)(void);

static CUdeviceptr device;
static unsigned char* source;
static unsigned char* target;
static unsigned seed;

/// Whether a copy there and back gives its bytes, and touches nothing else. The result of both.
static int copies(CUresult* up, CUresult* down) {
  ++seed;
  for (size_t i = 0; i < BYTES; ++i) source[i] = (unsigned char)(i * 7 + i / 253 + seed);
  memset(target, 0xee, BYTES + 2 * GUARD);
  *up = cuMemcpyHtoDAsync(device + GUARD, source, BYTES, NULL);
  *down = cuMemcpyDtoH(target + GUARD, device + GUARD, BYTES);
  int is_right = memcmp(source, target + GUARD, BYTES) == 0;
  for (size_t i = 0; i < GUARD; ++i)
    is_right = is_right && target[i] == 0xee && target[GUARD + BYTES + i] == 0xee;
  return is_right;
}

static void tell(const char* call, int nth) {
  CUresult up;
  CUresult down;
  int is_right = copies(&up, &down);
  printf("%s %d: %d %d %s\n", call, nth, (int)up, (int)down, is_right ? "right" : "WRONG");
}

static IsthmusEmulatorLive before;
static void require_no_leak(const char* call, int nth) {
  IsthmusEmulatorLive now = isthmus_emulator_live();
  if (memcmp(&before, &now, sizeof now) != 0)
    printf("%s %d: LEAK: %zu contexts, %zu streams, %zu events, %zu pinned, %zu registered\n", call,
           nth, now.contexts, now.streams, now.events, now.pinned_bytes, now.registered_ranges);
}

/// The functions that a warm pair of copies calls, each with how often.
static int read_calls(char names[64][64], int counts[64]) {
  CUresult ignored;
  isthmus_emulator_log_calls(1);
  copies(&ignored, &ignored);
  isthmus_emulator_log_calls(0);
  size_t bytes = isthmus_emulator_call_log(NULL, 0);
  char* log = malloc(bytes);
  isthmus_emulator_call_log(log, bytes);
  int number = 0;
  for (char* line = strtok(log, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    line[strcspn(line, " ")] = '\0';
    int i = 0;
    while (i < number && strcmp(names[i], line) != 0) ++i;
    if (i == number) strcpy(names[number++], line), counts[i] = 0;
    ++counts[i];
  }
  return number;
}

static void of_driver(void) {
  char names[64][64];
  int counts[64];
  int number = read_calls(names, counts);
  before = isthmus_emulator_live();
  for (int i = 0; i < number; ++i)
    for (int nth = 1; nth <= counts[i]; ++nth) {
      isthmus_emulator_fail_call(names[i], nth, CUDA_ERROR_UNKNOWN);
      tell(names[i], nth);
      isthmus_emulator_reset();
      // What a call doesn't give back is lost, whoever makes it.
      if (strcmp(names[i], "cuEventDestroy") == 0) before = isthmus_emulator_live();
      require_no_leak(names[i], nth);
    }
  tell("none", 0);
}

/// The nth call of one kind in the first copy of all, which opens the engine.
static void at_first(const char* call, int nth) {
  isthmus_emulator_fail_call(call, nth, CUDA_ERROR_UNKNOWN);
  tell(call, nth);
  int left = isthmus_emulator_reset();
  printf("left %d\n", left);
  tell("none", 0);
}

static void of_system(const char* kind, int nth) {
  Arm arm = (Arm)dlsym(RTLD_DEFAULT, "isthmus_system_faults_arm");
  Disarm disarm = (Disarm)dlsym(RTLD_DEFAULT, "isthmus_system_faults_disarm");
  const char* counted = "libisthmus_exec libisthmus_watch";
  if (nth == 0) {
    tell("warm", 0);
    for (nth = 1;; ++nth) {
      arm(kind, nth, counted);
      tell(kind, nth);
      if (disarm() < nth) break;
    }
  } else {
    void* engine = dlopen(getenv("ISTHMUS_EXEC_LIBRARY"), RTLD_NOW | RTLD_LOCAL);  // to be counted
    if (engine == NULL || arm == NULL || arm(kind, nth, counted) != 0) _exit(8);
    tell(kind, nth);
    printf("calls %d\n", disarm());
  }
  tell("none", 0);
}

int main(int argc, char** argv) {
  begin();
  device = device_memory(BYTES + 2 * GUARD);
  source = malloc(BYTES);
  target = malloc(BYTES + 2 * GUARD);
  if (strcmp(argv[1], "driver") == 0) {
    tell("warm", 0);
    of_driver();
  } else if (strcmp(argv[1], "first") == 0) {
    at_first(argv[2], atoi(argv[3]));
  } else if (strcmp(argv[1], "names") == 0) {
    char names[64][64];
    int counts[64];
    int number = read_calls(names, counts);
    for (int i = 0; i < number; ++i) printf("%s %d\n", names[i], counts[i]);
  } else {
    of_system(argv[2], atoi(argv[3]));
  }
  return argc > 4;
}
