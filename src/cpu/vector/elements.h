// Files that compile for long are compiled twice, each time for two of the four element types
// (PORTACL_SPLIT_BY_ELEMENT in cmake/library.cmake). Such a file ends with
//
//   // Not in an anonymous namespace.
//   template <class T> void RunElements(const Params&, ...) { ... }
//   #define PORTACL_RUN(T) void RunElements<T>(const Params&, ...)
//   PORTACL_OF_ELEMENTS(PORTACL_RUN);
//   #if PORTACL_FIRST_ELEMENTS
//   // what calls RunElements<T>, of every T
//   #endif
#ifndef PORTACL_CPU_ELEMENTS_H_
#define PORTACL_CPU_ELEMENTS_H_

#include "base/half.h"

#ifdef PORTACL_ELEMENTS_OF_16_BITS
#define PORTACL_FIRST_ELEMENTS 0
#define PORTACL_OF_ELEMENTS(Declaration)          \
  extern template Declaration(float);             \
  extern template Declaration(double);            \
  template Declaration(::portacl::base::Float16); \
  template Declaration(::portacl::base::BFloat16)
#else
#define PORTACL_FIRST_ELEMENTS 1
#define PORTACL_OF_ELEMENTS(Declaration)                 \
  template Declaration(float);                           \
  template Declaration(double);                          \
  extern template Declaration(::portacl::base::Float16); \
  extern template Declaration(::portacl::base::BFloat16)
#endif

#endif  // PORTACL_CPU_ELEMENTS_H_
