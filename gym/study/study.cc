#include "gym/study/study.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/time_left.h"
#include "gym/study/read_record.h"

namespace msc::gym {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

/// Proposals per request to an agent that does not use results: far more than run in parallel, so
/// that no slow candidate leaves workers idle.
constexpr std::size_t kChunk = 256;
constexpr const char* kTrials = "trials";

/// A trial to run.
struct Wish {
  std::uint64_t number = 0;
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

std::string ToJson(const GoalRecord& record) {
  json value = WriteJson(record);
  value.erase("seq");
  return value.dump();
}

/// Round length for an agent without rounds if a stop rule is set. The value is arbitrary but
/// fixed, so that a study ends after the same trial however many run in parallel.
constexpr std::size_t kRuledChunk = 32;

/// Returns the seconds between records of the time used; a kill loses at most this much of the
/// count.
double TickInterval(const TimeBudget& time) {
  constexpr double kMost = 10;
  constexpr double kPart = 0.02;
  return time.limited() ? std::clamp(kPart * time.seconds(), 0.5, kMost) : kMost;
}

using Stop = std::function<bool()>;
/// Keeps a finished trial.
using Record = std::function<const Trial&(Trial trial)>;

/// What a study runs with.
struct Inputs {
  SearchProblem& problem;
  Agent& agent;
  Journal& journal;
  const StudyOptions& options;
  const TimeBudget& time;
};

/// The trials of the journal and of this run. References to trials stay valid.
struct Trials {
  std::map<std::uint64_t, Trial> past = {};  ///< from the journal, not reached by the rounds yet
  std::map<std::uint64_t, Trial> done = {};
  std::set<std::uint64_t> late = {};  ///< lost in an earlier run, measured again in this one
  std::map<Assignment, const Trial*> tried = {};  ///< first trial with a result for an assignment
  FeasibleFront front;                            ///< fed in order of completion
  const Trial* best = nullptr;
  std::vector<double> least = {};  ///< objectives of the best
  std::uint64_t failed = 0;
};

/// Whether a run stops, and the time used at the last time record.
struct Stopping {
  double ticked = 0;
  std::optional<StopReason> reason = {};
};

/// The estimate of the time left, and the time used at the last report.
struct Pace {
  TimeLeft left;
  double reported = 0;
};

// --- trials --------------------------------------------------------------------------------------

/// Updates the counts, the front and the best trial. `trial` lies in `past` or `done`.
void Count(const Objective& objective, const Trial& trial, Trials& trials) {
  // Keyed by assignment: with a forced resume, the same number may stand for another proposal now.
  if (!WasLost(trial)) trials.tried.emplace(trial.assignment, &trial);
  trials.failed += trial.evaluation.failure ? 1 : 0;
  trials.front.Add(trial);
  if (!IsFeasible(objective, trial)) return;
  std::vector<double> values = ObjectiveValues(objective, trial.evaluation);
  const bool better = trials.best == nullptr || values < trials.least ||
                      (values == trials.least && trial.number < trials.best->number);
  if (!better) return;
  trials.best = &trial;
  trials.least = std::move(values);
}

/// Takes the trial of the journal with the number of a wish, if there is one.
void TakeFromJournal(const Wish& wish, Resume resume, Trials& trials) {
  const auto it = trials.past.find(wish.number);
  if (it == trials.past.end()) return;
  if (it->second.assignment != wish.assignment && resume == Resume::kSame) {
    throw UserError("trial " + std::to_string(wish.number) + " of the journal is not what '" +
                    wish.source +
                    "' proposes for it now; start a new run directory or force "
                    "the resume");
  }
  if (WasLost(it->second)) {
    // Measure again. An agent that was told "unknown" in the first run must be told so again, or it
    // would not propose what the journal holds.
    trials.late.insert(wish.number);
    --trials.failed;
    trials.past.erase(it);
    return;
  }
  trials.done.insert(trials.past.extract(it));
}

bool AreDone(const std::vector<Wish>& wishes, const Trials& trials) {
  return std::all_of(wishes.begin(), wishes.end(),
                     [&](const Wish& wish) { return trials.done.contains(wish.number); });
}

StudyResult ResultOf(const Objective& objective, Trials trials, StopReason reason) {
  // Trials of the journal beyond the requested number are still part of the result.
  trials.done.merge(trials.past);
  StudyResult result;
  for (auto& [number, trial] : trials.done) result.trials.push_back(std::move(trial));
  result.best = BestOf(objective, result.trials);
  result.pareto = ParetoOf(objective, result.trials);
  result.stop = reason;
  return result;
}

// --- the journal ---------------------------------------------------------------------------------

/// Checks that a trial of the journal fits the decisions. A forced resume ignores other settings,
/// but other decisions would leave the choices of such a trial without a meaning.
void CheckFits(const Trial& trial, const std::vector<Decision>& decisions) {
  try {
    CheckAssignment(decisions, trial.assignment);
  } catch (const UserError& error) {
    throw UserError("the journal's trials are of other decisions (trial " +
                    std::to_string(trial.number) + ": " + error.what() +
                    "); start a new run directory");
  }
}

/// Writes the header of a new journal, or reads the trials of one that fits.
void OpenJournal(const Inputs& in, Trials& trials) {
  StudyHeader now;
  now.problem = in.problem.Hash();
  now.agent = in.options.agent;
  now.seed = in.options.seed;
  now.objective = in.options.objective;
  now.tool_version = in.options.tool_version;
  now.machine = in.options.machine;
  const std::vector<std::string>& records = in.journal.records();
  if (records.empty()) return in.journal.Append(ToJson(now));
  const StudyHeader then = HeaderFromJson(records.front(), "the journal's header");
  const std::vector<std::string> differences = HeaderDifferences(then, now);
  if (!differences.empty() && in.options.resume == Resume::kSame) {
    std::string text;
    for (const auto& difference : differences) text += (text.empty() ? "" : ", ") + difference;
    throw UserError("the journal belongs to another study, it differs in " + text +
                    "; start a new run directory or force the resume");
  }
  for (auto& trial : TrialsOf(records)) {
    CheckFits(trial, in.problem.decisions());
    if (!trial.repeated) in.problem.Recall(trial.assignment, trial.evaluation);
    const std::uint64_t number = trial.number;
    Count(in.options.objective, trials.past.emplace(number, std::move(trial)).first->second,
          trials);
  }
}

/// Returns the earlier confirmations of trials that reached the goal.
std::vector<GoalRecord> VerdictsIn(const std::vector<std::string>& records) {
  std::vector<GoalRecord> verdicts;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (RecordType(records[i], i) != "goal") continue;
    const std::string what = "journal record " + std::to_string(i);
    verdicts.push_back(ReadRecord<GoalRecord>(ParseJson(records[i], what), what));
  }
  return verdicts;
}

// --- stopping ------------------------------------------------------------------------------------

/// Returns whether to stop, and keeps the first reason. The problem polls this while candidates
/// run; it also writes the time records.
bool ShouldStop(const Inputs& in, const Stop& asked, bool has_result, Stopping& stopping) {
  if (stopping.reason) return true;
  if (asked && asked()) {
    stopping.reason = StopReason::kInterrupted;
  } else if (in.time.Over() && has_result) {
    stopping.reason = StopReason::kTime;
  } else if (const double used = in.time.Used(); used - stopping.ticked >= TickInterval(in.time)) {
    in.journal.Append(TickRecord(used));
    stopping.ticked = used;
  }
  return stopping.reason.has_value();
}

/// Returns the verdict of the journal on trials that reach the goal, or measures it now; nothing if
/// stopped before.
std::optional<bool> Confirm(const Inputs& in, const std::vector<Trial>& claims,
                            const std::vector<GoalRecord>& verdicts, const Stop& should_stop,
                            std::optional<StopReason>& stopped) {
  GoalRecord record{.goal = in.options.stop.goal};
  for (const Trial& trial : claims) record.trials.push_back(trial.number);
  for (const GoalRecord& before : verdicts) {
    if (before.goal == record.goal && before.trials == record.trials) return before.holds;
  }
  if (should_stop()) return std::nullopt;
  const std::optional<bool> holds = in.options.confirm(claims);
  if (holds) {
    record.holds = *holds;
    in.journal.Append(ToJson(record));
  } else if (!should_stop()) {
    stopped = StopReason::kTime;  // the budget was too short for a verdict
  }
  return holds;
}

// --- rounds --------------------------------------------------------------------------------------

/// Returns the anchors and seeds.
std::vector<Wish> FirstWishes(const SearchProblem& problem, const StudyOptions& options) {
  std::vector<Wish> wishes;
  for (auto& [name, assignment] : problem.Anchors()) {
    wishes.push_back({wishes.size(), "anchor:" + name, std::move(assignment)});
  }
  for (const auto& [source, assignment] : options.seeds) {
    wishes.push_back({wishes.size(), source, assignment});
  }
  return wishes;
}

/// Appends a round of proposals for trials `first` and on. Returns whether more may follow.
bool Ask(const Inputs& in, std::uint64_t first, std::vector<Wish>& wishes) {
  // Request a whole round even if fewer trials are left: a resume with more trials requests the
  // same round again and must get the same proposals.
  const std::size_t asked = in.agent.round().value_or(in.options.stop.any() ? kRuledChunk : kChunk);
  std::vector<Assignment> proposals = in.agent.Ask(first, asked);
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    wishes.push_back({first + i, in.options.agent, std::move(proposals[i])});
  }
  // An agent that returns fewer proposals than requested has none left.
  return proposals.size() == asked;
}

