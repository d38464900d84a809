#pragma once

#include <stdexcept>
#include <string>

namespace msc {

/// Reports wrong input from the caller: a malformed model, an unknown key, a shape that does not
/// fit. The message says what to change. The program prints it and exits with 2.
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& what);
};

/// Reports a failure of the machine: a full disk, a missing permission, a missing library. Neither
/// the caller's input nor this code is at fault. The program prints it and exits with 1.
class SystemError : public std::runtime_error {
 public:
  explicit SystemError(const std::string& what);
  /// Appends the meaning of `error_number` (an errno value) to `what`.
  SystemError(const std::string& what, int error_number);
};

/// Reports a defect in this code. The message begins with the file and line of the failed check.
class InternalError : public std::logic_error {
 public:
  InternalError(const std::string& what, const char* file, int line);
};

/// Throws InternalError unless `ok`. `what` states the condition that must hold, not the failure.
void Check(bool ok, const char* what, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());

}  // namespace msc
