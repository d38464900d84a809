#include "gym/study/study.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/time_left.h"

namespace msc::gym {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

/// Proposals per request to an agent that does not use results: far more than run in parallel, so
/// that no slow candidate leaves workers idle.
constexpr std::size_t kChunk = 256;
constexpr const char* kTrials = "trials";

/// A trial to run: an assignment and its source.
struct Wish {
  std::string source;
  Assignment assignment;
};

/// Trials that reached the goal, and whether a second measurement confirmed one of them.
struct GoalRecord {
  std::uint64_t seq = 0;
  std::string type = "goal";
  std::vector<Constraint> goal = {};
  std::vector<std::uint64_t> trials = {};
  bool holds = false;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("seq", self.seq, "place in the journal");
    visit("type", self.type, "kind of record", Within::OneOf({"goal"}));
    visit("goal", self.goal, "metrics of the goal");
    visit("trials", self.trials, "trials that reached it");
    visit("holds", self.holds, "whether one of them reaches it when measured again");
  }
};

json ToJson(const GoalRecord& record) {
  json value = WriteJson(record);
  value.erase("seq");
  return value;
}

GoalRecord GoalFrom(const std::string& text, const std::string& what) {
  GoalRecord record;
  try {
    ReadJson(ParseJson(text, what), "", record);
  } catch (const UserError& error) {
    throw UserError(what + ": " + error.what());
  }
  return record;
}

/// Round length for an agent without rounds if a stop rule is set. The value is arbitrary but
/// fixed, so that a study ends after the same trial however many run in parallel.
constexpr std::size_t kRuledChunk = 32;

void CheckMetric(const std::string& who, const std::string& name,
                 const std::vector<std::string>& metrics) {
  if (std::find(metrics.begin(), metrics.end(), name) != metrics.end()) return;
  std::string known;
  for (const auto& metric : metrics) known += (known.empty() ? "" : ", ") + metric;
  throw UserError(who + " names '" + name + "'; metrics of this problem: " + known);
}

/// Returns the seconds between records of the time used; a kill loses at most this much of the
/// count.
double TickInterval(const TimeBudget& time) {
  constexpr double kMost = 10;
  constexpr double kPart = 0.02;
  return time.limited() ? std::clamp(kPart * time.seconds(), 0.5, kMost) : kMost;
}

class StudyRun {
 public:
  StudyRun(SearchProblem& problem, Agent& agent, Journal& journal, const StudyOptions& options)
      : problem_(problem),
        agent_(agent),
        journal_(journal),
        options_(options),
        time_(options.time != nullptr ? *options.time : unlimited_),
        rules_(options.stop, options.objective),
        front_(options.objective),
        trials_left_(std::max<std::size_t>(problem.parallelism(), 1)) {
    if (options.time == nullptr) unlimited_.AddEarlier(UsedIn(journal.records()));
  }

  void Listen(const std::function<void(const Progress&)>& progress,
              const std::function<bool()>& stop) {
    progress_ = &progress;
    stop_ = &stop;
  }

  StudyResult Run() {
    CheckObjective(options_.objective, problem_.metrics());
    CheckGoal(options_.stop.goal, problem_.metrics());
    OpenJournal();
    Report(nullptr);
    const StopReason reason = Loop();
    if (reason == StopReason::kInterrupted) {
      journal_.Append(TickRecord(time_.Used()));
    } else {
      Write(json{{"type", "end"}, {"reason", Name(reason)}, {"used", time_.Used()}});
    }
    return Finish(reason);
  }

 private:
  // --- the journal -------------------------------------------------------------------------------

