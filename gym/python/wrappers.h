#pragma once

#include <functional>
#include <memory>

#include <pybind11/pybind11.h>

#include "gym/core/env.h"

namespace msc::gym {

/// What changes an env from the outside. Copied and called by who holds Python's lock.
struct EnvWrapper {
  std::function<std::unique_ptr<Env>(std::unique_ptr<Env>)> wrap;
};

/// The class EnvWrapper, and a function for each of gym/wrappers that makes one.
void AddWrappers(pybind11::module_& core);

}  // namespace msc::gym
