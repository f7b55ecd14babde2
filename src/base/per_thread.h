// One object for each thread that may be used at any moment of the thread's and the process's life.
#ifndef PORTACL_BASE_PER_THREAD_H_
#define PORTACL_BASE_PER_THREAD_H_

#include <pthread.h>

#include <new>

#include "base/fork.h"

// The variable lies in the memory that a thread is started with, so reading it allocates nothing.
// The usual model of a shared library ends the process if memory has run out.
#define PORTACL_STARTS_WITH_THREAD [[gnu::tls_model("initial-exec")]]

namespace portacl::base {

// A thread_local object with a destructor is gone before atexit handlers and the destructors of
// static and other thread_local objects run. These may call the library. PerThread's object is made
// at its first use, at any time. It ends after all of these, with its thread (on the thread that
// ends the process: never).
template <class T>
class PerThread {
 public:
  // The calling thread's object; null if there is no memory for it.
  static T* Get() noexcept {
    if (object_ == nullptr) object_ = Make();
    return object_;
  }

  // The same, but null if Get() has not made it.
  static T* Find() noexcept { return object_; }

 private:
  // A key for all threads. Its destructor ends the objects of threads that end.
  static bool HaveKey() noexcept {
    const internal::CreationLock lock;
    if (!have_key_) have_key_ = pthread_key_create(&key_, &End) == 0;
    return have_key_;
  }

  static T* Make() noexcept {
    if (!HaveKey()) return nullptr;
    T* const made = new (std::nothrow) T;
    if (made == nullptr || pthread_setspecific(key_, made) == 0) return made;
    delete made;
    return nullptr;
  }

  static void End(void* object) {
    object_ = nullptr;  // its destructor may use the library, with a new object
    delete static_cast<T*>(object);
  }

  inline static pthread_key_t key_ = 0;
  inline static bool have_key_ = false;
  PORTACL_STARTS_WITH_THREAD inline static thread_local T* object_ = nullptr;
};

}  // namespace portacl::base

#endif  // PORTACL_BASE_PER_THREAD_H_
