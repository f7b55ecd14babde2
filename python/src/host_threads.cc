// GNU OpenMP's entry points, found in the process, behind host_threads.h.
#include "host_threads.h"

#include <dlfcn.h>
#include <portacl/portacl.h>

#include <cstring>
#include <utility>

namespace portacl_python {
namespace {

thread_local int32_t threads_of_call = 0;

// The function that compilers call for `#pragma omp parallel` (part of libgomp's ABI), and two of
// OpenMP's own.
struct OpenMp {
  void (*parallel)(void (*body)(void*), void* data, unsigned num_threads, unsigned flags);
  int (*max_threads)();
  int (*thread_num)();
  int (*num_threads)();
};
OpenMp open_mp = {};  // set once, before the pool that uses it is lent

struct Team {
  void (*task)(void* context, int32_t index);
  void* context;
  int32_t count;
};

// The body of each thread of a team. The team may be smaller than it was asked to be.
void RunMember(void* data) {
  const Team& team = *static_cast<const Team*>(data);
  const int32_t step = open_mp.num_threads();
  for (int32_t i = open_mp.thread_num(); i < team.count; i += step) team.task(team.context, i);
}

// The team is as large as in PyTorch's own loops, even with fewer tasks. If a team were smaller
// than the team before, libgomp would end threads, and make new ones for the next team.
void RunOnOpenMp(void* /*host*/, int32_t count, void (*task)(void*, int32_t), void* context) {
  Team team = {task, context, count};
  const bool larger = count > open_mp.max_threads();
  open_mp.parallel(RunMember, &team, larger ? static_cast<unsigned>(count) : 0, 0);
}

int32_t ThreadsOfOpenMp(void* /*host*/) {
  return threads_of_call > 0 ? threads_of_call : open_mp.max_threads();
}

int32_t ThreadsOfThisCall(void* /*host*/) { return threads_of_call; }

template <class Function>
bool Find(void* user, const char* name, Function* function) {
  // In the order in which the loader binds the user's own calls: preloaded libraries come first.
  void* found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) found = dlsym(user, name);
  std::memcpy(function, &found, sizeof found);
  return found != nullptr;
}

// File name, without folders, of the library that has the function.
template <class Function>
std::string HomeOf(Function function) {
  Dl_info info = {};
  void* address = nullptr;
  std::memcpy(&address, &function, sizeof address);
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "an unknown library";
  const char* slash = std::strrchr(info.dli_fname, '/');
  return slash == nullptr ? info.dli_fname : slash + 1;
}

}  // namespace

std::string LendOpenMpThreads(const std::string& user, const std::string& name) {
  // Never closed: the pool calls its functions.
  void* library = dlopen(user.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return user + " is not loaded";
  OpenMp found = {};
  if (!Find(library, "GOMP_parallel", &found.parallel) ||
      !Find(library, "omp_get_max_threads", &found.max_threads) ||
      !Find(library, "omp_get_thread_num", &found.thread_num) ||
      !Find(library, "omp_get_num_threads", &found.num_threads)) {
    return "its OpenMP is not libgomp";
  }
  // Others (libiomp5, libomp) have these names too, and other habits.
  const std::string home = HomeOf(found.parallel);
  if (home.rfind("libgomp", 0) != 0 || HomeOf(found.max_threads) != home) {
    return "its OpenMP is " + home + ", not libgomp";
  }
  open_mp = found;
  portaclThreadPool pool = {};
  pool.numThreads = ThreadsOfOpenMp;
  pool.run = RunOnOpenMp;
  pool.name = name.c_str();
  return portaclSetThreadPool(&pool) == PORTACL_OK ? "" : portaclGetErrorMessage();
}

int32_t LendNumberOfThreads(const std::string& name) {
  portaclThreadPool pool = {};
  pool.numThreads = ThreadsOfThisCall;
  pool.name = name.c_str();
  return portaclSetThreadPool(&pool);
}

ThreadsOfCall::ThreadsOfCall(int32_t threads) : outer_(std::exchange(threads_of_call, threads)) {}
ThreadsOfCall::~ThreadsOfCall() { threads_of_call = outer_; }

}  // namespace portacl_python
