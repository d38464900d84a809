#include "gym/python/python_search.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "compiler/base/result.h"
#include "gym/core/problem.h"
#include "gym/msc_config/read_config.h"
#include "gym/python/python_listener.h"
#include "gym/python/values.h"
#include "gym/search/report/report.h"
#include "gym/search/search.h"

namespace py = pybind11;

namespace msc::gym {
namespace {

/// Returns a metric that calls a Python function (mscgym/_metrics.py) from any thread.
auto MetricOf(const py::object& function) {
  // Copied and destroyed by threads without Python's lock.
  const std::shared_ptr<py::object> held(new py::object(function), [](py::object* object) {
    const py::gil_scoped_acquire acquired;
    delete object;
  });
  return [held](const std::string& folder,
                std::chrono::milliseconds timeout) -> Result<std::string> {
    const py::gil_scoped_acquire acquired;
    try {
      const double seconds = std::chrono::duration<double>(timeout).count();
      const auto call = py::module_::import("mscgym._metrics").attr("call");
      auto [kind, text] = call(*held, folder, seconds).cast<std::pair<std::string, std::string>>();
      if (kind.empty()) return std::move(text);
      return Failure{ParseFailureKind(kind).value(), std::move(text)};
    } catch (const py::error_already_set& error) {
      // Ctrl-C; the listener is to see it.
      if (!error.matches(PyExc_KeyboardInterrupt)) throw;
      PyErr_SetInterrupt();
      return Failure{FailureKind::kLost, "interrupted"};
    }
  };
}

/// Runs a whole search, and renders its report. Raises the exception of a signal that stopped it
/// after everything was written.
py::dict Search(const std::string& config, const std::string& base, const std::string& program,
                const std::string& folder, const std::string& cache, int workers, bool resume,
                const std::map<std::string, py::object>& metrics) {
  using namespace py::literals;  // NOLINT: "name"_a
  const ReadConfig read = ParseConfig(config, base, "the config");
  PythonListener listener;
  SearchHost host{.program = program, .listener = listener};
  for (const auto& [name, function] : metrics) host.metric_functions[name] = MetricOf(function);
  std::optional<SearchOutcome> outcome;
  {
    const py::gil_scoped_release released;
    for (const std::string& note : read.notes) listener.ReportLine("config: " + note);
    outcome =
        RunSearch(read.config,
                  {.folder = folder, .resume = resume, .workers = workers, .cache = cache}, host);
    (void)WriteReport({folder});
  }
  if (outcome->interrupted) throw py::error_already_set();
  std::vector<DecisionParts> decisions;
  for (const Decision& decision : outcome->decisions) decisions.push_back(ToPython(decision));
  return py::dict("best"_a = outcome->best, "feasible"_a = outcome->feasible,
                  "summary"_a = outcome->summary, "suspicions"_a = outcome->suspicions,
                  "decisions"_a = decisions,
                  "study"_a = ToPython(outcome->result.study, ToObjective(read.config.objective)));
}

}  // namespace

void AddSearch(py::module_& core) {
  core.def("search", Search, py::arg("config"), py::arg("base"), py::arg("program"),
           py::arg("folder"), py::arg("cache"), py::arg("workers"), py::arg("resume"),
           py::arg("metrics"));
}

}  // namespace msc::gym
