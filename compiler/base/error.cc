#include "compiler/base/error.h"

#include <system_error>

namespace msc {

UserError::UserError(const std::string& what) : std::runtime_error(what) {}

SystemError::SystemError(const std::string& what) : std::runtime_error(what) {}

SystemError::SystemError(const std::string& what, int error_number)
    : std::runtime_error(what + ": " + std::generic_category().message(error_number)) {}

InternalError::InternalError(const std::string& what, const char* file, int line)
    : std::logic_error(std::string(file) + ":" + std::to_string(line) + ": must hold: " + what) {}

void Check(bool ok, const char* what, const char* file, int line) {
  if (!ok) throw InternalError(what, file, line);
}

}  // namespace msc
