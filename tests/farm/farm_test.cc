#include <algorithm>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

#include "cost/farm/coordinator.h"
#include "cost/farm/inproc_farm.h"
#include "cost/farm/transport/inproc/inproc.h"
#include "cost/farm/worker.h"
#include "tests/farm/support.h"
#include "tests/support/error_of.h"

namespace msc::cost {
namespace {

using namespace std::chrono_literals;
using testing::Candidates;
using testing::FakeEvaluator;
using testing::MakeTruth;
using testing::NewFolder;
using testing::Same;
using testing::Truth;

/// Fast, and far from what a loaded machine delays.
FarmOptions Quick() {
  FarmOptions options;
  options.beat_seconds = 0.01;
  options.ping_seconds = 0.01;
  options.worker_lease_seconds = 1;
  options.coordinator_lease_seconds = 2;
  return options;
}

/// Checks that every candidate is reported once, with the truth.
void ExpectTruth(Evaluator& farm, const std::vector<Candidate>& batch) {
  std::vector<int> times(batch.size());
  const auto caller = std::this_thread::get_id();
  farm.Evaluate(batch, [&](std::size_t i, const Result<Outcome>& result) {
    ++times.at(i);
    EXPECT_TRUE(Same(result, Truth(batch[i]))) << i;
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
  EXPECT_EQ(times, std::vector<int>(batch.size(), 1));
}

/// A worker on a thread whose transport does wrong things.
class FaultyTransport final : public Transport {
 public:
  /// May change the bytes, drop them (return false), and post more.
  using Fault = std::function<bool(Transport&, std::vector<std::byte>&)>;
  FaultyTransport(std::unique_ptr<Transport> inner, Fault fault)
      : inner_(std::move(inner)), fault_(std::move(fault)) {}

  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  void Post(int to, std::span<const std::byte> bytes) override {
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    if (fault_(*inner_, copy)) inner_->Post(to, copy);
  }
  [[nodiscard]] std::optional<Packet> Poll(std::chrono::milliseconds wait) override {
    return inner_->Poll(wait);
  }
  [[nodiscard]] std::vector<int> dead_peers() const override { return inner_->dead_peers(); }

 private:
  std::unique_ptr<Transport> inner_;
  Fault fault_;
};

/// A farm whose workers the test builds itself.
class TestFarm {
 public:
  explicit TestFarm(int workers, FarmOptions options = Quick())
      : options_(options),
        hub_(workers + 1),
        transport_(hub_.Endpoint(0)),
        folder_(NewFolder("run")),
        farm_(std::in_place, *transport_, options) {
    farm_->Open(folder_);
  }
  ~TestFarm() {
    farm_.reset();
    transport_.reset();
  }
  TestFarm(const TestFarm&) = delete;
  TestFarm& operator=(const TestFarm&) = delete;

  void Add(int rank, FakeEvaluator::Function function = {}, FaultyTransport::Fault fault = {}) {
    auto endpoint = hub_.Endpoint(rank);
    if (fault) endpoint = std::make_unique<FaultyTransport>(std::move(endpoint), std::move(fault));
    if (!function) function = [](const Candidate& c, const auto&) { return Truth(c); };
    threads_.emplace_back(
        [this, function, shared = std::shared_ptr<Transport>(std::move(endpoint))] {
          WorkerSetup setup;
          setup.options = options_;
          setup.make_evaluator = [&](const std::string&) {
            return std::make_unique<FakeEvaluator>(function);
          };
          (void)RunWorker(*shared, setup);
        });
  }
  FarmEvaluator& farm() { return *farm_; }
  InprocHub& hub() { return hub_; }
  const std::string& folder() const { return folder_; }

 private:
  FarmOptions options_;
  InprocHub hub_;
  std::unique_ptr<Transport> transport_;
  std::string folder_;
  std::optional<FarmEvaluator> farm_;
  std::vector<std::jthread> threads_;
};

std::optional<Message> DecodeOf(const std::vector<std::byte>& bytes) {
  return Decode(bytes);
}

TEST(Farm, GivesWhatOneEvaluatorGivesAlone) {
  for (const int workers : {1, 2, 5}) {
    InprocFarm farm(workers, Quick(), NewFolder("run"), MakeTruth);
    ExpectTruth(farm, Candidates(40));
    EXPECT_EQ(farm.stats().requeued, 0U);
  }
}

TEST(Farm, WorksOnAsManyAsItHasWorkers) {
  InprocFarm farm(3, Quick(), NewFolder("run"), MakeTruth);
  EXPECT_EQ(farm.parallelism(), 3U);
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  TestFarm busy(3);
  for (int rank = 1; rank <= 3; ++rank) {
    busy.Add(rank, [&](const Candidate& c, const std::function<bool()>& stop) {
      const int now = ++running;
      most = std::max(most.load(), now);
      while (most < 3 && !stop()) std::this_thread::sleep_for(1ms);  // meets the two others
      --running;
      return Truth(c);
    });
  }
  ExpectTruth(busy.farm(), Candidates(9));
  EXPECT_EQ(most, 3);
}

TEST(Farm, ASlowCandidateHoldsUpNobodyElse) {
  // These outlive the threads of the farm.
  std::atomic<int> others = 0;
  const auto batch = Candidates(20);
  TestFarm farm(2);
  for (int rank = 1; rank <= 2; ++rank) {
    farm.Add(rank, [&](const Candidate& c, const std::function<bool()>& stop) {
      if (c.strategy == batch[0].strategy) {
        while (others < 19 && !stop()) std::this_thread::sleep_for(1ms);
      } else {
        ++others;
      }
      return Truth(c);
    });
  }
  ExpectTruth(farm.farm(), batch);
}

TEST(Farm, TellsWhoWasBusyWithWhatBeforeItReports) {
  InprocFarm farm(2, Quick(), NewFolder("run"), MakeTruth);
  const auto batch = Candidates(12);
  std::set<std::string> told;
  farm.Watch([&](const Attempt& attempt) {
    EXPECT_TRUE(attempt.worker == 1 || attempt.worker == 2);
    EXPECT_LE(attempt.from, attempt.to);
    EXPECT_EQ(attempt.end, Attempt::End::kResult);
    told.insert(attempt.blob);
  });
  farm.Evaluate(batch, [&](std::size_t i, const Result<Outcome>&) {
    EXPECT_TRUE(told.contains(StrategyHash(batch[i].strategy))) << i;
  });
  EXPECT_EQ(told.size(), batch.size());
  farm.Watch([](const Attempt&) { throw SystemError("disk full"); });
  EXPECT_THROW(farm.Evaluate(batch, [](std::size_t, const Result<Outcome>&) {}), SystemError);
  farm.Watch({});
  ExpectTruth(farm, batch);
}

TEST(Farm, EqualCandidatesInABatchAreEachReported) {
  InprocFarm farm(2, Quick(), NewFolder("run"), MakeTruth);
  ExpectTruth(farm, std::vector<Candidate>(10, Candidates(1)[0]));
}

TEST(Farm, TakesOneBatchAfterAnother) {
  InprocFarm farm(2, Quick(), NewFolder("run"), MakeTruth);
  for (int i = 0; i < 10; ++i) ExpectTruth(farm, Candidates(i));
}

TEST(Farm, SurvivesAWorkerThatDiesWithACandidate) {
  TestFarm farm(3);
  farm.Add(1);
  farm.Add(2);
  // Rank 3 takes a task and its process ends.
  std::jthread dying([endpoint = std::shared_ptr<Transport>(farm.hub().Endpoint(3))]() mutable {
    Message ready;
    ready.kind = MessageKind::kReady;
    endpoint->Post(0, Encode(ready));
    while (true) {
      const auto packet = endpoint->Poll(10ms);
      if (!packet) continue;
      if (Decode(packet->bytes)->kind == MessageKind::kTask) break;
    }
    endpoint.reset();
  });
  // It may come late to the first batches, so they go on until it has died.
  while (farm.farm().stats().lost_workers == 0) ExpectTruth(farm.farm(), Candidates(30));
  EXPECT_EQ(farm.farm().stats().requeued, 1U);
  EXPECT_EQ(farm.farm().parallelism(), 2U);
  EXPECT_EQ(farm.farm().Finish(), FarmEnd::kAfterLoss);
}

TEST(Farm, SurvivesAWorkerThatFallsSilent) {
  FarmOptions options = Quick();
  options.worker_lease_seconds = 0.2;
  // It outlives the threads of the farm.
  std::atomic<bool> quit = false;
  TestFarm farm(2, options);
  farm.Add(1);
  std::jthread silent([&, endpoint = std::shared_ptr<Transport>(farm.hub().Endpoint(2))] {
    Message ready;
    ready.kind = MessageKind::kReady;
    endpoint->Post(0, Encode(ready));
    while (!quit) (void)endpoint->Poll(10ms);
  });
  while (farm.farm().stats().lost_workers == 0) ExpectTruth(farm.farm(), Candidates(10));
  EXPECT_EQ(farm.farm().Finish(), FarmEnd::kAfterLoss);
  quit = true;
}

TEST(Farm, IgnoresRepeatedAndDamagedMessages) {
  TestFarm farm(2);
  for (int rank = 1; rank <= 2; ++rank) {
    farm.Add(rank, {}, [count = 0](Transport& wire, std::vector<std::byte>& bytes) mutable {
      ++count;
      wire.Post(0, bytes);  // everything twice
      std::vector<std::byte> bad = bytes;
      bad[static_cast<std::size_t>(count) % bad.size()] ^= std::byte{4};
      wire.Post(0, bad);
      wire.Post(0, std::span(bad).first(static_cast<std::size_t>(count) % 100));
      return true;
    });
  }
  ExpectTruth(farm.farm(), Candidates(40));
  EXPECT_GT(farm.farm().stats().malformed, 80U);
  EXPECT_EQ(farm.farm().Finish(), FarmEnd::kClean);
}

TEST(Farm, RecoversFromAnswersThatNeverArrive) {
  // Who gets which task is a matter of timing, and the same one may be unlucky again and again.
  FarmOptions options = Quick();
  options.max_attempts = 10;
  TestFarm farm(2, options);
  for (int rank = 1; rank <= 2; ++rank) {
    farm.Add(rank, {}, [count = 0](Transport&, std::vector<std::byte>& bytes) mutable {
      return DecodeOf(bytes)->kind != MessageKind::kResult || ++count % 4 != 1;
    });
  }
  ExpectTruth(farm.farm(), Candidates(10));
  EXPECT_GT(farm.farm().stats().requeued, 0U);
}

TEST(Farm, ThrowsTheUserErrorOfAWorker) {
  TestFarm farm(1);
  farm.Add(
      1, [](const Candidate&, const auto&) -> Result<Outcome> { throw UserError("no layer 'x'"); });
  EXPECT_EQ(
      ErrorOf<UserError>([&] { farm.farm().Evaluate(Candidates(3), [](auto, const auto&) {}); }),
      "rank 1: no layer 'x'");
}

TEST(Farm, ThrowsASystemErrorThatNoWorkerGetsAround) {
  TestFarm farm(1);
  farm.Add(
      1, [](const Candidate&, const auto&) -> Result<Outcome> { throw SystemError("disk full"); });
  // One candidate: a second may have been handed out, and failed too, before the error is thrown.
  EXPECT_EQ(
      ErrorOf<SystemError>([&] { farm.farm().Evaluate(Candidates(1), [](auto, const auto&) {}); }),
      "rank 1: disk full");
  EXPECT_EQ(farm.farm().stats().requeued, 3U);
}

TEST(Farm, SaysWhyNoWorkerIsLeft) {
  InprocFarm farm(
      2, Quick(), NewFolder("run"),
      [](const std::string&) -> std::unique_ptr<Evaluator> { throw SystemError("no target"); });
  EXPECT_EQ(ErrorOf<SystemError>([&] { farm.Evaluate(Candidates(3), [](auto, const auto&) {}); }),
            "no worker of the farm is left: rank 1: no target; rank 2: no target");
}

TEST(Farm, StopsSoonAndWorksAgainAfterwards) {
  // It outlives the threads of the farm.
  std::atomic<bool> slow = true;
  TestFarm farm(2);
  for (int rank = 1; rank <= 2; ++rank) {
    farm.Add(rank, [&](const Candidate& c, const std::function<bool()>& stop) {
      while (slow && !stop()) std::this_thread::sleep_for(1ms);  // else for ever
      return Truth(c);
    });
  }
  int polls = 0;
  std::size_t reported = 0;
  farm.farm().Evaluate(
      Candidates(10), [&](auto, const auto&) { ++reported; }, [&] { return ++polls > 3; });
  EXPECT_EQ(reported, 0U);
  slow = false;
  ExpectTruth(farm.farm(), Candidates(10));
  EXPECT_EQ(farm.farm().stats().lost_workers, 0U);
}

TEST(Farm, StaysUsableAfterItsCallerThrows) {
  InprocFarm farm(2, Quick(), NewFolder("run"), MakeTruth);
  EXPECT_EQ(ErrorOf<SystemError>([&] {
              farm.Evaluate(Candidates(10),
                            [](auto, const auto&) { throw SystemError("journal full"); });
            }),
            "journal full");
  ExpectTruth(farm, Candidates(10));
}

TEST(Farm, KeepsItsWorkersWhileTheCallerThinks) {
  FarmOptions options = Quick();
  options.coordinator_lease_seconds = 0.4;
  InprocFarm farm(2, options, NewFolder("run"), MakeTruth);
  std::this_thread::sleep_for(600ms);  // longer than the lease
  ExpectTruth(farm, Candidates(4));
  EXPECT_EQ(farm.stats().lost_workers, 0U);
}

TEST(Farm, RefusesARunFolderThatDoesNotFitAMessage) {
  InprocHub hub(2);
  const auto transport = hub.Endpoint(0);
  FarmOptions options = Quick();
  options.stop_seconds = 0;  // nobody is there to say goodbye
  FarmEvaluator farm(*transport, options);
  EXPECT_EQ(ErrorOf<UserError>([&] { farm.Open(std::string(513, 'x')); }),
            "the path of the run folder has 513 bytes; a farm allows 512");
}

TEST(Farm, LeavesNoBlobsAfterACleanEnd) {
  const std::string folder = NewFolder("run");
  {
    InprocFarm farm(2, Quick(), folder, MakeTruth);
    ExpectTruth(farm, Candidates(10));
  }
  EXPECT_TRUE(std::filesystem::is_empty(BlobFolderOf(folder)));
}

TEST(Worker, LeavesWhenTheCoordinatorIsSilent) {
  FarmOptions options = Quick();
  options.coordinator_lease_seconds = 0.1;
  InprocHub hub(2);
  const auto silent = hub.Endpoint(0);
  const auto endpoint = hub.Endpoint(1);
  WorkerSetup setup{options, MakeTruth, {}};
  EXPECT_EQ(RunWorker(*endpoint, setup), WorkerEnd::kCoordinatorLost);
}

TEST(Worker, IsAbandonedWhenItsEvaluationDoesNotEnd) {
  FarmOptions options = Quick();
  options.coordinator_lease_seconds = 0.1;
  options.stop_seconds = 0.05;
  InprocHub hub(2);
  auto coordinator = hub.Endpoint(0);
  const auto endpoint = hub.Endpoint(1);
  std::atomic<bool> abandoned = false;
  WorkerSetup setup;
  setup.options = options;
  setup.make_evaluator = [&](const std::string& folder) {
    while (!abandoned) std::this_thread::sleep_for(1ms);  // deaf
    return MakeTruth(folder);
  };
  setup.abandon = [&] { abandoned = true; };
  Message hello;
  hello.kind = MessageKind::kHello;
  hello.text = NewFolder("run");
  coordinator->Post(1, Encode(hello));
  EXPECT_EQ(RunWorker(*endpoint, setup), WorkerEnd::kCoordinatorLost);
  EXPECT_TRUE(abandoned);
}

TEST(Worker, BeatsWhileItEvaluates) {
  // It outlives the threads of the farm.
  std::atomic<int> beats = 0;
  TestFarm farm(1);
  farm.Add(
      1,
      [&](const Candidate& c, const std::function<bool()>& stop) {
        const int before = beats;
        while (beats < before + 5 && !stop()) std::this_thread::sleep_for(1ms);
        return Truth(c);
      },
      [&](Transport&, std::vector<std::byte>& bytes) {
        if (DecodeOf(bytes)->kind == MessageKind::kBeat) ++beats;
        return true;
      });
  ExpectTruth(farm.farm(), Candidates(2));
}

TEST(Inproc, DeliversInOrderAndReportsTheDead) {
  InprocHub hub(2);
  const auto a = hub.Endpoint(0);
  auto b = hub.Endpoint(1);
  for (int i = 0; i < 100; ++i) b->Post(0, std::vector<std::byte>{static_cast<std::byte>(i)});
  b.reset();
  EXPECT_EQ(a->dead_peers(), std::vector<int>{1});
  for (int i = 0; i < 100; ++i) {
    const auto packet = a->Poll(0ms);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->from, 1);
    EXPECT_EQ(packet->bytes, std::vector<std::byte>{static_cast<std::byte>(i)});
  }
  EXPECT_FALSE(a->Poll(1ms));
}

}  // namespace
}  // namespace msc::cost
