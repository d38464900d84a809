#pragma once

#include <pybind11/pybind11.h>

namespace msc::gym {

/// Adds the class VectorEnv; call AddEnv first.
void AddVectorEnv(pybind11::module_& core);

}  // namespace msc::gym
