#pragma once

#include <pybind11/pybind11.h>

namespace msc::gym {

/// The class Study, after AddEnv.
void AddStudy(pybind11::module_& core);

}  // namespace msc::gym
