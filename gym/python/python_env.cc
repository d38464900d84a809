#include "gym/python/python_env.h"

#include <cstdint>
#include <map>
#include <utility>

#include <pybind11/stl.h>

#include "compiler/base/error.h"
#include "gym/msc_config/read_config.h"
#include "gym/python/values.h"
#include "gym/study/describe.h"
#include "gym/study/study.h"
#include "gym/wrappers/wrap.h"

namespace py = pybind11;

namespace msc::gym {

Turn::Turn(std::atomic<bool>& taken) : taken_(taken) {
  if (taken_.exchange(true)) {
    throw UserError("it is in use by another thread; make one for each thread, or use a lock");
  }
}

envs::EnvRegistry ToyEnvs() {
  envs::EnvRegistry registry;
  envs::RegisterToys(registry);
  return registry;
}

PythonEnv::PythonEnv(const std::string& id, const std::optional<std::string>& config,
                     const std::string& base, const std::string& program,
                     const SessionOptions& options) {
  if (!config) {
    env_ = ToyEnvs().Make(id);
    live_ = env_.get();
    return;
  }
  ReadConfig read = ParseConfig(*config, base, "the config");
  notes_ = std::move(read.notes);
  read.config.env = id;
  // Parsing once more checks the id against the limits of the key `env`.
  session_.emplace(ParseSearchConfig(ToJson(read.config), base, "the config"), options,
                   SearchHost{.program = program, .listener = listener_});
  live_ = &session_->env();
}

PythonEnv::PythonEnv(PythonEnv& inner, std::unique_ptr<Env> env)
    : env_(std::move(env)), live_(env_.get()), inner_(&inner) {}

PythonEnv::PythonEnv(PythonEnv& inner, const EnvWrapper& wrapper)
    : PythonEnv(inner, wrapper.wrap(BorrowEnv(inner.env()))) {}

std::unique_ptr<PythonEnv> PythonEnv::Another() {
  Check(inner_ == nullptr, "others are made of the env that prepared the model");
  auto made = session_ ? session_->MakeEnv() : ToyEnvs().Make(live_->facts().id);
  return std::unique_ptr<PythonEnv>(new PythonEnv(*this, std::move(made)));
}

std::optional<std::string> PythonEnv::Config() {
  if (inner_ != nullptr) return inner_->Config();
  return session_ ? std::optional(ToJson(session_->config())) : std::nullopt;
}

std::optional<TrialTime> PythonEnv::TimeOneTrial(const std::function<bool()>& stop) {
  if (inner_ != nullptr) return inner_->TimeOneTrial(stop);
  return session_ ? session_->TimeOneTrial(stop) : std::nullopt;
}

SearchProblem& PythonEnv::problem() {
  SearchProblem* problem = env().problem();
  if (problem == nullptr) throw UserError(env().facts().id + " is not a search problem");
  return *problem;
}

namespace {

py::tuple Reset(PythonEnv& self, std::optional<std::uint64_t> seed, const ResetOptions& options) {
  const Turn turn(self.taken());
  ResetResult result;
  {
    const py::gil_scoped_release released;
    result = self.env().Reset(seed, options);
  }
  return py::make_tuple(ToPython(result.observation), result.info);
}

py::tuple Step(PythonEnv& self, const py::handle& action) {
  const Turn turn(self.taken());
  const Point point = ToPoint(self.env().action_space(), action);
  StepResult result;
  {
    const py::gil_scoped_release released;
    result = self.env().Step(point);
  }
  return py::make_tuple(ToPython(result.observation), result.reward, result.terminated,
                        result.truncated, result.info);
}

/// Returns a function that reports, and remembers in `interrupted`, whether a signal interrupted
/// Python; the Python exception is set then.
std::function<bool()> Interrupts(bool& interrupted) {
  return [&interrupted] {
    const py::gil_scoped_acquire acquired;
    interrupted = interrupted || PyErr_CheckSignals() != 0;
    return interrupted;
  };
}

/// Evaluates a batch. Ctrl-C ends it between candidates.
py::list Evaluate(PythonEnv& self, const std::vector<Assignment>& batch) {
  const Turn turn(self.taken());
  std::vector<Evaluation> results(batch.size());
  bool interrupted = false;
  {
    const py::gil_scoped_release released;
    self.problem().Evaluate(
        batch, [&](std::size_t i, const Evaluation& evaluation) { results[i] = evaluation; },
        Interrupts(interrupted));
  }
  if (interrupted) throw py::error_already_set();
  py::list list;
  for (const Evaluation& result : results) list.append(ToPython(result));
  return list;
}

using Limits = std::map<std::string, double>;

/// Describes the problem, and if `trial` is set the time of a trial. Ctrl-C ends the trial.
std::string DescribeEnv(PythonEnv& self, const std::vector<std::string>& minimize,
                        const Limits& subject_to, const Limits& goal, bool trial) {
  const Turn turn(self.taken());
  SearchProblem& problem = self.problem();
  const Objective objective = ToObjective({.minimize = minimize, .subject_to = subject_to});
  const std::vector<Constraint> ends = ToStopRules({.goal = goal}).goal;
  CheckObjective(objective, problem.metrics());
  CheckGoal(ends, problem.metrics());
  std::string text;
  bool interrupted = false;
  {
    const py::gil_scoped_release released;
    std::optional<TrialTime> time;
    if (trial) time = self.TimeOneTrial(Interrupts(interrupted));
    // The time of the uncompressed model turns a lower bound in milliseconds into one on the
    // relative latency.
    if (!interrupted) {
      text = DescribeSpace(problem, objective, {.goal = ends, .bounds = BoundsBy(time, problem)});
    }
    if (time) text += time->Text() + "\n";
  }
  if (interrupted) throw py::error_already_set();
  return text;
}

py::dict FactsOf(const PythonEnv& self) {
  using namespace py::literals;  // NOLINT: "name"_a
  const EnvFacts& facts = self.env().facts();
  return py::dict("id"_a = facts.id, "nondeterministic"_a = facts.nondeterministic,
                  "max_steps"_a = facts.max_steps, "reset_options"_a = facts.reset_options);
}

std::vector<DecisionParts> DecisionsOf(PythonEnv& self) {
  std::vector<DecisionParts> decisions;
  if (self.env().problem() == nullptr) return decisions;
  for (const Decision& decision : self.problem().decisions()) {
    decisions.push_back(ToPython(decision));
  }
  return decisions;
}

}  // namespace

void AddEnv(py::module_& core) {
  py::class_<PythonEnv>(core, "Env")
      .def(py::init([](const std::string& id, const std::optional<std::string>& config,
                       const std::string& base, const std::string& program,
                       const std::string& folder, const std::string& cache, int workers) {
             const py::gil_scoped_release released;
             return std::make_unique<PythonEnv>(
                 id, config, base, program,
                 SessionOptions{.folder = folder, .cache = cache, .workers = workers});
           }),
           py::arg("id"), py::arg("config"), py::arg("base"), py::arg("program"), py::arg("folder"),
           py::arg("cache"), py::arg("workers"))
      .def(
          "wrapped",
          [](PythonEnv& self, const EnvWrapper& wrapper) {
            return std::make_unique<PythonEnv>(self, wrapper);
          },
          py::keep_alive<0, 1>())
      .def("another", &PythonEnv::Another, py::keep_alive<0, 1>())
      .def("reset", Reset)
      .def("step", Step)
      .def("evaluate", Evaluate)
      .def("action_mask",
           [](PythonEnv& self) {
             const Turn turn(self.taken());
             return self.env().ActionMask();
           })
      .def("render",
           [](PythonEnv& self) {
             const Turn turn(self.taken());
             return self.env().Render();
           })
      .def("strategy",
           [](PythonEnv& self, const Assignment& assignment) {
             const Turn turn(self.taken());
             return self.problem().Describe(assignment);
           })
      .def("describe", DescribeEnv)
      .def_property_readonly("config", &PythonEnv::Config)
      .def_property_readonly("notes", &PythonEnv::notes)
      .def_property_readonly("facts", FactsOf)
      .def_property_readonly("decisions", DecisionsOf)
      .def_property_readonly("metrics", [](PythonEnv& self) { return self.problem().metrics(); })
      .def_property_readonly("anchors",
                             [](PythonEnv& self) {
                               const Turn turn(self.taken());
                               return self.problem().Anchors();
                             })
      .def_property_readonly(
          "action_space", [](const PythonEnv& self) { return ToPython(self.env().action_space()); })
      .def_property_readonly("observation_space", [](const PythonEnv& self) {
        return ToPython(self.env().observation_space());
      });
}

}  // namespace msc::gym