  void OpenJournal() {
    StudyHeader now;
    now.problem = problem_.Hash();
    now.agent = options_.agent;
    now.seed = options_.seed;
    now.objective = options_.objective;
    now.tool_version = options_.tool_version;
    now.machine = options_.machine;
    if (journal_.records().empty()) {
      journal_.Append(ToJson(now));
    } else {
      const StudyHeader then = HeaderFromJson(journal_.records().front(), "the journal's header");
      const std::vector<std::string> differences = HeaderDifferences(then, now);
      if (!differences.empty() && options_.resume == Resume::kSame) {
        std::string text;
        for (const auto& difference : differences) text += (text.empty() ? "" : ", ") + difference;
        throw UserError("the journal belongs to another study, it differs in " + text +
                        "; start a new run directory or force the resume");
      }
      for (auto& trial : TrialsOf(journal_.records())) {
        CheckFits(trial);
        if (!trial.repeated) problem_.Recall(trial.assignment, trial.evaluation);
        const std::uint64_t number = trial.number;
        history_seconds_ += trial.seconds;
        // Keyed by assignment: with a forced resume, the same number may stand for another proposal
        // now.
        if (!WasLost(trial)) tried_.emplace(trial.assignment, number);
        Count(past_.emplace(number, std::move(trial)).first->second);
      }
    }
    Recall();
    ticked_ = reported_ = time_.Used();
    Write(json{
        {"type", "start"}, {"pid", ::getpid()}, {"trials", options_.trials}, {"used", ticked_}});
  }

