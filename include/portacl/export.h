/**
 * @file
 * Symbol visibility, and integer constants for C and C++. Used by every public header.
 */
#ifndef PORTACL_PORTACL_EXPORT_H_
#define PORTACL_PORTACL_EXPORT_H_

/**
 * Marks a function that the shared library exports. The library is compiled with hidden visibility
 * and PORTACL_BUILDING defined; for everybody else the macro is empty.
 */
#if defined(PORTACL_BUILDING) && defined(__GNUC__)
#define PORTACL_API __attribute__((visibility("default")))
#else
#define PORTACL_API
#endif

/**
 * Defines an integer constant of the given type that works in case labels, array sizes and (in C++)
 * template arguments and `auto`. In C11 a case label takes no typed constant, so there the constant
 * is an enumerator of type int. (gnu::unused quiets clang when a header is the main file of a
 * compilation.)
 */
#ifdef __cplusplus
#define PORTACL_CONSTANT(type, name, value) [[gnu::unused]] constexpr type name = value
#else
#define PORTACL_CONSTANT(type, name, value) enum { name = value }
#endif

#endif  // PORTACL_PORTACL_EXPORT_H_
