// Plans of a test are made for a machine that it names, or for this one with other facts.
#ifndef PORTACL_TESTS_SUPPORT_OTHER_MACHINE_H_
#define PORTACL_TESTS_SUPPORT_OTHER_MACHINE_H_

#include "cpu/machine/machine.h"

namespace portacl_test {

// Until it goes out of scope, plans are made for this machine, whose facts may be changed.
class OtherMachine {
 public:
  explicit OtherMachine(const portacl::cpu::Machine& machine = portacl::cpu::ThisMachine())
      : before_(portacl::cpu::machine_for_tests), machine_(machine) {
    portacl::cpu::machine_for_tests = &machine_;
  }
  ~OtherMachine() { portacl::cpu::machine_for_tests = before_; }
  OtherMachine(const OtherMachine&) = delete;
  OtherMachine& operator=(const OtherMachine&) = delete;

  portacl::cpu::Machine* operator->() { return &machine_; }
  portacl::cpu::Machine& operator*() { return machine_; }

 private:
  const portacl::cpu::Machine* before_;
  portacl::cpu::Machine machine_;
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_OTHER_MACHINE_H_