  /// Reads the earlier confirmations of trials that reached the goal.
  void Recall() {
    const std::vector<std::string>& records = journal_.records();
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (RecordType(records[i], i) != "goal") continue;
      settled_.push_back(GoalFrom(records[i], "journal record " + std::to_string(i)));
    }
  }

  /// Checks that a trial of the journal fits the decisions. A forced resume ignores other settings,
  /// but other decisions would leave the choices of such a trial without a meaning.
  void CheckFits(const Trial& trial) const {
    try {
      CheckAssignment(problem_.decisions(), trial.assignment);
    } catch (const UserError& error) {
      throw UserError("the journal's trials are of other decisions (trial " +
                      std::to_string(trial.number) + ": " + error.what() +
                      "); start a new run directory");
    }
  }

  void Write(const json& record) { journal_.Append(record.dump()); }

  // --- stopping ----------------------------------------------------------------------------------

  /// Returns whether to stop, and keeps the first reason. The problem polls this while candidates
  /// run; it also writes the time records.
  bool ShouldStop() {
    if (stopped_) return true;
    if (*stop_ && (*stop_)()) {
      stopped_ = StopReason::kInterrupted;
    } else if (time_.Over() && !tried_.empty()) {
      stopped_ = StopReason::kTime;
    } else if (const double used = time_.Used(); used - ticked_ >= TickInterval(time_)) {
      journal_.Append(TickRecord(used));
      ticked_ = used;
    }
    return stopped_.has_value();
  }

  /// Has trials that reach the goal confirmed, if the options ask for it. Returns false if stopped
  /// before.
  bool SettleGoal() {
    const std::vector<Trial> claims = rules_.Claims();
    if (claims.empty()) return true;
    const std::optional<bool> holds = options_.confirm ? Confirm(claims) : true;
    if (holds) rules_.Settle(*holds);
    return holds.has_value();
  }

  /// Returns the verdict of the journal, or measures it now; nothing if stopped before.
  std::optional<bool> Confirm(const std::vector<Trial>& claims) {
    GoalRecord record{.goal = options_.stop.goal};
    for (const Trial& trial : claims) record.trials.push_back(trial.number);
    for (const GoalRecord& before : settled_) {
      if (before.goal == record.goal && before.trials == record.trials) return before.holds;
    }
    if (ShouldStop()) return std::nullopt;
    const std::optional<bool> holds = options_.confirm(claims);
    if (holds) {
      record.holds = *holds;
      Write(ToJson(record));
    } else if (!ShouldStop()) {
      stopped_ = StopReason::kTime;  // the budget was too short for a verdict
    }
    return holds;
  }

  // --- the loop ----------------------------------------------------------------------------------

  StopReason Loop() {
    std::vector<Wish> wishes;
    for (auto& [name, assignment] : problem_.Anchors()) {
      wishes.push_back({"anchor:" + name, std::move(assignment)});
    }
    for (const auto& [source, assignment] : options_.seeds) wishes.push_back({source, assignment});
    std::uint64_t first = 0;
    bool exhausted = false;
    // The anchors are a round of their own, unless the agent does not use results.
    if (!agent_.round()) exhausted = !Ask(wishes.size(), wishes);
    while (true) {
      const std::uint64_t next = first + wishes.size();
      if (first < options_.trials) {
        wishes.resize(std::min<std::uint64_t>(wishes.size(), options_.trials - first));
        if (!RunBatch(first, wishes)) return *stopped_;
        Tell(first, wishes.size());
        // A round that `trials` truncates is settled only once it is complete.
        if (next <= options_.trials && !SettleGoal()) return *stopped_;
      }
      // Likewise for the other rules: a resume with more trials may complete the round and improve
      // on it.
      if (const auto reason = rules_.reason(); reason && next <= options_.trials) return *reason;
      if (next >= options_.trials) return StopReason::kTrials;
      if (exhausted) return StopReason::kExhausted;
      first = next;
      wishes.clear();
      exhausted = !Ask(first, wishes);
    }
  }

  /// Appends a round of proposals for trials `first` and on. Returns whether more may follow.
  bool Ask(std::uint64_t first, std::vector<Wish>& wishes) {
    // Request a whole round even if fewer trials are left: a resume with more trials requests the
    // same round again and must get the same proposals.
    const std::size_t asked = agent_.round().value_or(options_.stop.any() ? kRuledChunk : kChunk);
    std::vector<Assignment> proposals = agent_.Ask(first, asked);
    for (auto& assignment : proposals) wishes.push_back({options_.agent, std::move(assignment)});
    // An agent that returns fewer proposals than requested has none left.
    return proposals.size() == asked;
  }

  /// Runs a batch. Returns false if it was stopped before every trial had a result.
  bool RunBatch(std::uint64_t first, const std::vector<Wish>& wishes) {
    copies_.clear();
    std::vector<std::uint64_t> numbers;  // numbers of the trials to evaluate
    std::vector<Assignment> batch;
    std::map<Assignment, std::uint64_t> pending;
    for (std::size_t i = 0; i < wishes.size(); ++i) TakeFromJournal(first + i, wishes[i]);
    if (CountDone(first, wishes.size()) == wishes.size()) return true;
    if (ShouldStop()) return false;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      const std::uint64_t number = first + i;
      const Assignment& assignment = wishes[i].assignment;
      if (done_.contains(number)) continue;
      if (const auto tried = tried_.find(assignment); tried != tried_.end()) {
        Copy(Finished(tried->second), number, wishes[i].source);
      } else if (const auto known = options_.known.find(assignment);
                 known != options_.known.end()) {
        Trial earlier;
        earlier.assignment = assignment;
        earlier.evaluation = known->second;
        Copy(earlier, number, wishes[i].source);
      } else if (const auto [it, added] = pending.emplace(assignment, number); added) {
        numbers.push_back(number);
        batch.push_back(assignment);
      } else {
        copies_[it->second].push_back({number, wishes[i].source});
      }
    }
    if (!batch.empty()) Evaluate(first, wishes, numbers, batch);
    return CountDone(first, wishes.size()) == wishes.size();
  }

  [[nodiscard]] std::size_t CountDone(std::uint64_t first, std::size_t count) const {
    return static_cast<std::size_t>(
        std::distance(done_.lower_bound(first), done_.lower_bound(first + count)));
  }

  void TakeFromJournal(std::uint64_t number, const Wish& wish) {
    const auto it = past_.find(number);
    if (it == past_.end()) return;
    if (it->second.assignment != wish.assignment && options_.resume == Resume::kSame) {
      throw UserError("trial " + std::to_string(number) + " of the journal is not what '" +
                      wish.source +
                      "' proposes for it now; start a new run directory or force "
                      "the resume");
    }
    if (WasLost(it->second)) {
      // Measure again. An agent that was told "unknown" in the first run must be told so again, or
      // it would not propose what the journal holds.
      late_.insert(number);
      --failed_;
      past_.erase(it);
      return;
    }
    done_.insert(past_.extract(it));
  }

  [[nodiscard]] const Trial& Finished(std::uint64_t number) const {
    const auto it = past_.find(number);
    return it != past_.end() ? it->second : done_.at(number);
  }

  void Evaluate(std::uint64_t first, const std::vector<Wish>& wishes,
                const std::vector<std::uint64_t>& numbers, const std::vector<Assignment>& batch) {
    // With p slots in parallel, the k-th trial to finish started roughly when the (k-p)-th ended.
    std::vector<Clock::time_point> ends(problem_.parallelism(), Clock::now());
    std::size_t count = 0;
    const auto done = [&](std::size_t index, const Evaluation& evaluation) {
      const auto now = Clock::now();
      Clock::time_point& slot = ends[count++ % ends.size()];
      Trial trial;
      trial.number = numbers.at(index);
      trial.source = wishes.at(trial.number - first).source;
      trial.assignment = batch[index];
      trial.evaluation = evaluation;
      trial.seconds = std::chrono::duration<double>(now - slot).count();
      trial.late = late_.contains(trial.number);
      slot = now;
      const std::uint64_t number = trial.number;
      Record(std::move(trial));
      for (const auto& [copy, source] : copies_[number]) Copy(done_.at(number), copy, source);
    };
    problem_.Evaluate(batch, done, [&] { return ShouldStop(); });
    Check(stopped_ || count == batch.size(), "a problem that is not stopped reports every trial");
  }

  void Copy(const Trial& original, std::uint64_t number, const std::string& source) {
    Trial trial = original;
    trial.number = number;
    trial.source = source;
    trial.seconds = 0;
    trial.repeated = true;
    trial.late = late_.contains(number);
    Record(std::move(trial));
  }

  /// Writes the trial to disk before anything else uses it.
  void Record(Trial trial) {
    trial.finished =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    journal_.Append(ToJson(trial));
    const std::uint64_t number = trial.number;
    const Trial& kept = done_.emplace(number, std::move(trial)).first->second;
    if (!WasLost(kept)) tried_.emplace(kept.assignment, number);
    Count(kept);
    Report(&kept);
  }

  /// Updates the counts, the front and the best trial. `trial` lies in past_ or done_, whose nodes
  /// never move.
  void Count(const Trial& trial) {
    failed_ += trial.evaluation.failure ? 1 : 0;
    front_.Add(trial);
    if (!IsFeasible(options_.objective, trial)) return;
    std::vector<double> values = ObjectiveValues(options_.objective, trial.evaluation);
    const bool better =
        best_ == nullptr || values < least_ || (values == least_ && trial.number < best_->number);
    if (!better) return;
    best_ = &trial;
    least_ = std::move(values);
  }

  void Tell(std::uint64_t first, std::size_t count) {
    std::vector<TrialResult> results;
    for (std::uint64_t number = first; number < first + count; ++number) {
      const Trial& trial = done_.at(number);
      results.push_back(TrialResultOf(options_.objective, trial));
      if (!results.back().unknown) rules_.Hear(trial);
    }
    if (!results.empty()) agent_.Tell(results);
  }

  // --- reporting ---------------------------------------------------------------------------------

  void Report(const Trial* last) {
    if (!*progress_) return;
    Progress now;
    now.done = done_.size() + past_.size();
    now.total = std::max<std::uint64_t>(options_.trials, now.done);
    now.failed = failed_;
    now.last = last;
    now.best = best_;
    now.hypervolume = front_.Volume();
    const double used = time_.Used();
    const std::uint64_t rest = now.total - now.done;
    if (last != nullptr) {
      trials_left_.Done(kTrials, used - reported_);
    } else {
      const double each = now.done > 0 ? history_seconds_ / static_cast<double>(now.done) : 0;
      trials_left_.Expect(kTrials, rest, each / static_cast<double>(problem_.parallelism()));
    }
    reported_ = used;
    const double left = std::min(trials_left_.Seconds().value_or(0), time_.Free());
    now.left = std::chrono::duration<double>(left);
    (*progress_)(now);
  }

  StudyResult Finish(StopReason reason) {
    // Trials of the journal beyond the requested number are still part of the result.
    for (auto& [number, trial] : past_) done_.emplace(number, std::move(trial));
    StudyResult result;
    for (auto& [number, trial] : done_) result.trials.push_back(std::move(trial));
    result.best = BestOf(options_.objective, result.trials);
    result.pareto = ParetoOf(options_.objective, result.trials);
    result.stop = reason;
    return result;
  }

  SearchProblem& problem_;
  Agent& agent_;
  Journal& journal_;
  const StudyOptions& options_;
  TimeBudget unlimited_;
  const TimeBudget& time_;
  StopCheck rules_;      // fed in order of trial number
  FeasibleFront front_;  // fed in order of completion
  TimeLeft trials_left_;
  const std::function<void(const Progress&)>* progress_ = nullptr;
  const std::function<bool()>* stop_ = nullptr;

  std::map<std::uint64_t, Trial> past_;        // from the journal, not reached by the loop yet
  std::map<std::uint64_t, Trial> done_;        // references stay valid
  std::set<std::uint64_t> late_;               // lost in an earlier run, measured again in this one
  std::map<Assignment, std::uint64_t> tried_;  // first finished trial with an assignment
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::string>>> copies_;
  const Trial* best_ = nullptr;
  std::vector<double> least_;
  std::uint64_t failed_ = 0;
  double history_seconds_ = 0;
  std::vector<GoalRecord> settled_;  // verdicts in the journal
  std::optional<StopReason> stopped_;
  double ticked_ = 0;    // time used at the last time record
  double reported_ = 0;  // time used at the last progress report
};

