#pragma once

#include <string>

#include "compiler/base/error.h"

namespace msc {

/// Returns the message of the `Error` that `f` throws, or "no error". Other exceptions propagate.
template <class Error = UserError, class F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace msc
