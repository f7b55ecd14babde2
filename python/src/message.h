// The library's messages in the words of Python's users.
#ifndef PORTACL_PYTHON_MESSAGE_H_
#define PORTACL_PYTHON_MESSAGE_H_

#include <string>
#include <string_view>

namespace portacl_python {

// "gradOutput" as Python has it: "grad_output".
std::string PythonName(std::string_view name);

// The message of this thread's last refused call. Element types have NumPy's names ("float64", not
// DOUBLE), and parameters the names of PythonName().
std::string Message();

// Whether the message is about an element type: Python has TypeError for that.
bool IsAboutType(std::string_view message);

}  // namespace portacl_python

#endif  // PORTACL_PYTHON_MESSAGE_H_
