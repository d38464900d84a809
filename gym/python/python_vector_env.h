#pragma once

#include <pybind11/pybind11.h>

namespace msc::gym {

/// The class VectorEnv, after AddEnv.
void AddVectorEnv(pybind11::module_& core);

}  // namespace msc::gym
