#include "cost/farm/worker.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "compiler/base/error.h"
#include "cost/farm/blobs.h"
#include "cost/farm/coordinator.h"
#include "cost/farm/patience.h"
#include "cost/farm/protocol.h"

namespace msc::cost {
namespace {

using Clock = std::chrono::steady_clock;

/// How often a leaving worker checks whether its evaluation has ended.
constexpr std::chrono::milliseconds kDrainCheck{2};

Clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Owns the thread that evaluates: one job at a time, each answered by one message.
class Runner {
 public:
  explicit Runner(const WorkerSetup& setup) : setup_(setup), thread_([this] { Loop(); }) {}
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner() {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
      cancelled_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void Start(const Message& job) {
    const std::lock_guard lock(mutex_);
    Check(!busy_, "a worker does one thing at a time");
    job_ = job;
    busy_ = true;
    cancelled_ = false;
    changed_.notify_all();
  }
  void Cancel() { cancelled_ = true; }
  [[nodiscard]] bool busy() const {
    const std::lock_guard lock(mutex_);
    return busy_;
  }
  /// Returns the answer to the last job, once.
  [[nodiscard]] std::optional<Message> TakeAnswer() {
    const std::lock_guard lock(mutex_);
    return std::exchange(answer_, std::nullopt);
  }

 private:
  void Loop() {
    while (true) {
      Message job;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return quit_ || job_; });
        if (quit_) break;
        job = *std::exchange(job_, std::nullopt);
      }
      Message answer = Do(job);
      answer.task = job.task;
      answer.attempt = job.attempt;
      const std::lock_guard lock(mutex_);
      answer_ = std::move(answer);
      busy_ = false;
    }
    evaluator_.reset();  // destroyed on the thread that made it
  }

  /// Runs a job. All exceptions of evaluating code become answers here.
  Message Do(const Message& job) {
    Message answer;
    const bool making = job.kind == MessageKind::kHello;
    answer.kind = making ? MessageKind::kRefuse : MessageKind::kThrew;
    try {
      return making ? Make(job) : Evaluate(job);
    } catch (const UserError& error) {
      answer.error = RemoteError::kUser;
      answer.text = error.what();
    } catch (const std::logic_error& error) {
      answer.error = RemoteError::kInternal;
      answer.text = error.what();
    } catch (const std::exception& error) {
      answer.error = RemoteError::kSystem;
      answer.text = error.what();
    }
    return answer;
  }

  Message Make(const Message& job) {
    blobs_.emplace(BlobFolderOf(job.text));
    evaluator_ = setup_.make_evaluator(job.text);
    Check(evaluator_ != nullptr, "a worker is given an evaluator");
    Message answer;
    answer.kind = MessageKind::kReady;
    return answer;
  }

  Message Evaluate(const Message& job) {
    Check(evaluator_ != nullptr, "a worker is ready before it gets tasks");
    Candidate candidate;
    candidate.strategy = StrategyFromJson(blobs_->Get(job.blob), "the candidate");
    candidate.measure = static_cast<Measure>(job.measure);
    std::optional<std::string> result;
    evaluator_->Evaluate(
        {&candidate, 1},
        [&](std::size_t /*index*/, const Result<Outcome>& outcome) { result = ToJson(outcome); },
        [&] { return cancelled_.load(); });
    Message answer;
    answer.kind = result ? MessageKind::kResult : MessageKind::kDropped;
    if (result) answer.blob = blobs_->Put(*result);
    return answer;
  }

  const WorkerSetup& setup_;
  std::unique_ptr<Evaluator> evaluator_;  // used by the thread only
  std::optional<BlobFolder> blobs_;       // used by the thread only

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Message> job_;
  std::optional<Message> answer_;
  bool busy_ = false;
  bool quit_ = false;
  std::atomic<bool> cancelled_ = false;
  std::thread thread_;  // last, because it uses the other members
};

class Worker {
 public:
  Worker(Transport& transport, const WorkerSetup& setup)
      : transport_(transport), setup_(setup), runner_(setup) {}

