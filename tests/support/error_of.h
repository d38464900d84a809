#pragma once

#include <string>

#include "compiler/base/error.h"

namespace msc {

/// What the error that `f` ends with says; "no error" where it ends without. Other errors go on.
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
