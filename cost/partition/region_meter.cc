#include "cost/partition/region_meter.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/temporary_folder.h"
#include "compiler/ir/serialize.h"
#include "cost/measure/child.h"
#include "cost/measure/core_lock.h"
#include "cost/measure/persist.h"

namespace msc::cost {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kFolderPrefix = "mscgym-regions-";

/// Fewest runners for which a child that compiles their kernels together pays off: starting
/// compilers takes longer than starting the child.
constexpr std::size_t kMany = 2;

/// Runners that are not reported yet.
struct Work {
  std::size_t group = 0;
  std::vector<std::size_t> runners;
};

/// Returns the complete lines of a file after its first `read` bytes, and counts them as read.
std::vector<std::string> NewLines(const std::string& path, std::size_t& read) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(read));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    read += line.size() + 1;
    lines.push_back(std::move(line));
  }
  return lines;
}

/// What children work on, and how they are started.
struct Children {
  const RegionMeterOptions& options;
  const std::string request;  ///< path of the request of a child
  const RegionRequest whole;  ///< for all groups
  const std::function<bool()>& stop;
};

/// The work that a child began last.
struct Begun {
  bool timing = false;
  Work asked;
  std::size_t runner = 0;
};

/// How a child ended.
struct ChildEnd {
  std::optional<Failure> failure = {};
  bool stopped = false;  ///< because `stop` said so
};

/// What a child that measures has told.
struct Heard {
  double at = 0;  ///< time of the last answer, by the child's clock
  RegionEvent state = RegionEvent::kBuilds;
  std::optional<Begun> begun = {};
  std::optional<Failure> interruption = {};  ///< of a compiler that the child started
};

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// --- the queue -----------------------------------------------------------------------------------

std::vector<Work> WorkOf(std::span<const RegionGroup> groups) {
  std::vector<Work> queue;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].runners.empty()) continue;
    Work& work = queue.emplace_back(Work{.group = i, .runners = {}});
    for (std::size_t k = 0; k < groups[i].runners.size(); ++k) work.runners.push_back(k);
  }
  return queue;
}

/// Returns how many runners are not reported yet.
std::size_t CountLeft(const std::vector<Work>& queue) {
  std::size_t left = 0;
  for (const Work& work : queue) left += work.runners.size();
  return left;
}

/// Reports an outcome, unless the runner was reported before.
void Report(std::size_t group, std::size_t runner, const Result<Outcome>& outcome,
            std::vector<Work>& queue, const RegionMeter::Done& give) {
  for (auto work = queue.begin(); work != queue.end(); ++work) {
    if (work->group != group || std::erase(work->runners, runner) == 0) continue;
    if (work->runners.empty()) queue.erase(work);
    return give(group, runner, outcome);
  }
}

/// Reports the failure for the work during which the child failed, or splits that work into single
/// runners.
void Blame(const Failure& failure, const std::optional<Begun>& begun, std::vector<Work>& queue,
           const RegionMeter::Done& give) {
  if (!begun) {
    // The child never reached its work, and another one would not either.
    for (const Work& work : std::exchange(queue, {})) {
      for (const std::size_t runner : work.runners) give(work.group, runner, failure);
    }
    return;
  }
  const std::vector<std::size_t>& asked = begun->asked.runners;
  const auto at = std::find_if(queue.begin(), queue.end(), [&](const Work& work) {
    return work.group == begun->asked.group &&
           std::find(asked.begin(), asked.end(), work.runners.front()) != asked.end();
  });
  if (at == queue.end()) {
    // All work that it began was reported, so it failed on the way to the next.
    const Work next = queue.front();
    Report(next.group, next.runners.front(), failure, queue, give);
  } else if (!begun->timing || at->runners.size() == 1) {
    Report(at->group, begun->timing ? at->runners.front() : begun->runner, failure, queue, give);
  } else {
    const Work together = *at;
    queue.erase(at);
    for (const std::size_t runner : together.runners) {
      queue.push_back({.group = together.group, .runners = {runner}});
    }
  }
}

// --- children ------------------------------------------------------------------------------------

std::optional<CoreLock> Lock(const Children& children, const std::vector<int>& cores, CoreUse use,
                             double& waiting) {
  const Clock::time_point start = Clock::now();
  std::optional<CoreLock> lock = LockCores(children.options.lock_folder, cores, use, children.stop);
  waiting += SecondsSince(start);
  return lock;
}

/// Writes the request for the work in the queue. Returns the path of the file for the answers.
std::string WriteRequest(const Children& children, const std::vector<Work>& queue,
                         bool only_kernels) {
  RegionRequest request = children.whole;
  request.only_kernels = only_kernels;
  request.groups.clear();
  for (const Work& work : queue) {
    const RegionGroup& all = children.whole.groups[work.group];
    RegionGroup& group =
        request.groups.emplace_back(RegionGroup{.nodes = all.nodes, .runners = {}});
    for (const std::size_t i : work.runners) {
      group.runners.push_back(all.runners[i]);
      group.sources.push_back(all.sources[i]);
    }
  }
  std::filesystem::remove(request.answers);
  WriteFileAtomic(children.request, ToJson(request));
  return request.answers;
}

