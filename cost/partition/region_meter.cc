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

class RegionMeter::Folder {
 public:
  explicit Folder(const std::string& parent) : folder_(Swept(parent), kPrefix) {}
  [[nodiscard]] std::string At(const std::string& name) const {
    return folder_.path() + "/" + name;
  }

 private:
  static constexpr const char* kPrefix = "mscgym-regions-";

  static const std::string& Swept(const std::string& parent) {
    MakeFolders(parent);
    SweepTemporaryFolders(parent, kPrefix);
    return parent;
  }

  TemporaryFolder folder_;
};

namespace {

using Clock = std::chrono::steady_clock;

/// Fewest runners for which a child that compiles their kernels together pays off: starting
/// compilers takes longer than starting the child.
constexpr std::size_t kMany = 2;

/// Runners that are not reported yet.
struct Work {
  std::size_t group = 0;
  std::vector<std::size_t> runners;
};

/// Reads complete lines that a child appends to a file.
class Tail {
 public:
  explicit Tail(std::string path) : path_(std::move(path)) {}

  std::vector<std::string> NewLines() {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(read_));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line) && !file.eof();) {
      read_ += line.size() + 1;
      lines.push_back(std::move(line));
    }
    return lines;
  }

 private:
  std::string path_;
  std::size_t read_ = 0;
};

}  // namespace

