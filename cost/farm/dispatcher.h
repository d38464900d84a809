#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "cost/farm/options.h"
#include "cost/farm/protocol.h"

namespace msc::cost {

/// What a farm went through.
struct FarmStats {
  std::uint64_t handed_out = 0;  ///< tasks sent to a worker, repeats included
  std::uint64_t requeued = 0;    ///< attempts that gave nothing, for whatever reason
  std::uint64_t lost_workers = 0;
  std::uint64_t late = 0;       ///< messages of lost workers, results that nobody waits for
  std::uint64_t malformed = 0;  ///< packets that are no message
};

/// A task that needs no more work.
struct FinishedTask {
  std::uint64_t task = 0;
  std::string blob;                ///< of the result; empty if there is none
  std::optional<Failure> failure;  ///< kLost
  RemoteError error = RemoteError::kNone;
  std::string text;  ///< of the error
};

/// One attempt at a task that is over: who was busy with what, and for how long.
struct Attempt {
  enum class End : unsigned char {
    kResult,   ///< answered
    kNothing,  ///< cancelled, or to be tried again
    kLost,     ///< with its worker
  };
  int worker = 0;            ///< rank
  std::string blob;          ///< of the candidate: the StrategyHash of its strategy
  std::uint8_t measure = 0;  ///< a Measure
  std::chrono::steady_clock::time_point from;
  std::chrono::steady_clock::time_point to;  ///< of a lost worker the last that was heard of it
  End end = End::kResult;
};

/// The coordinator's side of the protocol, without clock, thread or transport: messages and the
/// time go in, messages and finished tasks come out.
///
/// A task goes to one worker at a time, under a new attempt number each time; an answer counts only
/// if it comes from the worker that holds the task and carries its attempt. A worker is lost when
/// it was silent for its lease; nothing it says later counts. A task that max_attempts attempts
/// gave nothing for is finished as a failure, so that a candidate that kills its workers cannot
/// kill them all.
class Dispatcher {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Outgoing {
    int to = 0;
    Message message;
  };

  /// Workers are ranks 1 to `workers`.
  Dispatcher(const FarmOptions& options, int workers, Time now);

  /// Tells the workers the run folder; tasks are handed out once they are ready.
  void Open(const std::string& run_folder);
  /// A new task; its number.
  std::uint64_t Submit(const std::string& blob, std::uint8_t measure);
  /// The task's result could not be read: one more attempt.
  void Retry(std::uint64_t task, const std::string& why);
  /// The task is of no more interest, whether finished or not.
  void Forget(std::uint64_t task);
  void Stop();
  /// After Stop: tells those that said goodbye to exit.
  void Leave();

  void Receive(int from, const Message& message, Time now);
  void ReceiveMalformed() { ++stats_.malformed; }
  /// The transport says so.
  void Lose(int rank, const std::string& why);
  /// Leases, pings, handing out. To be called every few milliseconds.
  void Tick(Time now);

  [[nodiscard]] std::vector<Outgoing> TakeOutgoing();
  [[nodiscard]] std::vector<FinishedTask> TakeFinished();
  [[nodiscard]] std::vector<Attempt> TakeAttempts();
  /// Workers that are ready or may become so.
  [[nodiscard]] std::size_t live() const;
  /// Whether every live worker said goodbye.
  [[nodiscard]] bool AllGone() const;
  /// Whether no worker was lost.
  [[nodiscard]] bool clean() const noexcept { return stats_.lost_workers == 0; }
  /// Why workers are not live: "rank 1: silent for 10 s; rank 2: ...".
  [[nodiscard]] std::string Losses() const;
  [[nodiscard]] const FarmStats& stats() const noexcept { return stats_; }

 private:
  enum class State : unsigned char { kAwaited, kIdle, kBusy, kRefused, kGone, kLost };
  struct Worker {
    State state = State::kAwaited;
    Time heard;
    Time handed;
    std::uint64_t task = 0;  // held, while busy
    std::uint32_t attempt = 0;
    std::string blob;  // of that task
    std::uint8_t measure = 0;
    std::string why;
  };
  struct Task {
    std::string blob;
    std::uint8_t measure = 0;
    std::uint32_t attempt = 0;
    int holder = 0;   // rank, 0 = none
    int avoided = 0;  // rank where it failed last
  };

  Worker& At(int rank) { return workers_[static_cast<std::size_t>(rank) - 1]; }
  void Send(int to, MessageKind kind);
  void HandOut(Time now);
  void Give(int rank, std::uint64_t number, Time now);
  void Beaten(int rank, const Message& message, Time now);
  void Answered(int rank, const Message& message);
  /// The busy worker is at its task no more.
  void Over(int rank, Attempt::End end);
  /// The current attempt of a task gave nothing.
  void Failed(std::uint64_t number, RemoteError error, const std::string& why);

  FarmOptions options_;
  std::vector<Worker> workers_;  // of rank 1, 2, ...
  std::map<std::uint64_t, Task> tasks_;
  std::deque<std::uint64_t> pending_;
  std::vector<Outgoing> outgoing_;
  std::vector<FinishedTask> finished_;
  std::vector<Attempt> attempts_;
  FarmStats stats_;
  std::uint64_t next_task_ = 1;
  Time next_ping_;
  bool stopped_ = false;
};

}  // namespace msc::cost
