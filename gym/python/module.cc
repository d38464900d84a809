// mscgym._core: envs and studies as plain Python values. The package around it (mscgym/*.py) makes
// Gymnasium's classes of them.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "compiler/base/error.h"
#include "envs/register.h"
#include "gym/app/registries.h"
#include "gym/app/search_session.h"
#include "gym/python/values.h"
#include "gym/python/wrappers.h"
#include "gym/study/ask_tell.h"
#include "gym/study/describe.h"
#include "gym/wrappers/wrap.h"

namespace py = pybind11;

namespace msc::gym {
namespace {

// --- envs ----------------------------------------------------------------------------------------

/// Held while an object that is not thread-safe is in use, since others may run meanwhile.
class Turn {
 public:
  explicit Turn(std::atomic<bool>& taken) : taken_(taken) {
    if (taken_.exchange(true)) {
      throw UserError("it is in use by another thread; make one for each, or take turns");
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { taken_ = false; }

 private:
  std::atomic<bool>& taken_;
};

envs::EnvRegistry Envs() {
  envs::EnvRegistry registry;
  envs::RegisterAll(registry);
  return registry;
}

class PythonEnv {
 public:
  /// `config` is a search's, with paths relative to `base`.
  PythonEnv(const std::string& id, const std::optional<std::string>& config,
            const std::string& base, const SessionOptions& options) {
    if (!config) {
      env_ = Envs().Make(id, envs::EnvContext{});
      live_ = env_.get();
      return;
    }
    SearchConfig read = ParseSearchConfig(*config, base, "the config", &notes_);
    read.env = id;
    // The id keeps the limits of the key that it stands for.
    session_.emplace(ParseSearchConfig(ToJson(read), base, "the config"), options);
    live_ = &session_->env();
  }
  /// `inner` seen through a wrapper; outlives this.
  PythonEnv(PythonEnv& inner, const EnvWrapper& wrapper)
      : env_(wrapper.wrap(Borrow(inner.env()))), live_(env_.get()), inner_(&inner) {}

  [[nodiscard]] const Env& env() const { return *live_; }
  [[nodiscard]] Env& env() { return *live_; }
  [[nodiscard]] std::atomic<bool>& taken() { return inner_ != nullptr ? inner_->taken() : taken_; }
  /// What became of keys of the original MSC.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Resolved; none of an env that is made without.
  [[nodiscard]] std::optional<std::string> Config() {
    if (inner_ != nullptr) return inner_->Config();
    return session_ ? std::optional(ToJson(session_->config())) : std::nullopt;
  }
  /// A line about one trial, which is made where none was timed yet; nothing of an env that is made
  /// without a config, whose trials take no time.
  std::string TrialTimeText(const std::function<bool()>& stop) {
    const std::optional<TrialTime> time = session_ ? session_->TimeOneTrial(stop) : std::nullopt;
    return time ? time->Text() + "\n" : "";
  }
  [[nodiscard]] SearchProblem& problem() {
    SearchProblem* problem = env().problem();
    if (problem == nullptr) throw UserError(env().facts().id + " is no search problem");
    return *problem;
  }

 private:
  std::vector<std::string> notes_;
  std::optional<SearchSession> session_;
  std::unique_ptr<Env> env_;  // of an env without a session
  Env* live_ = nullptr;       // either's
  PythonEnv* inner_ = nullptr;
  std::atomic<bool> taken_ = false;
};

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

/// Says, and keeps, whether Python was interrupted: an exception is set then.
std::function<bool()> Interrupts(bool& interrupted) {
  return [&interrupted] {
    const py::gil_scoped_acquire acquired;
    interrupted = interrupted || PyErr_CheckSignals() != 0;
    return interrupted;
  };
}

/// Ctrl-C ends it between candidates.
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

/// What the problem is about, and with `trial` how long one takes. Ctrl-C ends a trial.
std::string DescribeEnv(PythonEnv& self, const std::vector<std::string>& minimize,
                        const std::map<std::string, double>& subject_to, bool trial) {
  const Turn turn(self.taken());
  std::string text =
      DescribeSpace(self.problem(), ToObjective({.minimize = minimize, .subject_to = subject_to}));
  if (!trial) return text;
  bool interrupted = false;
  {
    const py::gil_scoped_release released;
    text += self.TrialTimeText(Interrupts(interrupted));
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

std::vector<std::pair<std::string, std::vector<std::string>>> ChoicesOf(PythonEnv& self) {
  std::vector<std::pair<std::string, std::vector<std::string>>> decisions;
  if (self.env().problem() == nullptr) return decisions;
  for (const Decision& decision : self.problem().decisions()) {
    decisions.emplace_back(decision.name, decision.choices);
  }
  return decisions;
}

// --- studies -------------------------------------------------------------------------------------

using KnownTrial = std::pair<Assignment, Evaluation>;

/// What a study is about, as Python gives it. Assignments fit the decisions.
struct Wanted {
  std::string agent;
  std::uint64_t seed = 0;
  std::vector<std::string> minimize;
  std::map<std::string, double> subject_to;
  std::vector<KnownTrial> known;
};

class PythonStudy {
 public:
  PythonStudy(PythonEnv& env, const Wanted& wanted) : objective_(ObjectiveOf(wanted)) {
    SearchProblem& problem = env.problem();
    CheckObjective(objective_, problem.metrics());
    const std::vector<Assignment> tried = Tried(wanted, problem.MaskFunction());
    Begin(AgentSetupFor(problem, objective_, wanted.seed, tried), problem.Anchors(), wanted);
  }
  PythonStudy(const std::vector<std::pair<std::string, std::vector<std::string>>>& decisions,
              const Wanted& wanted)
      : objective_(ObjectiveOf(wanted)) {
    CheckObjective(objective_);  // whatever it names is told by the caller
    AgentSetup setup;
    for (const auto& [name, choices] : decisions) setup.decisions.push_back({name, choices});
    setup.objectives = objective_.minimize.size();
    setup.constraints = objective_.subject_to.size();
    setup.seed = wanted.seed;
    setup.anchors = Tried(wanted, {});
    setup.first_trial = setup.anchors.size();
    Begin(setup, {}, wanted);
  }

  std::optional<Trial> Ask() {
    const Turn turn(taken_);
    const py::gil_scoped_release released;
    return study_->Ask();
  }
  void Tell(std::uint64_t number, std::map<std::string, double> metrics,
            const std::optional<std::pair<std::string, std::string>>& failure, std::string record) {
    const Turn turn(taken_);
    study_->Tell(number, ToEvaluation(std::move(metrics), failure, std::move(record)));
  }
  [[nodiscard]] std::vector<std::uint64_t> Waiting() {
    const Turn turn(taken_);
    return study_->Waiting();
  }
  [[nodiscard]] StudyResult Result() {
    const Turn turn(taken_);
    return study_->Result();
  }
  [[nodiscard]] const Objective& objective() const { return objective_; }

 private:
  static Objective ObjectiveOf(const Wanted& wanted) {
    return ToObjective({.minimize = wanted.minimize, .subject_to = wanted.subject_to});
  }
  static std::vector<Assignment> Tried(const Wanted& wanted, const ChoiceMask& mask) {
    std::vector<Assignment> tried;
    for (const auto& [assignment, evaluation] : wanted.known) {
      if (!IsLegal(mask, assignment)) {
        throw UserError("known trial " + std::to_string(tried.size()) +
                        " has a choice that the env rules out");
      }
      tried.push_back(assignment);
    }
    return tried;
  }
  void Begin(const AgentSetup& setup, std::vector<std::pair<std::string, Assignment>> anchors,
             const Wanted& wanted) {
    agent_ = MakeAgents().Make(wanted.agent, setup);
    study_ = std::make_unique<AskTell>(
        AskTell::Start{.known = wanted.known, .anchors = std::move(anchors)}, *agent_, wanted.agent,
        objective_);
  }

  Objective objective_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<AskTell> study_;
  std::atomic<bool> taken_ = false;
};

py::dict ToPython(const Trial& trial, const Objective& objective) {
  using namespace py::literals;  // NOLINT: "name"_a
  return py::dict("number"_a = trial.number, "source"_a = trial.source,
                  "assignment"_a = trial.assignment, "repeated"_a = trial.repeated,
                  "feasible"_a = Feasible(objective, trial),
                  "evaluation"_a = ToPython(trial.evaluation));
}

py::dict ResultOf(PythonStudy& self) {
  using namespace py::literals;  // NOLINT: "name"_a
  const StudyResult result = self.Result();
  py::list trials;
  for (const Trial& trial : result.trials) trials.append(ToPython(trial, self.objective()));
  return py::dict("trials"_a = trials, "best"_a = result.best, "pareto"_a = result.pareto,
                  "exhausted"_a = result.stop == StopReason::kExhausted);
}

// --- the module ----------------------------------------------------------------------------------

void AddEnv(py::module_& core) {
  py::class_<PythonEnv>(core, "Env")
      .def(py::init([](const std::string& id, const std::optional<std::string>& config,
                       const std::string& base, const std::string& program,
                       const std::string& folder, const std::string& cache, int workers) {
             const py::gil_scoped_release released;
             return std::make_unique<PythonEnv>(
                 id, config, base,
                 SessionOptions{
                     .program = program, .folder = folder, .cache = cache, .workers = workers});
           }),
           py::arg("id"), py::arg("config"), py::arg("base"), py::arg("program"), py::arg("folder"),
           py::arg("cache"), py::arg("workers"))
      .def(
          "wrapped",
          [](PythonEnv& self, const EnvWrapper& wrapper) {
            return std::make_unique<PythonEnv>(self, wrapper);
          },
          py::keep_alive<0, 1>())
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
      .def_property_readonly("decisions", ChoicesOf)
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

void AddStudy(py::module_& core) {
  py::class_<Wanted>(core, "Wanted")
      .def(py::init([](const std::string& agent, std::uint64_t seed,
                       const std::vector<std::string>& minimize,
                       const std::map<std::string, double>& subject_to) {
        return Wanted{agent, seed, minimize, subject_to, {}};
      }))
      .def("know",
           [](Wanted& self, const Assignment& assignment, std::map<std::string, double> metrics,
              const std::optional<std::pair<std::string, std::string>>& failure,
              std::string record) {
             self.known.emplace_back(assignment,
                                     ToEvaluation(std::move(metrics), failure, std::move(record)));
           });
  py::class_<PythonStudy>(core, "Study")
      // The agent asks the env which choices are ruled out.
      .def(py::init<PythonEnv&, const Wanted&>(), py::keep_alive<1, 2>())
      .def(py::init<const std::vector<std::pair<std::string, std::vector<std::string>>>&,
                    const Wanted&>())
      .def("ask",
           [](PythonStudy& self) -> py::object {
             const std::optional<Trial> trial = self.Ask();
             if (!trial) return py::none();
             return py::make_tuple(trial->number, trial->source, trial->assignment);
           })
      .def("tell", &PythonStudy::Tell)
      .def("waiting", &PythonStudy::Waiting)
      .def("result", ResultOf);
}

}  // namespace
}  // namespace msc::gym

PYBIND11_MODULE(_core, core) {
  using msc::gym::MakeAgents;
  py::register_exception<msc::UserError>(core, "UserError", PyExc_ValueError);
  py::register_exception<msc::SystemError>(core, "MachineError", PyExc_RuntimeError);
  py::register_exception<msc::InternalError>(core, "InternalError", PyExc_RuntimeError);
  core.attr("version") = MSC_VERSION;
  // A line about it, and whether its rewards are measured.
  core.def("specs", [] {
    std::map<std::string, std::pair<std::string, bool>> specs;
    for (const auto& spec : msc::gym::Envs().Specs()) {
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
  msc::gym::AddStudy(core);
}
