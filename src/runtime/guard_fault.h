// The handler of guard mode, which explains faults.
#ifndef PORTACL_RUNTIME_GUARD_FAULT_H_
#define PORTACL_RUNTIME_GUARD_FAULT_H_

namespace portacl::runtime {

// Once a process; what handled SIGSEGV and SIGBUS before gets them afterwards.
void InstallFaultHandler();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_GUARD_FAULT_H_
