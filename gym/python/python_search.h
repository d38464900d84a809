#pragma once

#include <pybind11/pybind11.h>

namespace msc::gym {

/// Adds the function search.
void AddSearch(pybind11::module_& core);

}  // namespace msc::gym
