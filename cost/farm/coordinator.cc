#include "cost/farm/coordinator.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "compiler/base/error.h"
#include "cost/farm/blobs.h"
#include "cost/farm/patience.h"

namespace msc::cost {
namespace {

using Clock = std::chrono::steady_clock;

/// How often Evaluate asks its caller whether to stop.
constexpr std::chrono::milliseconds kAskStop{20};
/// Time for the last packets to leave this process.
constexpr std::chrono::milliseconds kDrain{100};

[[noreturn]] void Throw(RemoteError error, const std::string& text) {
  if (error == RemoteError::kUser) throw UserError(text);
  if (error == RemoteError::kInternal) throw InternalError(text, __FILE__, __LINE__);
  throw SystemError(text);
}

}  // namespace

std::string BlobFolderOf(const std::string& run_folder) {
  return run_folder + "/blobs";
}

struct FarmEvaluator::State {
  State(Transport& farm, const FarmOptions& farm_options)
      : transport(farm),
        options(farm_options),
        dispatcher(farm_options, farm.size() - 1, Clock::now()) {}

  Transport& transport;  // used by the service thread only
  Patience patience;     // used by the service thread only
  const FarmOptions options;

  std::mutex mutex;  // guards the following members, up to `quit`
  std::condition_variable changed;
  Dispatcher dispatcher;
  std::map<std::uint64_t, FinishedTask> finished;
  std::vector<Attempt> attempts;  // not yet passed to `watch`
  bool watched = false;
  std::exception_ptr trouble;  // exception that ended the service thread
  bool quit = false;

  std::function<void(const Attempt&)> watch;  // used by the caller's thread only
  std::unique_ptr<BlobFolder> blobs;
  std::optional<FarmEnd> end;
  std::thread service;

  void Serve();
  void ServeOnce();
  void PostAll();
};

/// Runs on the service thread, which alone uses the transport. So leases are kept while the caller
/// is busy.
void FarmEvaluator::State::Serve() {
  try {
    while (true) {
      {
        const std::lock_guard lock(mutex);
        if (quit) return;
      }
      ServeOnce();
    }
  } catch (...) {  // rethrown by the thread that waits for results
    const std::lock_guard lock(mutex);
    trouble = std::current_exception();
    changed.notify_all();
  }
}

void FarmEvaluator::State::ServeOnce() {
  std::optional<Packet> packet = transport.Poll(patience.Next());
  if (packet) patience.Reset();
  const std::vector<int> dead = transport.dead_peers();
  std::vector<Dispatcher::Outgoing> outgoing;
  {
    const std::lock_guard lock(mutex);
    const auto now = Clock::now();
    if (packet) {
      const auto message = Decode(packet->bytes);
      if (message) {
        dispatcher.Receive(packet->from, *message, now);
      } else {
        dispatcher.ReceiveMalformed();
      }
    }
    // Messages that a rank sent before it died count, so it is lost only when none is left.
    if (!packet) {
      for (const int rank : dead) dispatcher.Lose(rank, "its process is gone");
    }
    dispatcher.Tick(now);
    for (auto& task : dispatcher.TakeFinished()) finished[task.task] = std::move(task);
    std::vector<Attempt> over = dispatcher.TakeAttempts();
    if (watched) std::move(over.begin(), over.end(), std::back_inserter(attempts));
    outgoing = dispatcher.TakeOutgoing();
    changed.notify_all();
  }
  if (!outgoing.empty()) patience.Reset();
  for (const auto& [to, message] : outgoing) transport.Post(to, Encode(message));
}

FarmEvaluator::FarmEvaluator(Transport& transport, const FarmOptions& options) {
  Check(transport.rank() == 0 && transport.size() >= 2, "rank 0 of at least two coordinates");
  state_ = std::make_unique<State>(transport, options);
  state_->service = std::thread([state = state_.get()] { state->Serve(); });
}

FarmEvaluator::~FarmEvaluator() {
  Finish();
}

void FarmEvaluator::Open(const std::string& run_folder) {
  if (run_folder.size() > kMaxText) {
    throw UserError("the path of the run folder has " + std::to_string(run_folder.size()) +
                    " bytes; a farm allows " + std::to_string(kMaxText));
  }
  Check(state_->blobs == nullptr, "a farm is opened once");
  state_->blobs = std::make_unique<BlobFolder>(BlobFolderOf(run_folder));
  state_->blobs->Clear();  // remove blobs of a run that was killed
  const std::lock_guard lock(state_->mutex);
  state_->dispatcher.Open(run_folder);
}

void FarmEvaluator::Watch(std::function<void(const Attempt&)> watch) {
  state_->watch = std::move(watch);
  const std::lock_guard lock(state_->mutex);
  state_->watched = static_cast<bool>(state_->watch);
}

FarmEnd FarmEvaluator::Finish() {
  if (state_->end) return *state_->end;
  {
    std::unique_lock lock(state_->mutex);
    const auto wait_for = [&](auto duration, const auto& condition) {
      return state_->changed.wait_for(lock, duration,
                                      [&] { return state_->trouble != nullptr || condition(); });
    };
    state_->dispatcher.Stop();
    wait_for(std::chrono::duration<double>(state_->options.stop_seconds),
             [&] { return state_->dispatcher.AllGone(); });
    const bool clean =
        state_->trouble == nullptr && state_->dispatcher.AllGone() && state_->dispatcher.clean();
    for (int rank = 1; !state_->dispatcher.AllGone() && rank < state_->transport.size(); ++rank) {
      state_->dispatcher.Lose(rank, "did not stop in time");
    }
    state_->dispatcher.Leave();
    state_->end = clean ? FarmEnd::kClean : FarmEnd::kAfterLoss;
    wait_for(kDrain, [] { return false; });
    state_->quit = true;
  }
  state_->service.join();
  if (*state_->end == FarmEnd::kClean && state_->blobs) state_->blobs->Clear();
  return *state_->end;
}

FarmStats FarmEvaluator::stats() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dispatcher.stats();
}

