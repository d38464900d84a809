#pragma once

#include <pybind11/pybind11.h>

namespace msc::gym {

/// Adds the class Study; call AddEnv first.
void AddStudy(pybind11::module_& core);

}  // namespace msc::gym
