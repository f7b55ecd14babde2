/**
 * @file
 * Symbol visibility, and integer constants for C and C++. Every public header uses this file.
 */
#ifndef PORTACL_PORTACL_EXPORT_H_
#define PORTACL_PORTACL_EXPORT_H_

/**
 * Marks a function that the shared library exports. The library is compiled with hidden visibility
 * and with PORTACL_BUILDING. In programs that include the header, the macro is empty.
 */
#if defined(PORTACL_BUILDING) && defined(__GNUC__)
#define PORTACL_API __attribute__((visibility("default")))
#else
#define PORTACL_API
#endif

/**
 * Defines an integer constant of the given type. It works in case labels, array sizes and (in C++)
 * template arguments and `auto`. In C11 a case label takes no typed constant, so there the constant
 * is an enumerator of type int. (gnu::unused silences clang if a header is compiled as the main
 * file.)
 */
#ifdef __cplusplus
#define PORTACL_CONSTANT(type, name, value) [[gnu::unused]] constexpr type name = value
#else
#define PORTACL_CONSTANT(type, name, value) enum { name = value }
#endif

#endif  // PORTACL_PORTACL_EXPORT_H_