/// One call of Measure.
class RegionMeter::Batch {
 public:
  Batch(RegionMeter& meter, std::span<const RegionGroup> groups, const RegionTiming& timing,
        const Done& done, const std::function<bool()>& stop, const Watch& watch)
      : meter_(meter), groups_(groups), timing_(timing), done_(done), stop_(stop), watch_(watch) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      Work work{.group = i, .runners = {}};
      for (std::size_t k = 0; k < groups[i].runners.size(); ++k) work.runners.push_back(k);
      progress_.runners += work.runners.size();
      if (!work.runners.empty()) queue_.push_back(std::move(work));
    }
  }

  Spent Run() {
    if (queue_.empty()) return {};
    CompileKernels();
    Tell();
    const auto lock = Lock(meter_.options_.cores, CoreUse::kExclusive);
    int tries = 0;  // consecutive children that were interrupted without a result
    while (lock && !queue_.empty()) {
      const std::size_t left = CountLeft();
      interruption_.reset();
      const std::optional<Failure> failure = RunOneChild();
      if (stopped_) break;
      std::erase_if(queue_, [](const Work& work) { return work.runners.empty(); });
      if (queue_.empty()) break;
      if (failure && failure->kind == FailureKind::kLost) interruption_ = failure;
      if (!interruption_) {
        tries = 0;
        Blame(failure.value_or(Failure{FailureKind::kCrash, "ended before the work did"}));
        continue;
      }
      tries = CountLeft() < left ? 1 : tries + 1;
      if (WaitToTryAgain(tries, stop_)) continue;
      if (tries < kMaxTries) break;
      Blame(GivenUp(*interruption_, tries));
      tries = 0;
    }
    return spent_;
  }

 private:
  /// Returns how many runners are not reported yet.
  [[nodiscard]] std::size_t CountLeft() const {
    std::size_t left = 0;
    for (const Work& work : queue_) left += work.runners.size();
    return left;
  }

  [[nodiscard]] std::optional<Failure> RunOneChild() {
    ChildCommand command = Command(meter_.options_.cores);
    Tail tail(WriteRequest(false));
    begun_.reset();
    heard_at_ = 0;
    heard_state_ = RegionEvent::kBuilds;
    const Clock::time_point start = Clock::now();
    bool hung = false;
    const auto report = RunChild(command, [&] { return Ends([&] { return Hear(tail); }, hung); });
    Hear(tail);
    // After its last answer, the child was still in the state that it reported last.
    const double taken = std::chrono::duration<double>(Clock::now() - start).count();
    Account(std::max(taken, heard_at_), RegionEvent::kBuilds);
    if (report.ok()) return std::nullopt;
    if (hung) {
      return Failure{FailureKind::kTimeout,
                     "no answer within " + std::to_string(meter_.options_.patience_ms) + " ms"};
    }
    return report.failure();
  }

  [[nodiscard]] std::optional<CoreLock> Lock(const std::vector<int>& cores, CoreUse use) {
    const Clock::time_point start = Clock::now();
    std::optional<CoreLock> lock = LockCores(meter_.options_.lock_folder, cores, use, stop_);
    spent_.waiting += std::chrono::duration<double>(Clock::now() - start).count();
    return lock;
  }

  /// Compiles kernels into the cache. The measurement reports everything that fails here.
  void CompileKernels() {
    std::size_t runners = 0;
    for (const Work& work : queue_) {
      if (!groups_[work.group].nodes.empty()) runners += work.runners.size();
    }
    const std::vector<int>& cores = meter_.options_.build_cores;
    if (cores.empty() || runners < kMany) return;
    progress_.groups = queue_.size();
    Tell();
    const auto lock = Lock(cores, CoreUse::kShared);
    if (!lock) return;
    const Clock::time_point start = Clock::now();
    Tail tail(WriteRequest(true));
    bool hung = false;
    (void)RunChild(Command(cores), [&] { return Ends([&] { return HearCompiled(tail); }, hung); });
    progress_.compiled = progress_.groups;
    Tell();
    spent_.kernels += std::chrono::duration<double>(Clock::now() - start).count();
  }

  /// Returns whether there were new lines.
  bool HearCompiled(Tail& tail) {
    const std::vector<std::string> lines = tail.NewLines();
    if (lines.empty()) return false;
    try {
      const std::size_t group = RegionAnswerFromJson(lines.back()).group;
      // The group is 0 while code is generated; only later groups show the progress of compiling.
      if (group > progress_.compiled && group < progress_.groups) progress_.compiled = group;
      Tell();
    } catch (const UserError&) {
      return true;  // the child wrote this, so it is no error of the user
    }
    return true;
  }

  void Tell() const {
    if (watch_) watch_(progress_);
  }

  /// Returns whether to end a child: because `stop` says so, or because it hangs.
  template <class HearFrom>
  [[nodiscard]] bool Ends(const HearFrom& hear, bool& hung) {
    // Calls are 20 ms apart. A longer pause means that this process itself was stopped.
    constexpr Clock::duration kLongest = std::chrono::seconds(1);
    const Clock::time_point now = Clock::now();
    const auto pause = now - std::exchange(asked_at_, now);
    if (pause > kLongest) heard_ += pause;
    if (hear()) heard_ = now;
    stopped_ = stop_ && stop_();
    hung = now - heard_ >= std::chrono::milliseconds(meter_.options_.patience_ms);
    return stopped_ || hung;
  }

  [[nodiscard]] ChildCommand Command(const std::vector<int>& cores) {
    const RegionMeterOptions& options = meter_.options_;
    ChildCommand command;
    command.argv = options.child;
    command.argv.push_back(meter_.folder_->At("request.json"));
    command.cores = cores;
    command.environment = ChildEnvironment(options.threads, /*bind=*/false, options.environment);
    // The time limit applies to each runner; their number limits the whole.
    command.limits.timeout = std::chrono::hours(24);
    command.limits.memory_bytes = options.memory_mb << 20U;
    heard_ = asked_at_ = Clock::now();
    return command;
  }

  /// Writes the request and returns the path of the file for the answers.
  [[nodiscard]] std::string WriteRequest(bool only_kernels) {
    std::string answers = meter_.folder_->At("answers");
    std::filesystem::remove(answers);
    RegionRequest request = MakeRequest(answers);
    request.only_kernels = only_kernels;
    WriteFileAtomic(meter_.folder_->At("request.json"), ToJson(request));
    return answers;
  }

  [[nodiscard]] RegionRequest MakeRequest(const std::string& answers) {
    RegionRequest request;
    request.answers = answers;
    request.threads = meter_.options_.threads;
    request.timing = timing_;
    for (const Work& work : queue_) {
      RegionGroup group{.nodes = groups_[work.group].nodes, .runners = {}};
      for (const std::size_t i : work.runners) {
        const RegionRunner& runner = groups_[work.group].runners[i];
        group.runners.push_back(runner);
        group.sources.push_back(
            meter_.IndexOf(meter_.source_.ForPlan(runner.target, runner.partition)));
      }
      request.groups.push_back(std::move(group));
    }
    request.sources = meter_.files_;
    // Answers use indices of the request, even after parts of it are done.
    asked_ = queue_;
    return request;
  }

  /// Reports new results. Returns whether there were new lines.
  bool Hear(Tail& tail) {
    const std::vector<std::string> lines = tail.NewLines();
    for (const std::string& line : lines) {
      RegionAnswer answer;
      try {
        answer = RegionAnswerFromJson(line);
      } catch (const UserError&) {
        continue;  // the child wrote this; missing answers are noticed later
      }
      if (answer.group >= asked_.size() || answer.runner >= asked_[answer.group].runners.size()) {
        continue;
      }
      Account(answer.at, answer.state);
      const Work& asked = asked_[answer.group];
      const Result<Outcome>& outcome = answer.outcome;
      if (answer.state != RegionEvent::kGave) {
        begun_ = Begun{.timing = answer.state == RegionEvent::kTimes,
                       .asked = asked,
                       .runner = asked.runners[answer.runner]};
      } else if (!outcome.ok() && outcome.failure().kind == FailureKind::kLost) {
        // A compiler was interrupted; another child repeats this.
        interruption_ = outcome.failure();
      } else {
        Report(asked.group, asked.runners[answer.runner], outcome);
      }
    }
    return !lines.empty();
  }

  /// Adds the time up to `at` to the state that the child was in, and notes its next `state`.
  void Account(double at, RegionEvent state) {
    double& spent = heard_state_ == RegionEvent::kTimes ? spent_.timing : spent_.build;
    spent += std::max(at - heard_at_, 0.0);
    heard_at_ = at;
    heard_state_ = state;
  }

  void Give(std::size_t group, std::size_t runner, const Result<Outcome>& outcome) {
    ++progress_.measured;
    done_(group, runner, outcome);
    Tell();
  }

  /// Reports an outcome, unless the runner was reported before.
  void Report(std::size_t group, std::size_t runner, const Result<Outcome>& outcome) {
    for (Work& work : queue_) {
      if (work.group != group || std::erase(work.runners, runner) == 0) continue;
      Give(group, runner, outcome);
      return;
    }
  }

  /// Reports the failure for the work during which the child failed, or splits that work into
  /// single runners.
  void Blame(const Failure& failure) {
    if (!begun_) {
      // The child never reached its work, and another one would not either.
      for (const Work& work : std::exchange(queue_, {})) {
        for (const std::size_t runner : work.runners) Give(work.group, runner, failure);
      }
      return;
    }
    const std::vector<std::size_t>& asked = begun_->asked.runners;
    const auto at = std::find_if(queue_.begin(), queue_.end(), [&](const Work& work) {
      return work.group == begun_->asked.group &&
             std::find(asked.begin(), asked.end(), work.runners.front()) != asked.end();
    });
    if (at == queue_.end()) {
      // All work that it began was reported, so it failed on the way to the next.
      const Work next = queue_.front();
      Report(next.group, next.runners.front(), failure);
    } else if (!begun_->timing || at->runners.size() == 1) {
      Report(at->group, begun_->timing ? at->runners.front() : begun_->runner, failure);
    } else {
      const Work together = *at;
      queue_.erase(at);
      for (const std::size_t runner : together.runners) {
        queue_.push_back({.group = together.group, .runners = {runner}});
      }
    }
    std::erase_if(queue_, [](const Work& work) { return work.runners.empty(); });
  }

  struct Begun {
    bool timing = false;
    Work asked;
    std::size_t runner = 0;
  };

  RegionMeter& meter_;
  std::span<const RegionGroup> groups_;
  const RegionTiming& timing_;
  const Done& done_;
  const std::function<bool()>& stop_;
  const Watch& watch_;
  Progress progress_;
  std::vector<Work> queue_;
  std::vector<Work> asked_;
  Clock::time_point heard_;     ///< time of the last answer, by this process's clock
  Clock::time_point asked_at_;  ///< time of the last check for answers
  double heard_at_ = 0;         ///< time of the last answer, by the child's clock
  RegionEvent heard_state_ = RegionEvent::kBuilds;
  std::optional<Begun> begun_;
  Spent spent_;
  bool stopped_ = false;
  std::optional<Failure> interruption_;  ///< of the last child, or of a compiler that it started
};

RegionMeter::RegionMeter(const RegionSource& source, RegionMeterOptions options)
    : source_(source), options_(std::move(options)) {
  Check(!options_.child.empty(), "a region meter knows how to start a child");
}

RegionMeter::~RegionMeter() = default;

std::int64_t RegionMeter::IndexOf(const RegionSource& source) {
  const auto at = std::find(written_.begin(), written_.end(), &source);
  if (at != written_.end()) return at - written_.begin();
  const std::string stem = folder_->At("graph" + std::to_string(written_.size()));
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

RegionMeter::Spent RegionMeter::Measure(std::span<const RegionGroup> groups,
                                        const RegionTiming& timing, const Done& done,
                                        const std::function<bool()>& stop, const Watch& watch) {
  if (folder_ == nullptr) folder_ = std::make_unique<Folder>(options_.scratch);
  return Batch(*this, groups, timing, done, stop, watch).Run();
}

}  // namespace msc::cost
