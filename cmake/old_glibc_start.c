// The start of a program that runs with glibc 2.28 and newer (cmake/old_glibc.cmake). Since 2.34
// the start files leave it to the C library to run a program's constructors; an older one runs the
// function that it is handed here, as the old start files did, and a newer one takes it as well.
typedef int Main(int, char**, char**);
typedef void Begin(int, char**, char**);

extern void _init(void);
extern Begin* __init_array_start[] __attribute__((visibility("hidden")));
extern Begin* __init_array_end[] __attribute__((visibility("hidden")));

static void RunConstructors(int argc, char** argv, char** environment) {
  _init();
  for (Begin** each = __init_array_start; each != __init_array_end; ++each) {
    (*each)(argc, argv, environment);
  }
}

// The linker's --wrap calls this one in place of the C library's.
extern int __real___libc_start_main(Main* main, int argc, char** argv, Begin* init,
                                    void (*fini)(void), void (*loader)(void), void* stack);
int __wrap___libc_start_main(Main* main, int argc, char** argv, Begin* init, void (*fini)(void),
                             void (*loader)(void), void* stack) {
  if (init == 0) init = &RunConstructors;
  return __real___libc_start_main(main, argc, argv, init, fini, loader, stack);
}
