// The handler of guard mode, which explains faults.
#ifndef PORTACL_RUNTIME_GUARD_FAULT_H_
#define PORTACL_RUNTIME_GUARD_FAULT_H_

namespace portacl::runtime {

// Once a process. Earlier handlers of SIGSEGV and SIGBUS get the signal afterwards.
void InstallFaultHandler();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_GUARD_FAULT_H_
