#pragma once

#include <functional>
#include <memory>

#include <pybind11/pybind11.h>

#include "gym/core/env.h"

namespace msc::gym {

/// A function that wraps an env. Copied and called only while Python's lock is held.
struct EnvWrapper {
  std::function<std::unique_ptr<Env>(std::unique_ptr<Env>)> wrap;
};

/// Adds the class EnvWrapper, and one factory function for each wrapper of gym/wrappers.
void AddWrappers(pybind11::module_& core);

}  // namespace msc::gym