  WorkerEnd Run() {
    while (true) {
      const auto now = Clock::now();
      if (now - heard_ > Seconds(setup_.options.coordinator_lease_seconds) || IsGone(0)) {
        Drain();
        return WorkerEnd::kCoordinatorLost;
      }
      if (now >= next_beat_) Beat(now);
      if (const auto packet = transport_.Poll(patience_.Next())) {
        patience_.Reset();
        const auto message = packet->from == 0 ? Decode(packet->bytes) : std::nullopt;
        if (message) Handle(*message);
      }
      if (auto answer = runner_.TakeAnswer()) {
        Post(*answer);
        patience_.Reset();  // the next task is probably on its way
      }
      if (stopping_ && !said_bye_ && !runner_.busy()) SayBye();
      if (leave_) return *leave_;
      if (stopping_ && !abandoned_ && runner_.busy() && Clock::now() >= give_up_) Abandon();
    }
  }

 private:
  [[nodiscard]] bool IsGone(int peer) const {
    const auto dead = transport_.dead_peers();
    return std::find(dead.begin(), dead.end(), peer) != dead.end();
  }

  void Post(const Message& message) { transport_.Post(0, Encode(message)); }

  void Beat(Clock::time_point now) {
    next_beat_ = now + Seconds(setup_.options.beat_seconds);
    Message beat;
    beat.kind = MessageKind::kBeat;
    beat.task = task_;
    beat.attempt = attempt_;
    beat.busy = runner_.busy();
    // A finished answer must be sent before a beat that says "idle".
    if (!beat.busy) {
      if (auto answer = runner_.TakeAnswer()) Post(*answer);
    }
    Post(beat);
  }

  void Handle(const Message& message) {
    heard_ = Clock::now();
    switch (message.kind) {
      case MessageKind::kHello:
        if (std::exchange(greeted_, true)) break;
        runner_.Start(message);
        break;
      case MessageKind::kTask:
        TakeTask(message);
        break;
      case MessageKind::kCancel:
        if (message.task == task_ && message.attempt == attempt_) runner_.Cancel();
        break;
      case MessageKind::kStop:
        stopping_ = true;
        give_up_ = Clock::now() + Seconds(setup_.options.stop_seconds);
        runner_.Cancel();
        break;
      case MessageKind::kLeave:
        leave_ = message.clean ? WorkerEnd::kClean : WorkerEnd::kAfterLoss;
        break;
      default:
        break;  // a ping, or a kind that workers do not receive
    }
  }

  void TakeTask(const Message& message) {
    const bool again = message.task == task_ && message.attempt == attempt_;
    if (stopping_ || again) return;
    if (runner_.busy()) {
      // A message was lost, so the coordinator believes that this worker is idle. Reject the task
      // and continue with the running one.
      Message answer;
      answer.kind = MessageKind::kDropped;
      answer.task = message.task;
      answer.attempt = message.attempt;
      Post(answer);
      return;
    }
    if (auto answer = runner_.TakeAnswer()) Post(*answer);
    task_ = message.task;
    attempt_ = message.attempt;
    runner_.Start(message);
  }

  void SayBye() {
    if (auto answer = runner_.TakeAnswer()) Post(*answer);
    Message bye;
    bye.kind = MessageKind::kBye;
    Post(bye);
    said_bye_ = true;
  }

  /// Ends the running evaluation before leaving without the coordinator.
  void Drain() {
    runner_.Cancel();
    const auto deadline = Clock::now() + Seconds(setup_.options.stop_seconds);
    while (runner_.busy()) {
      if (!abandoned_ && Clock::now() >= deadline) Abandon();
      std::this_thread::sleep_for(kDrainCheck);
    }
  }

  void Abandon() {
    abandoned_ = true;
    if (setup_.abandon) setup_.abandon();
  }

  Transport& transport_;
  const WorkerSetup& setup_;
  Runner runner_;
  Patience patience_;
  Clock::time_point heard_ = Clock::now();
  Clock::time_point next_beat_ = Clock::now();
  Clock::time_point give_up_ = Clock::time_point::max();
  std::uint64_t task_ = 0;  // last task received
  std::uint32_t attempt_ = 0;
  bool greeted_ = false;
  bool stopping_ = false;
  bool said_bye_ = false;
  bool abandoned_ = false;
  std::optional<WorkerEnd> leave_;
};

}  // namespace

WorkerEnd RunWorker(Transport& transport, const WorkerSetup& setup) {
  Check(transport.rank() > 0, "rank 0 coordinates");
  CheckOptions(setup.options);
  return Worker(transport, setup).Run();
}

}  // namespace msc::cost
