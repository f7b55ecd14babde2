// The signal handler of guard mode, which explains faults.
#ifndef PORTACL_RUNTIME_GUARD_FAULT_H_
#define PORTACL_RUNTIME_GUARD_FAULT_H_

namespace portacl::runtime {

// Installs the handler, once per process. It passes signals on to earlier handlers.
void InstallFaultHandler();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_GUARD_FAULT_H_