/// Returns why a run ended, from its record "end".
StopReason ReasonOf(const std::string& text, const std::string& what) {
  const json record = ParseJson(text, what);
  const auto reason = record.find("reason");
  if (reason == record.end()) throw UserError(what + " has no 'reason'");
  for (const auto known : {StopReason::kTrials, StopReason::kTime, StopReason::kExhausted,
                           StopReason::kPlateau, StopReason::kGoal}) {
    if (*reason == Name(known)) return known;
  }
  throw UserError(what + ": unknown reason " + reason->dump());
}

}  // namespace

void CheckObjective(const Objective& objective) {
  if (objective.minimize.empty()) throw UserError("the objective must name a metric to minimize");
  std::set<std::string_view> minimized;
  for (const auto& name : objective.minimize) {
    if (minimized.insert(name).second) continue;
    throw UserError("the objective minimizes '" + name + "' twice");
  }
  for (const auto& [metric, limit] : objective.subject_to) {
    if (std::isfinite(limit)) continue;
    throw UserError("the limit of '" + metric + "' must be a finite number, not " +
                    std::to_string(limit));
  }
}

void CheckObjective(const Objective& objective, const std::vector<std::string>& metrics) {
  CheckObjective(objective);
  for (const auto& name : objective.minimize) CheckMetric("the objective", name, metrics);
  for (const auto& constraint : objective.subject_to) {
    CheckMetric("the objective", constraint.metric, metrics);
  }
}

