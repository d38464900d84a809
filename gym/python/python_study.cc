#include "gym/python/python_study.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "compiler/base/error.h"
#include "gym/python/python_env.h"
#include "gym/python/values.h"
#include "gym/search/config.h"
#include "gym/search/registries.h"
#include "gym/study/ask_tell.h"

namespace py = pybind11;

namespace msc::gym {
namespace {

using KnownTrial = std::pair<Assignment, Evaluation>;

/// Arguments of a study from Python. Assignments fit the decisions.
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
  PythonStudy(const std::vector<DecisionParts>& decisions, const Wanted& wanted)
      : objective_(ObjectiveOf(wanted)) {
    CheckObjective(objective_);  // the caller's results may have any metrics
    AgentSetup setup;
    for (const DecisionParts& parts : decisions) setup.decisions.push_back(ToDecision(parts));
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

}  // namespace

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
      // The agent calls the env's mask, so the study keeps the env alive.
      .def(py::init<PythonEnv&, const Wanted&>(), py::keep_alive<1, 2>())
      .def(py::init<const std::vector<DecisionParts>&, const Wanted&>())
      .def("ask",
           [](PythonStudy& self) -> py::object {
             const std::optional<Trial> trial = self.Ask();
             if (!trial) return py::none();
             return py::make_tuple(trial->number, trial->source, trial->assignment);
           })
      .def("tell", &PythonStudy::Tell)
      .def("waiting", &PythonStudy::Waiting)
      .def("result", [](PythonStudy& self) { return ToPython(self.Result(), self.objective()); });
}

}  // namespace msc::gym
