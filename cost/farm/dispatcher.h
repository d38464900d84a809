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

/// Counters of a farm.
struct FarmStats {
  std::uint64_t handed_out = 0;  ///< tasks sent to workers, including repeated attempts
  std::uint64_t requeued = 0;    ///< attempts that gave no result, for any reason
  std::uint64_t lost_workers = 0;
  std::uint64_t late = 0;       ///< messages of lost workers, and results that are no longer needed
  std::uint64_t malformed = 0;  ///< packets that are not valid messages
};

/// A task that is complete.
struct FinishedTask {
  std::uint64_t task = 0;
  std::string blob;                ///< of the result; empty if there is none
  std::optional<Failure> failure;  ///< of kind kLost
  RemoteError error = RemoteError::kNone;
  std::string text;  ///< of the error
};

/// An attempt at a task that ended: which worker was busy with it, and when.
struct Attempt {
  enum class End : unsigned char {
    kResult,   ///< a result arrived
    kNothing,  ///< cancelled, or to be repeated
    kLost,     ///< the worker was lost
  };
  int worker = 0;            ///< rank
  std::string blob;          ///< blob of the candidate, which is the StrategyHash of its strategy
  std::uint8_t measure = 0;  ///< value of Measure
  std::chrono::steady_clock::time_point from;
  std::chrono::steady_clock::time_point to;  ///< for a lost worker, the time of its last message
  End end = End::kResult;
};

/// The coordinator's side of the protocol, as a state machine without clock, threads or transport:
/// messages and times are its input, messages and finished tasks its output.
///
/// A task belongs to one worker at a time, under a new attempt number each time. A result counts
/// only if it comes from the worker that holds the task and carries the current attempt number. A
/// worker is lost when it was silent for its lease; all its later messages are ignored. A task that
/// got no result in max_attempts attempts finishes as a failure, so that a candidate that kills its
/// workers cannot kill all of them.
class Dispatcher {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Outgoing {
    int to = 0;
    Message message;
  };

  /// Makes a dispatcher for the workers of ranks 1 to `workers`.
  Dispatcher(const FarmOptions& options, int workers, Time now);

  /// Sends the run folder to the workers. Tasks are handed out to workers that are ready.
  void Open(const std::string& run_folder);
  /// Adds a task and returns its number.
  std::uint64_t Submit(const std::string& blob, std::uint8_t measure);
  /// Requests one more attempt, because the result of the task could not be read.
  void Retry(std::uint64_t task, const std::string& why);
  /// Drops a task, finished or not.
  void Forget(std::uint64_t task);
  /// Drops all tasks and tells the workers to stop.
  void Stop();
  /// Tells the workers that said goodbye after Stop to exit.
  void Leave();

  /// Handles a message of a worker.
  void Receive(int from, const Message& message, Time now);
  void ReceiveMalformed() { ++stats_.malformed; }
  /// Marks a worker as lost, for example because the transport reports it.
  void Lose(int rank, const std::string& why);
  /// Checks leases, sends pings and hands out tasks. Call it every few milliseconds.
  void Tick(Time now);

  /// Return what accumulated since the last call.
  [[nodiscard]] std::vector<Outgoing> TakeOutgoing();
  [[nodiscard]] std::vector<FinishedTask> TakeFinished();
  [[nodiscard]] std::vector<Attempt> TakeAttempts();
  /// Returns the number of workers that are ready or may become so.
  [[nodiscard]] std::size_t live() const;
  /// Returns whether every worker said goodbye or was lost.
  [[nodiscard]] bool AllGone() const;
  /// Returns whether no worker was lost.
  [[nodiscard]] bool clean() const noexcept { return stats_.lost_workers == 0; }
  /// Returns why workers are lost or refused: "rank 1: silent for 10 s; rank 2: ...".
  [[nodiscard]] std::string Losses() const;
  [[nodiscard]] const FarmStats& stats() const noexcept { return stats_; }

 private:
  enum class State : unsigned char { kAwaited, kIdle, kBusy, kRefused, kGone, kLost };
  struct Worker {
    State state = State::kAwaited;
    Time heard;
    Time handed;
    std::uint64_t task = 0;  // held task, while busy
    std::uint32_t attempt = 0;
    std::string blob;  // candidate of that task
    std::uint8_t measure = 0;
    std::string why;
  };
  struct Task {
    std::string blob;
    std::uint8_t measure = 0;
    std::uint32_t attempt = 0;
    int holder = 0;   // rank, 0 = none
    int avoided = 0;  // rank of the last failed attempt
  };

  Worker& At(int rank) { return workers_[static_cast<std::size_t>(rank) - 1]; }
  void Send(int to, MessageKind kind);
  void HandOut(Time now);
  void Give(int rank, std::uint64_t number, Time now);
  void Beaten(int rank, const Message& message, Time now);
  void Answered(int rank, const Message& message);
  /// Records the end of the attempt of a busy worker.
  void Over(int rank, Attempt::End end);
  /// Handles an attempt without result: queues the task again, or finishes it after max_attempts.
  void Failed(std::uint64_t number, RemoteError error, const std::string& why);

  FarmOptions options_;
  std::vector<Worker> workers_;  // of ranks 1, 2, ...
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
