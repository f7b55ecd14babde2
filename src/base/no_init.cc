// Takes the place of the C library's _init and _fini in libportacl.so (see cmake/library.cmake).
extern "C" void portacl_no_init();
extern "C" void portacl_no_init() {}
