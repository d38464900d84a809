#pragma once

#include <stdexcept>
#include <string>

namespace msc {

/// The caller gave something wrong: a malformed model, an unknown key, a shape that does not fit.
/// The text says what to change. The program prints it and exits with 2.
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& what);
};

/// The machine refused: disk full, no permission, a library that is not there. Neither the caller's
/// input nor this code is at fault. The program prints it and exits with 1.
class SystemError : public std::runtime_error {
 public:
  explicit SystemError(const std::string& what);
  /// Appends what `error_number` (an errno value) means.
  SystemError(const std::string& what, int error_number);
};

/// This code is wrong. The message starts with the place of the failed check.
class InternalError : public std::logic_error {
 public:
  InternalError(const std::string& what, const char* file, int line);
};

/// Throws InternalError unless `ok`. `what` says what must hold, not what went wrong.
void Check(bool ok, const char* what, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());

}  // namespace msc
