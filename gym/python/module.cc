// mscgym._core: envs and studies as plain Python values. The package around it (mscgym/*.py) makes
// Gymnasium's classes of them.

#include <map>
#include <string>
#include <utility>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "compiler/base/error.h"
#include "gym/python/python_env.h"
#include "gym/python/python_search.h"
#include "gym/python/python_study.h"
#include "gym/python/python_vector_env.h"
#include "gym/python/wrappers.h"
#include "gym/search/registries.h"
#include "gym/search/task_registry.h"

namespace py = pybind11;

PYBIND11_MODULE(_core, core) {
  using msc::gym::MakeAgents;
  py::register_exception<msc::UserError>(core, "UserError", PyExc_ValueError);
  py::register_exception<msc::SystemError>(core, "MachineError", PyExc_RuntimeError);
  py::register_exception<msc::InternalError>(core, "InternalError", PyExc_RuntimeError);
  core.attr("version") = MSC_VERSION;
  // By id: a summary, and whether rewards come from measurements.
  core.def("specs", [] {
    std::map<std::string, std::pair<std::string, bool>> specs;
    for (const auto& spec : msc::gym::AllEnvSpecs()) {
      specs[spec.id] = {spec.summary, spec.nondeterministic};
    }
    return specs;
  });
  core.def("agents", [] {
    std::map<std::string, std::string> summaries;
    const auto agents = MakeAgents();
    for (const std::string& name : agents.Names()) summaries[name] = agents.Summary(name);
    return summaries;
  });
  msc::gym::AddWrappers(core);
  msc::gym::AddEnv(core);
  msc::gym::AddVectorEnv(core);
  msc::gym::AddStudy(core);
  msc::gym::AddSearch(core);
}
