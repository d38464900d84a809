#include "gym/python/python_search.h"

#include <optional>
#include <string>
#include <vector>

#include <pybind11/stl.h>

#include "gym/core/problem.h"
#include "gym/msc_config/read_config.h"
#include "gym/python/python_listener.h"
#include "gym/python/values.h"
#include "gym/search/report/report.h"
#include "gym/search/search.h"

namespace py = pybind11;

namespace msc::gym {
namespace {

/// Runs a whole search, and renders its report. Raises the exception of a signal that stopped it
/// after everything was written.
py::dict Search(const std::string& config, const std::string& base, const std::string& program,
                const std::string& folder, const std::string& cache, int workers, bool resume) {
  using namespace py::literals;  // NOLINT: "name"_a
  const ReadConfig read = ParseConfig(config, base, "the config");
  PythonListener listener;
  std::optional<SearchOutcome> outcome;
  {
    const py::gil_scoped_release released;
    for (const std::string& note : read.notes) listener.ReportLine("config: " + note);
    outcome = RunSearch(read.config,
                        {.folder = folder, .resume = resume, .workers = workers, .cache = cache},
                        {.program = program, .listener = listener});
    (void)WriteReport({folder});
  }
  if (outcome->interrupted) throw py::error_already_set();
  std::vector<DecisionParts> decisions;
  for (const Decision& decision : outcome->decisions) decisions.push_back(ToPython(decision));
  return py::dict("best"_a = outcome->best, "feasible"_a = outcome->feasible,
                  "summary"_a = outcome->summary, "decisions"_a = decisions,
                  "study"_a = ToPython(outcome->result.study, ToObjective(read.config.objective)));
}

}  // namespace

void AddSearch(py::module_& core) {
  core.def("search", Search, py::arg("config"), py::arg("base"), py::arg("program"),
           py::arg("folder"), py::arg("cache"), py::arg("workers"), py::arg("resume"));
}

}  // namespace msc::gym