Trial CopyFor(const Wish& wish, const Trial& original, const std::set<std::uint64_t>& late) {
  Trial trial = original;
  trial.number = wish.number;
  trial.source = wish.source;
  trial.seconds = 0;
  trial.repeated = true;
  trial.late = late.contains(wish.number);
  return trial;
}

/// A trial to evaluate, and those that copy its result.
struct Pending {
  Wish wish;
  std::vector<Wish> copies = {};
};

/// Records the trials whose assignment already has a result. Returns the others.
std::vector<Pending> CopyKnown(const std::vector<Wish>& wishes,
                               const std::map<Assignment, Evaluation>& known, const Trials& trials,
                               const Record& record) {
  std::vector<Pending> pending;
  std::map<Assignment, std::size_t> places;  // in `pending`
  for (const Wish& wish : wishes) {
    if (trials.done.contains(wish.number)) continue;
    if (const auto tried = trials.tried.find(wish.assignment); tried != trials.tried.end()) {
      record(CopyFor(wish, *tried->second, trials.late));
    } else if (const auto it = known.find(wish.assignment); it != known.end()) {
      Trial earlier;
      earlier.assignment = wish.assignment;
      earlier.evaluation = it->second;
      record(CopyFor(wish, earlier, trials.late));
    } else if (const auto [place, added] = places.emplace(wish.assignment, pending.size()); added) {
      pending.push_back({wish});
    } else {
      pending[place->second].copies.push_back(wish);
    }
  }
  return pending;
}

