// Simulates many threads on a machine with few CPUs, for bench/scaling.py. A loop's ranges run one
// after the other, and each is timed. Simulated threads take the ranges in the order of their own
// time. Only in builds with the CMake option PORTACL_SIMULATION, never in a release.
#ifndef PORTACL_RUNTIME_SIMULATION_H_
#define PORTACL_RUNTIME_SIMULATION_H_

#include "runtime/team.h"

namespace portacl::runtime {

#if defined(PORTACL_SIMULATION)

// Returns true if portaclSimulate() has switched the simulation on.
bool Simulates();

// Simulates a region of `threads` threads: calls body(context), whose loops call RunSimulated().
void SimulateRegion(int threads, void (*body)(void*), void* context);

// Runs a loop in the simulated region. False if this thread is in no region, or in a loop of it.
bool RunSimulated(const internal::Loop& loop);

#else

constexpr bool Simulates() { return false; }
inline void SimulateRegion(int /*threads*/, void (* /*body*/)(void*), void* /*context*/) {}
constexpr bool RunSimulated(const internal::Loop& /*loop*/) { return false; }

#endif

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_SIMULATION_H_
