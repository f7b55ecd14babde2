// Simulates many threads on a machine with few CPUs, for bench/scaling.py. A loop's ranges run one
// after the other, and each is timed. Simulated threads take the ranges in the order of their own
// time. Only in builds with the CMake option PORTACL_SIMULATION, never in a release.
#ifndef PORTACL_RUNTIME_SIMULATION_H_
#define PORTACL_RUNTIME_SIMULATION_H_

#include "runtime/team.h"

namespace portacl::runtime {

#if defined(PORTACL_SIMULATION)

// Whether portaclSimulate has switched it on.
bool Simulates();

// A region of so many threads: calls body(context); the threads share its loops (RunSimulated).
void SimulateRegion(int threads, void (*body)(void*), void* context);

// False if this thread is in no such region, or inside a loop of it.
bool RunSimulated(const internal::Loop& loop);

#else

constexpr bool Simulates() { return false; }
inline void SimulateRegion(int /*threads*/, void (* /*body*/)(void*), void* /*context*/) {}
constexpr bool RunSimulated(const internal::Loop& /*loop*/) { return false; }

#endif

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_SIMULATION_H_
