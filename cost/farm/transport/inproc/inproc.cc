#include "cost/farm/transport/inproc/inproc.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "compiler/base/error.h"

namespace msc::cost {

struct InprocHub::State {
  explicit State(int size)
      : queues(static_cast<std::size_t>(size)), gone(static_cast<std::size_t>(size)) {}

  std::mutex mutex;
  std::condition_variable arrived;
  std::vector<std::deque<Packet>> queues;  // by receiver
  std::vector<bool> gone;

  class Endpoint;
};

class InprocHub::State::Endpoint final : public Transport {
 public:
  Endpoint(std::shared_ptr<State> state, int rank) : state_(std::move(state)), rank_(rank) {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint() override {
    const std::lock_guard lock(state_->mutex);
    state_->gone[index(rank_)] = true;
    state_->queues[index(rank_)].clear();
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(state_->queues.size()); }

  void Post(int to, std::span<const std::byte> bytes) override {
    Check(to >= 0 && to < size(), "packets go to a rank of the farm");
    Check(bytes.size() <= kMaxPacketBytes, "packets are small");
    const std::lock_guard lock(state_->mutex);
    if (state_->gone[index(to)]) return;
    state_->queues[index(to)].push_back({rank_, {bytes.begin(), bytes.end()}});
    state_->arrived.notify_all();
  }

  [[nodiscard]] std::optional<Packet> Poll(std::chrono::milliseconds wait) override {
    std::unique_lock lock(state_->mutex);
    auto& queue = state_->queues[index(rank_)];
    if (!state_->arrived.wait_for(lock, wait, [&] { return !queue.empty(); })) return std::nullopt;
    Packet packet = std::move(queue.front());
    queue.pop_front();
    return packet;
  }

  [[nodiscard]] std::vector<int> dead_peers() const override {
    const std::lock_guard lock(state_->mutex);
    std::vector<int> dead;
    for (int rank = 0; rank < size(); ++rank) {
      if (state_->gone[index(rank)]) dead.push_back(rank);
    }
    return dead;
  }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  std::shared_ptr<State> state_;
  int rank_;
};

InprocHub::InprocHub(int size) {
  Check(size >= 1, "a farm has a rank");
  state_ = std::make_shared<State>(size);
}

InprocHub::~InprocHub() = default;

std::unique_ptr<Transport> InprocHub::Endpoint(int rank) {
  Check(rank >= 0 && static_cast<std::size_t>(rank) < state_->queues.size(),
        "an endpoint is a rank of the farm");
  return std::make_unique<State::Endpoint>(state_, rank);
}

}  // namespace msc::cost