/// Evaluates trials until done or stopped, and records those that finish, with their copies.
void Evaluate(SearchProblem& problem, const std::vector<Pending>& pending,
              const std::set<std::uint64_t>& late, const Record& record, const Stop& should_stop) {
  std::vector<Assignment> batch;
  batch.reserve(pending.size());
  for (const Pending& trial : pending) batch.push_back(trial.wish.assignment);
  // With p slots in parallel, the k-th trial to finish started roughly when the (k-p)-th ended.
  std::vector<Clock::time_point> ends(problem.parallelism(), Clock::now());
  std::size_t count = 0;
  const auto done = [&](std::size_t index, const Evaluation& evaluation) {
    const auto now = Clock::now();
    Clock::time_point& slot = ends[count++ % ends.size()];
    const auto& [wish, copies] = pending.at(index);
    Trial trial;
    trial.number = wish.number;
    trial.source = wish.source;
    trial.assignment = wish.assignment;
    trial.evaluation = evaluation;
    trial.seconds = std::chrono::duration<double>(now - slot).count();
    trial.late = late.contains(wish.number);
    slot = now;
    const Trial& kept = record(std::move(trial));
    for (const Wish& copy : copies) record(CopyFor(copy, kept, late));
  };
  problem.Evaluate(batch, done, should_stop);
}

/// Runs a batch. Returns false if it was stopped before every trial had a result.
bool RunBatch(const Inputs& in, const std::vector<Wish>& wishes, const Record& record,
              const Stop& should_stop, Trials& trials) {
  for (const Wish& wish : wishes) TakeFromJournal(wish, in.options.resume, trials);
  if (AreDone(wishes, trials)) return true;
  if (should_stop()) return false;
  const std::vector<Pending> pending = CopyKnown(wishes, in.options.known, trials, record);
  if (!pending.empty()) Evaluate(in.problem, pending, trials.late, record, should_stop);
  return AreDone(wishes, trials);
}

/// Tells the agent and the stop rules the results of a round, in order of trial number.
void Tell(const Inputs& in, const std::vector<Wish>& wishes, const Trials& trials,
          StopCheck& rules) {
  std::vector<TrialResult> results;
  for (const Wish& wish : wishes) {
    const Trial& trial = trials.done.at(wish.number);
    results.push_back(TrialResultOf(in.options.objective, trial));
    if (!results.back().unknown) rules.Hear(trial);
  }
  if (!results.empty()) in.agent.Tell(results);
}

