#include "cost/farm/dispatcher.h"

#include <algorithm>
#include <utility>

namespace msc::cost {
namespace {

std::chrono::steady_clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

std::string Plain(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

Dispatcher::Dispatcher(const FarmOptions& options, int workers, Time now)
    : options_(options), workers_(static_cast<std::size_t>(workers)), next_ping_(now) {
  CheckOptions(options_);
  for (auto& worker : workers_) worker.heard = now;
}

void Dispatcher::Send(int to, MessageKind kind) {
  Outgoing outgoing;
  outgoing.to = to;
  outgoing.message.kind = kind;
  outgoing_.push_back(std::move(outgoing));
}

void Dispatcher::Open(const std::string& run_folder) {
  for (int rank = 1; rank <= static_cast<int>(workers_.size()); ++rank) {
    if (At(rank).state == State::kLost) continue;
    Send(rank, MessageKind::kHello);
    outgoing_.back().message.text = run_folder;
  }
}

std::uint64_t Dispatcher::Submit(const std::string& blob, std::uint8_t measure) {
  const std::uint64_t number = next_task_++;
  tasks_[number] = Task{blob, measure, 0, 0, 0};
  pending_.push_back(number);
  return number;
}

void Dispatcher::Retry(std::uint64_t task, const std::string& why) {
  if (tasks_.contains(task)) Failed(task, RemoteError::kSystem, why);
}

void Dispatcher::Forget(std::uint64_t task) {
  const auto it = tasks_.find(task);
  if (it == tasks_.end()) return;
  if (it->second.holder != 0) {
    // The worker counts as busy until it reports that it stopped.
    Send(it->second.holder, MessageKind::kCancel);
    outgoing_.back().message.task = task;
    outgoing_.back().message.attempt = it->second.attempt;
  } else {
    std::erase(pending_, task);
  }
  tasks_.erase(it);
}

void Dispatcher::Stop() {
  stopped_ = true;
  tasks_.clear();
  pending_.clear();
  for (int rank = 1; rank <= static_cast<int>(workers_.size()); ++rank) {
    if (At(rank).state != State::kLost) Send(rank, MessageKind::kStop);
  }
}

void Dispatcher::Leave() {
  for (int rank = 1; rank <= static_cast<int>(workers_.size()); ++rank) {
    if (At(rank).state != State::kGone) continue;
    Send(rank, MessageKind::kLeave);
    outgoing_.back().message.clean = clean();
  }
}

void Dispatcher::Receive(int from, const Message& message, Time now) {
  if (from < 1 || from > static_cast<int>(workers_.size())) {
    ++stats_.malformed;
    return;
  }
  Worker& worker = At(from);
  // Fence: another worker may already have the task of a lost worker.
  if (worker.state == State::kLost) {
    ++stats_.late;
    return;
  }
  worker.heard = now;
  switch (message.kind) {
    case MessageKind::kReady:
      if (worker.state == State::kAwaited) worker.state = State::kIdle;
      break;
    case MessageKind::kRefuse:
      if (worker.state != State::kAwaited) break;
      worker.state = State::kRefused;
      worker.why = message.text;
      break;
    case MessageKind::kBeat:
      Beaten(from, message, now);
      break;
    case MessageKind::kResult:
    case MessageKind::kThrew:
    case MessageKind::kDropped:
      Answered(from, message);
      break;
    case MessageKind::kBye:
      if (stopped_) worker.state = State::kGone;
      break;
    default:
      ++stats_.malformed;  // kinds that only the coordinator sends
  }
}

/// Handles a sign of life. After a damaged message, both sides could wait for each other forever; a
/// beat that says "idle" ends this.
void Dispatcher::Beaten(int rank, const Message& message, Time now) {
  Worker& worker = At(rank);
  if (worker.state != State::kBusy || message.busy) return;
  const bool knows = message.task == worker.task && message.attempt == worker.attempt;
  // A worker that knows its task has answered it, and answers arrive before later beats: so the
  // answer was lost. Otherwise the task may still be on its way; after the lease it counts as lost.
  if (!knows && now - worker.handed < Seconds(options_.worker_lease_seconds)) return;
  worker.state = State::kIdle;
  Over(rank, Attempt::End::kNothing);
  const auto it = tasks_.find(worker.task);
  if (it == tasks_.end() || it->second.holder != rank) return;
  Failed(worker.task, RemoteError::kNone,
         "a message of rank " + std::to_string(rank) + " was lost");
}

void Dispatcher::Answered(int rank, const Message& message) {
  Worker& worker = At(rank);
  const bool current = worker.state == State::kBusy && message.task == worker.task &&
                       message.attempt == worker.attempt;
  if (!current) {
    ++stats_.late;
    return;
  }
  worker.state = State::kIdle;
  Over(rank, message.kind == MessageKind::kResult ? Attempt::End::kResult : Attempt::End::kNothing);
  const auto it = tasks_.find(message.task);
  if (it == tasks_.end()) return;  // forgotten meanwhile
  const std::string who = "rank " + std::to_string(rank) + ": ";
  if (message.kind == MessageKind::kResult && !message.blob.empty()) {
    it->second.holder = 0;
    FinishedTask finished;
    finished.task = message.task;
    finished.blob = message.blob;
    finished_.push_back(std::move(finished));
  } else if (message.kind == MessageKind::kThrew &&
             (message.error == RemoteError::kUser || message.error == RemoteError::kInternal)) {
    // Wrong input or wrong code fails in the same way on every worker.
    it->second.holder = 0;
    finished_.push_back({message.task, "", std::nullopt, message.error, who + message.text});
  } else {
    Failed(message.task, RemoteError::kSystem,
           who + (message.text.empty() ? "gave no result" : message.text));
  }
}

void Dispatcher::Over(int rank, Attempt::End end) {
  const Worker& worker = At(rank);
  attempts_.push_back({.worker = rank,
                       .blob = worker.blob,
                       .measure = worker.measure,
                       .from = worker.handed,
                       .to = std::max(worker.handed, worker.heard),
                       .end = end});
}

void Dispatcher::Failed(std::uint64_t number, RemoteError error, const std::string& why) {
  Task& task = tasks_.at(number);
  task.avoided = std::exchange(task.holder, 0);
  ++stats_.requeued;
  if (std::cmp_less(task.attempt, options_.max_attempts)) {
    pending_.push_front(number);
    return;
  }
  FinishedTask finished;
  finished.task = number;
  finished.error = error;
  finished.text = why;
  if (error == RemoteError::kNone) {
    finished.failure =
        Failure{FailureKind::kLost,
                "given up after " + std::to_string(task.attempt) + " attempts; the last: " + why};
  }
  finished_.push_back(std::move(finished));
}

void Dispatcher::Lose(int rank, const std::string& why) {
  if (rank < 1 || rank > static_cast<int>(workers_.size())) return;
  Worker& worker = At(rank);
  if (worker.state == State::kLost || worker.state == State::kGone) return;
  const bool held = worker.state == State::kBusy;
  worker.state = State::kLost;
  worker.why = why;
  ++stats_.lost_workers;
  if (!held) return;
  Over(rank, Attempt::End::kLost);
  const auto it = tasks_.find(worker.task);
  if (it == tasks_.end() || it->second.holder != rank) return;
  Failed(worker.task, RemoteError::kNone, "rank " + std::to_string(rank) + " was lost: " + why);
}

void Dispatcher::Tick(Time now) {
  for (int rank = 1; rank <= static_cast<int>(workers_.size()); ++rank) {
    if (now - At(rank).heard > Seconds(options_.worker_lease_seconds)) {
      Lose(rank, "silent for " + Plain(options_.worker_lease_seconds) + " s");
    }
  }
  if (now >= next_ping_) {
    next_ping_ = now + Seconds(options_.ping_seconds);
    for (int rank = 1; rank <= static_cast<int>(workers_.size()); ++rank) {
      if (At(rank).state != State::kLost) Send(rank, MessageKind::kPing);
    }
  }
  HandOut(now);
}

void Dispatcher::HandOut(Time now) {
  for (int rank = 1; rank <= static_cast<int>(workers_.size()) && !pending_.empty(); ++rank) {
    if (At(rank).state != State::kIdle) continue;
    // Prefer another worker than the last one that failed: the fault may be that worker's.
    const auto it = std::find_if(pending_.begin(), pending_.end(), [&](std::uint64_t task) {
      return tasks_.at(task).avoided != rank || live() == 1;
    });
    if (it == pending_.end()) continue;
    const std::uint64_t task = *it;
    pending_.erase(it);
    Give(rank, task, now);
  }
}

void Dispatcher::Give(int rank, std::uint64_t number, Time now) {
  Task& task = tasks_.at(number);
  ++task.attempt;
  task.holder = rank;
  Worker& worker = At(rank);
  worker.state = State::kBusy;
  worker.task = number;
  worker.attempt = task.attempt;
  worker.handed = now;
  worker.blob = task.blob;
  worker.measure = task.measure;
  ++stats_.handed_out;
  Send(rank, MessageKind::kTask);
  Message& message = outgoing_.back().message;
  message.task = number;
  message.attempt = task.attempt;
  message.blob = task.blob;
  message.measure = task.measure;
}

std::vector<Dispatcher::Outgoing> Dispatcher::TakeOutgoing() {
  return std::exchange(outgoing_, {});
}

std::vector<FinishedTask> Dispatcher::TakeFinished() {
  return std::exchange(finished_, {});
}

std::vector<Attempt> Dispatcher::TakeAttempts() {
  return std::exchange(attempts_, {});
}

std::size_t Dispatcher::live() const {
  return static_cast<std::size_t>(
      std::count_if(workers_.begin(), workers_.end(), [](const Worker& worker) {
        return worker.state == State::kAwaited || worker.state == State::kIdle ||
               worker.state == State::kBusy;
      }));
}

bool Dispatcher::AllGone() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const Worker& worker) {
    return worker.state == State::kGone || worker.state == State::kLost;
  });
}

std::string Dispatcher::Losses() const {
  std::string text;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].why.empty()) continue;
    text += (text.empty() ? "" : "; ") + ("rank " + std::to_string(i + 1) + ": ") + workers_[i].why;
  }
  return text;
}

}  // namespace msc::cost