std::size_t FarmEvaluator::DoParallelism() const {
  const std::lock_guard lock(state_->mutex);
  return std::max<std::size_t>(1, state_->dispatcher.live());
}

/// The tasks of one call of Evaluate. The destructor drops the unfinished ones, however the call
/// ends.
class FarmEvaluator::Call {
 public:
  Call(State& state, std::span<const Candidate> batch) : state_(state), batch_(batch) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    const std::lock_guard lock(state_.mutex);
    for (const auto& [task, index] : open_) {
      state_.dispatcher.Forget(task);
      state_.finished.erase(task);
    }
  }

  [[nodiscard]] bool finished() const { return open_.empty() && next_ == batch_.size(); }

  /// Submits enough tasks that every worker is busy and has a next task. Storing thousands of
  /// strategies first would keep the workers waiting.
  void Feed() {
    while (next_ < batch_.size() && open_.size() < 2 * Live() + 1) {
      const Candidate& candidate = batch_[next_];
      const std::string blob = state_.blobs->Put(ToJson(candidate.strategy));
      const std::lock_guard lock(state_.mutex);
      const auto measure = static_cast<std::uint8_t>(candidate.measure);
      open_[state_.dispatcher.Submit(blob, measure)] = next_++;
    }
  }

  /// Returns the finished tasks; waits briefly if there are none.
  std::vector<FinishedTask> Wait() {
    std::unique_lock lock(state_.mutex);
    state_.changed.wait_for(lock, kAskStop,
                            [&] { return !state_.finished.empty() || state_.trouble != nullptr; });
    if (state_.trouble) std::rethrow_exception(state_.trouble);
    std::vector<FinishedTask> tasks;
    for (auto& [number, task] : state_.finished) tasks.push_back(std::move(task));
    state_.finished.clear();
    if (tasks.empty() && state_.dispatcher.live() == 0) {
      throw SystemError("no worker of the farm is left: " + state_.dispatcher.Losses());
    }
    return tasks;
  }

  /// Passes ended attempts to `watch`.
  void TellWatch() {
    if (!state_.watch) return;
    std::vector<Attempt> attempts;
    {
      const std::lock_guard lock(state_.mutex);
      attempts.swap(state_.attempts);
    }
    for (const Attempt& attempt : attempts) state_.watch(attempt);
  }

  /// Reports a finished task, or requests another attempt.
  void Close(const FinishedTask& task, const Done& done) {
    const auto it = open_.find(task.task);
    if (it == open_.end()) return;
    if (task.error != RemoteError::kNone) Throw(task.error, task.text);
    std::optional<Result<Outcome>> result;
    if (task.failure) {
      result = *task.failure;
    } else {
      result = Read(task);
    }
    if (!result) return;
    const std::size_t index = it->second;
    {
      const std::lock_guard lock(state_.mutex);
      state_.dispatcher.Forget(task.task);
    }
    open_.erase(it);
    done(index, *result);
  }

 private:
  /// Returns nothing if the result cannot be read, for example after disk trouble of a worker.
  std::optional<Result<Outcome>> Read(const FinishedTask& task) {
    std::string why;
    try {
      return OutcomeFromJson(state_.blobs->Get(task.blob));
    } catch (const SystemError& error) {
      why = error.what();
    } catch (const UserError& error) {
      why = error.what();
    }
    const std::lock_guard lock(state_.mutex);
    state_.dispatcher.Retry(task.task, why);
    return std::nullopt;
  }

  std::size_t Live() {
    const std::lock_guard lock(state_.mutex);
    return state_.dispatcher.live();
  }

  State& state_;
  std::span<const Candidate> batch_;
  std::size_t next_ = 0;                       // first candidate that is not submitted yet
  std::map<std::uint64_t, std::size_t> open_;  // task -> index in the batch
};

void FarmEvaluator::DoEvaluate(std::span<const Candidate> batch, const Done& done,
                               const std::function<bool()>& stop) {
  Check(state_->blobs != nullptr, "a farm is opened before it evaluates");
  if (batch.empty() || (stop && stop())) return;
  Call call(*state_, batch);
  while (!call.finished()) {
    call.Feed();
    const std::vector<FinishedTask> finished = call.Wait();
    call.TellWatch();
    for (const FinishedTask& task : finished) call.Close(task, done);
    if (!call.finished() && stop && stop()) return;
  }
}

}  // namespace msc::cost