/// Runs round after round. Returns why the study ends.
StopReason RunRounds(const Inputs& in, const std::vector<GoalRecord>& verdicts,
                     const Record& record, const Stop& should_stop, Trials& trials,
                     std::optional<StopReason>& stopped) {
  const std::uint64_t most = in.options.trials;
  StopCheck rules(in.options.stop, in.options.objective);
  // Has trials that reach the goal confirmed. Returns false if stopped before.
  const auto settle_goal = [&] {
    const std::vector<Trial> claims = rules.Claims();
    if (claims.empty()) return true;
    const std::optional<bool> holds =
        in.options.confirm ? Confirm(in, claims, verdicts, should_stop, stopped) : true;
    if (holds) rules.Settle(*holds);
    return holds.has_value();
  };
  std::vector<Wish> wishes = FirstWishes(in.problem, in.options);
  std::uint64_t first = 0;
  bool exhausted = false;
  // The anchors are a round of their own, unless the agent does not use results.
  if (!in.agent.round()) exhausted = !Ask(in, wishes.size(), wishes);
  while (true) {
    const std::uint64_t next = first + wishes.size();
    if (first < most) {
      wishes.resize(std::min<std::uint64_t>(wishes.size(), most - first));
      if (!RunBatch(in, wishes, record, should_stop, trials)) return *stopped;
      Tell(in, wishes, trials, rules);
      // A round that `trials` truncates is settled only once it is complete.
      if (next <= most && !settle_goal()) return *stopped;
    }
    // Likewise for the other rules: a resume with more trials may complete the round and improve on
    // it.
    if (const auto reason = rules.reason(); reason && next <= most) return *reason;
    if (next >= most) return StopReason::kTrials;
    if (exhausted) return StopReason::kExhausted;
    first = next;
    wishes.clear();
    exhausted = !Ask(in, first, wishes);
  }
}

// --- reporting -----------------------------------------------------------------------------------

/// Reports the state after the trial `last`; nullptr at the start, when all are of the journal.
void Report(const Inputs& in, const Trials& trials, const Trial* last,
            const std::function<void(const Progress&)>& progress, Pace& pace) {
  if (!progress) return;
  Progress now;
  now.done = trials.done.size() + trials.past.size();
  now.total = std::max<std::uint64_t>(in.options.trials, now.done);
  now.failed = trials.failed;
  now.last = last;
  now.best = trials.best;
  now.hypervolume = trials.front.Volume();
  const double used = in.time.Used();
  if (last != nullptr) {
    pace.left.Done(kTrials, used - pace.reported);
  } else {
    double seconds = 0;
    for (const auto& [number, trial] : trials.past) seconds += trial.seconds;
    const double each = now.done > 0 ? seconds / static_cast<double>(now.done) : 0;
    pace.left.Expect(kTrials, now.total - now.done,
                     each / static_cast<double>(in.problem.parallelism()));
  }
  pace.reported = used;
  const double left = std::min(pace.left.Seconds().value_or(0), in.time.Free());
  now.left = std::chrono::duration<double>(left);
  progress(now);
}

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

StudyResult RunStudy(SearchProblem& problem, Agent& agent, Journal& journal,
                     const StudyOptions& options,
                     const std::function<void(const Progress&)>& progress,
                     const std::function<bool()>& stop) {
  TimeBudget unlimited;
  if (options.time == nullptr) unlimited.AddEarlier(UsedIn(journal.records()));
  const TimeBudget& time = options.time != nullptr ? *options.time : unlimited;
  const Inputs in{problem, agent, journal, options, time};
  CheckObjective(options.objective, problem.metrics());
  CheckGoal(options.stop.goal, problem.metrics());

  Trials trials{.front = FeasibleFront(options.objective)};
  OpenJournal(in, trials);
  const std::vector<GoalRecord> verdicts = VerdictsIn(journal.records());
  Stopping stopping{.ticked = time.Used()};
  Pace pace{.left = TimeLeft(std::max<std::size_t>(problem.parallelism(), 1)),
            .reported = stopping.ticked};
  journal.Append(json{
      {"type", "start"}, {"pid", ::getpid()}, {"trials", options.trials}, {"used", stopping.ticked}}
                     .dump());
  Report(in, trials, nullptr, progress, pace);

  const Record record = [&](Trial trial) -> const Trial& {
    trial.finished =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    journal.Append(ToJson(trial));  // before anything else uses it
    const std::uint64_t number = trial.number;
    const Trial& kept = trials.done.emplace(number, std::move(trial)).first->second;
    Count(options.objective, kept, trials);
    Report(in, trials, &kept, progress, pace);
    return kept;
  };
  const Stop should_stop = [&] { return ShouldStop(in, stop, !trials.tried.empty(), stopping); };
  const StopReason reason = RunRounds(in, verdicts, record, should_stop, trials, stopping.reason);
  journal.Append(
      reason == StopReason::kInterrupted
          ? TickRecord(time.Used())
          : json{{"type", "end"}, {"reason", Name(reason)}, {"used", time.Used()}}.dump());
  return ResultOf(options.objective, std::move(trials), reason);
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