void CheckGoal(const std::vector<Constraint>& goal, const std::vector<std::string>& metrics) {
  for (const Constraint& limit : goal) CheckMetric("the goal to stop at", limit.metric, metrics);
}

StudyResult RunStudy(SearchProblem& problem, Agent& agent, Journal& journal,
                     const StudyOptions& options,
                     const std::function<void(const Progress&)>& progress,
                     const std::function<bool()>& stop) {
  StudyRun run(problem, agent, journal, options);
  run.Listen(progress, stop);
  return run.Run();
}

StudyResult ReadStudy(const std::vector<std::string>& records) {
  if (records.empty()) throw UserError("the journal is empty");
  const StudyHeader header = HeaderFromJson(records.front(), "the journal's header");
  StudyResult result;
  result.trials = TrialsOf(records);
  result.best = BestOf(header.objective, result.trials);
  result.pareto = ParetoOf(header.objective, result.trials);
  result.stop = StopReason::kInterrupted;
  // "task" records may follow the end.
  for (std::size_t i = records.size(); i-- > 0;) {
    const std::string type = RecordType(records[i], i);
    if (type == "start") break;
    if (type != "end") continue;
    result.stop = ReasonOf(records[i], "journal record " + std::to_string(i));
    break;
  }
  return result;
}

}  // namespace msc::gym
