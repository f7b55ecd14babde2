// How many devices a process has.
#ifndef PORTACL_RUNTIME_DEVICE_NUMBER_H_
#define PORTACL_RUNTIME_DEVICE_NUMBER_H_

#include <cstdint>
#include <string_view>

namespace portacl::runtime {

constexpr int64_t kMostDevices = 64;

// The number of devices that a list such as "4,5" of a machine's devices leaves visible. As on the
// vendor's machines, they are numbered from 0 in the list's order. The list ends at the first entry
// that is no device or stands there already: "-1" leaves none. `machine` is the number of devices;
// 0 if nobody said it: the machine then has the devices that the list names.
int64_t VisibleDevices(std::string_view list, int64_t machine);

// From PORTACL_DEVICES, ASCEND_RT_VISIBLE_DEVICES and ASCEND_DEVICE_ID (the device that a program
// means to use: if nobody says how many there are, there are enough for it).
int64_t DevicesOfEnvironment();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_DEVICE_NUMBER_H_
