// The kinds of parameters in the list of operators, one row each:
//
//   X(Kind, Form, type in the aclnn API, type in the native API)
//
// If an API lacks a kind, its type is `void`, so a function with such a parameter does not compile.
// Forms are in operator_list.h: parameters of one form mean the same in every API, in order. The
// file includes nothing. To give the kinds the types of an API:
//
//   #define PORTACL_KIND(Kind, form, aclnn, native) using Kind = native;
//   PORTACL_KINDS(PORTACL_KIND)
#ifndef PORTACL_OPS_KINDS_H_
#define PORTACL_OPS_KINDS_H_

// Input:  a tensor that is read.
// Grid:   a tensor that is read: sampling points, not in image layout.
// Output: a tensor that is written.
// Ints:   extents or sizes; a list of integers of a graph operator.
// Sizes:  Ints that a graph operator gets as a tensor of INT32 or INT64 in host memory.
// Floats: a list of floats, also of a graph operator.
// Bools:  which outputs are wanted.
// Double, Float: a number; Float is a graph operator's too.
// Int, Int32: a whole number; Int is a graph operator's too.
// Mode:   one of the words that `symbols` lists, as its position; a string of a graph operator.
// Word:   one of the words that `symbols` lists, as text; a string of a graph operator.
// Flag:   a bool, also of a graph operator.
// Scales: one value for each spatial axis, or null for zeros.
#define PORTACL_KINDS(X)                                 \
  X(Input, Read, const aclTensor*, const portaclTensor*) \
  X(Grid, Read, const aclTensor*, const portaclTensor*)  \
  X(Output, Written, aclTensor*, const portaclTensor*)   \
  X(Ints, Ints, const aclIntArray*, const int64_t*)      \
  X(Sizes, Ints, void, void)                             \
  X(Floats, Floats, const aclFloatArray*, void)          \
  X(Bools, Bools, const aclBoolArray*, void)             \
  X(Double, Real, double, double)                        \
  X(Float, Real, float, double)                          \
  X(Int, Integer, int64_t, int64_t)                      \
  X(Int32, Integer, int32_t, int64_t)                    \
  X(Mode, Choice, int64_t, int32_t)                      \
  X(Word, Choice, const char*, int32_t)                  \
  X(Flag, Flag, bool, int32_t)                           \
  X(Scales, Reals, void, const double*)

// PORTACL_FOR_EACH(MACRO, (a, b), (c, d), ...): MACRO(a, b) MACRO(c, d) ...
// Up to 40 elements: each scan of the text makes one step.
#define PORTACL_SCAN(...) PORTACL_SCAN_3(PORTACL_SCAN_3(PORTACL_SCAN_3(__VA_ARGS__)))
#define PORTACL_SCAN_3(...) PORTACL_SCAN_2(PORTACL_SCAN_2(PORTACL_SCAN_2(__VA_ARGS__)))
#define PORTACL_SCAN_2(...) PORTACL_SCAN_1(PORTACL_SCAN_1(PORTACL_SCAN_1(__VA_ARGS__)))
#define PORTACL_SCAN_1(...) __VA_ARGS__

#define PORTACL_FOR_EACH(MACRO, ...) __VA_OPT__(PORTACL_SCAN(PORTACL_FOR_FIRST(MACRO, __VA_ARGS__)))
#define PORTACL_FOR_FIRST(MACRO, first, ...) \
  MACRO first __VA_OPT__(PORTACL_FOR_REST PORTACL_NO_ARGUMENTS(MACRO, __VA_ARGS__))
#define PORTACL_FOR_REST() PORTACL_FOR_FIRST
#define PORTACL_NO_ARGUMENTS ()

// (a, b) without its parentheses.
#define PORTACL_BARE(...) __VA_ARGS__

#endif  // PORTACL_OPS_KINDS_H_
