// One object for each thread, usable at any moment in the life of the thread and the process.
#ifndef PORTACL_BASE_PER_THREAD_H_
#define PORTACL_BASE_PER_THREAD_H_

#include <pthread.h>

#include <new>

#include "base/fork.h"

// Puts a variable into the memory that a thread is started with, so reading it allocates nothing.
// The usual model of a shared library would end the process if memory has run out.
#define PORTACL_STARTS_WITH_THREAD [[gnu::tls_model("initial-exec")]]

namespace portacl::base {

// A thread_local object with a destructor ends before atexit handlers and the destructors of static
// and other thread_local objects run. These may still call the library. PerThread makes its object
// at the first use, at any time. The object ends with its thread, after all of them. On the thread
// that ends the process it never ends.
template <class T>
class PerThread {
 public:
  // Returns the calling thread's object; null if there is no memory for it.
  static T* Get() noexcept {
    if (object_ == nullptr) object_ = Make();
    return object_;
  }

  // Returns the object, or null if Get() has not made it.
  static T* Find() noexcept { return object_; }

 private:
  // Makes one key for all threads. Its destructor (End) ends the object of a thread that ends.
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
    object_ = nullptr;  // the destructor may call the library: it gets a new object then
    delete static_cast<T*>(object);
  }

  inline static pthread_key_t key_ = 0;
  inline static bool have_key_ = false;
  PORTACL_STARTS_WITH_THREAD inline static thread_local T* object_ = nullptr;
};

}  // namespace portacl::base

#endif  // PORTACL_BASE_PER_THREAD_H_