/// Runs a child on `cores` until it ends, hangs, or `stop` says so. `hear` returns whether the
/// child answered something new.
ChildEnd RunHeard(const Children& children, const std::vector<int>& cores,
                  const std::function<bool()>& hear) {
  const RegionMeterOptions& options = children.options;
  ChildCommand command;
  command.argv = options.child;
  command.argv.push_back(children.request);
  command.cores = cores;
  command.environment = ChildEnvironment(options.threads, /*bind=*/false, options.environment);
  // The time limit applies to each runner; their number limits the whole.
  command.limits.timeout = std::chrono::hours(24);
  command.limits.memory_bytes = options.memory_mb << 20U;
  Clock::time_point heard_at = Clock::now();
  Clock::time_point asked_at = heard_at;
  bool hung = false;
  ChildEnd end;
  const auto report = RunChild(command, [&] {
    // Calls are 20 ms apart. A longer pause means that this process itself was stopped.
    constexpr Clock::duration kLongest = std::chrono::seconds(1);
    const Clock::time_point now = Clock::now();
    const auto pause = now - std::exchange(asked_at, now);
    if (pause > kLongest) heard_at += pause;
    if (hear()) heard_at = now;
    end.stopped = children.stop && children.stop();
    hung = now - heard_at >= std::chrono::milliseconds(options.patience_ms);
    return end.stopped || hung;
  });
  if (!report.ok()) {
    end.failure = hung ? Failure{FailureKind::kTimeout,
                                 "no answer within " + std::to_string(options.patience_ms) + " ms"}
                       : report.failure();
  }
  return end;
}

/// Returns an answer of a child; nothing if the line is malformed, which is no error of the user.
std::optional<RegionAnswer> AnswerFrom(const std::string& line) {
  try {
    return RegionAnswerFromJson(line);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// Compiles kernels into the cache, if there are many. The measurement reports everything that
/// fails here.
void CompileKernels(const Children& children, const std::vector<Work>& queue,
                    const std::function<void()>& tell, RegionMeter::Progress& progress,
                    RegionMeter::Spent& spent) {
  std::size_t runners = 0;
  for (const Work& work : queue) {
    if (!children.whole.groups[work.group].nodes.empty()) runners += work.runners.size();
  }
  const std::vector<int>& cores = children.options.build_cores;
  if (cores.empty() || runners < kMany) return;
  progress.groups = queue.size();
  tell();
  const auto lock = Lock(children, cores, CoreUse::kShared, spent.waiting);
  if (!lock) return;
  const Clock::time_point start = Clock::now();
  const std::string answers = WriteRequest(children, queue, true);
  std::size_t read = 0;
  (void)RunHeard(children, cores, [&] {
    const std::vector<std::string> lines = NewLines(answers, read);
    if (lines.empty()) return false;
    if (const auto answer = AnswerFrom(lines.back())) {
      // The group is 0 while code is generated; only later groups show the progress of compiling.
      const std::size_t group = answer->group;
      if (group > progress.compiled && group < progress.groups) progress.compiled = group;
      tell();
    }
    return true;
  });
  progress.compiled = progress.groups;
  tell();
  spent.kernels += SecondsSince(start);
}

/// Adds the time up to `at` to the state that the child was in, and notes its next `state`.
void Account(double at, RegionEvent state, Heard& heard, RegionMeter::Spent& spent) {
  double& seconds = heard.state == RegionEvent::kTimes ? spent.timing : spent.build;
  seconds += std::max(at - heard.at, 0.0);
  heard.at = at;
  heard.state = state;
}

/// Takes an answer. `asked` is the work of the request, whose indices answers use.
void Hear(const RegionAnswer& answer, const std::vector<Work>& asked, std::vector<Work>& queue,
          const RegionMeter::Done& give, Heard& heard, RegionMeter::Spent& spent) {
  if (answer.group >= asked.size() || answer.runner >= asked[answer.group].runners.size()) return;
  Account(answer.at, answer.state, heard, spent);
  const Work& work = asked[answer.group];
  const std::size_t runner = work.runners[answer.runner];
  const Result<Outcome>& outcome = answer.outcome;
  if (answer.state != RegionEvent::kGave) {
    heard.begun =
        Begun{.timing = answer.state == RegionEvent::kTimes, .asked = work, .runner = runner};
  } else if (!outcome.ok() && outcome.failure().kind == FailureKind::kLost) {
    // A compiler was interrupted; another child repeats this.
    heard.interruption = outcome.failure();
  } else {
    Report(work.group, runner, outcome, queue, give);
  }
}

/// Has a child measure the queue.
ChildEnd MeasureInChild(const Children& children, std::vector<Work>& queue,
                        const RegionMeter::Done& give, Heard& heard, RegionMeter::Spent& spent) {
  const std::vector<Work> asked = queue;
  const std::string answers = WriteRequest(children, asked, false);
  std::size_t read = 0;
  const auto hear = [&] {
    const std::vector<std::string> lines = NewLines(answers, read);
    for (const std::string& line : lines) {
      const auto answer = AnswerFrom(line);  // missing answers are noticed later
      if (answer) Hear(*answer, asked, queue, give, heard, spent);
    }
    return !lines.empty();
  };
  const Clock::time_point start = Clock::now();
  ChildEnd end = RunHeard(children, children.options.cores, hear);
  hear();
  // After its last answer, the child was still in the state that it reported last.
  Account(std::max(SecondsSince(start), heard.at), RegionEvent::kBuilds, heard, spent);
  return end;
}

/// Measures the queue in one child after another, until it is empty or stopped.
void MeasureAll(const Children& children, std::vector<Work> queue, const RegionMeter::Done& give,
                RegionMeter::Spent& spent) {
  int tries = 0;  // consecutive children that were interrupted without a result
  while (!queue.empty()) {
    const std::size_t left = CountLeft(queue);
    Heard heard;
    const ChildEnd end = MeasureInChild(children, queue, give, heard, spent);
    if (end.stopped || queue.empty()) break;
    if (end.failure && end.failure->kind == FailureKind::kLost) heard.interruption = end.failure;
    if (!heard.interruption) {
      tries = 0;
      Blame(end.failure.value_or(Failure{FailureKind::kCrash, "ended before the work did"}),
            heard.begun, queue, give);
      continue;
    }
    tries = CountLeft(queue) < left ? 1 : tries + 1;
    if (WaitToTryAgain(tries, children.stop)) continue;
    if (tries < kMaxTries) break;
    Blame(GivenUp(*heard.interruption, tries), heard.begun, queue, give);
    tries = 0;
  }
}

}  // namespace

RegionMeter::RegionMeter(const RegionSource& source, RegionMeterOptions options)
    : source_(source), options_(std::move(options)) {
  Check(!options_.child.empty(), "a region meter knows how to start a child");
}

RegionMeter::~RegionMeter() = default;

std::int64_t RegionMeter::IndexOf(const RegionSource& source) {
  const auto at = std::find(written_.begin(), written_.end(), &source);
  if (at != written_.end()) return at - written_.begin();
  const std::string stem = folder_->path() + "/graph" + std::to_string(written_.size());
  SaveGraph(source.graph(), stem);
  written_.push_back(&source);
  files_.push_back({.graph = stem, .added = {source.added().begin(), source.added().end()}});
  return static_cast<std::int64_t>(written_.size()) - 1;
}

RegionMeter::Spent& RegionMeter::Spent::operator+=(const Spent& other) {
  kernels += other.kernels;
  build += other.build;
  timing += other.timing;
  waiting += other.waiting;
  return *this;
}

RegionRequest RegionMeter::RequestFor(std::span<const RegionGroup> groups,
                                      const RegionTiming& timing) {
  RegionRequest request{.sources = {},
                        .answers = folder_->path() + "/answers",
                        .threads = options_.threads,
                        .timing = timing,
                        .groups = {groups.begin(), groups.end()}};
  for (RegionGroup& group : request.groups) {
    for (const RegionRunner& runner : group.runners) {
      group.sources.push_back(IndexOf(source_.ForPlan(runner.target, runner.partition)));
    }
  }
  request.sources = files_;
  return request;
}

RegionMeter::Spent RegionMeter::Measure(std::span<const RegionGroup> groups,
                                        const RegionTiming& timing, const Done& done,
                                        const std::function<bool()>& stop, const Watch& watch) {
  if (folder_ == nullptr) {
    MakeFolders(options_.scratch);
    SweepTemporaryFolders(options_.scratch, kFolderPrefix);
    folder_ = std::make_unique<TemporaryFolder>(options_.scratch, kFolderPrefix);
  }
  std::vector<Work> queue = WorkOf(groups);
  if (queue.empty()) return {};
  const Children children{.options = options_,
                          .request = folder_->path() + "/request.json",
                          .whole = RequestFor(groups, timing),
                          .stop = stop};
  Spent spent;
  Progress progress{.runners = CountLeft(queue)};
  const auto tell = [&] {
    if (watch) watch(progress);
  };
  const Done give = [&](std::size_t group, std::size_t runner, const Result<Outcome>& outcome) {
    ++progress.measured;
    done(group, runner, outcome);
    tell();
  };
  CompileKernels(children, queue, tell, progress, spent);
  tell();
  const auto lock = Lock(children, options_.cores, CoreUse::kExclusive, spent.waiting);
  if (lock) MeasureAll(children, std::move(queue), give, spent);
  return spent;
}

}  // namespace msc::cost
