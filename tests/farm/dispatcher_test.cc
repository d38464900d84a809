#include "cost/farm/dispatcher.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "compiler/base/hash.h"
#include "compiler/base/rng.h"

namespace msc::cost {
namespace {

using namespace std::chrono_literals;

/// A coordinator, a clock that moves when told to, and workers that say what the test wants.
class Farm {
 public:
  explicit Farm(int workers, FarmOptions options = {})
      : workers_(workers), dispatcher(options, workers, now) {
    dispatcher.Open("run");
  }

  void Say(int rank, Message message) { dispatcher.Receive(rank, message, now); }
  void Say(int rank, MessageKind kind) {
    Message message;
    message.kind = kind;
    Say(rank, message);
  }
  void Ready() {
    for (int rank = 1; rank <= workers_; ++rank) Say(rank, MessageKind::kReady);
  }
  /// Moves the clock in small steps while all but `silent` workers beat.
  void Pass(std::chrono::milliseconds time, const std::set<int>& silent = {}) {
    for (auto done = 0ms; done < time; done += 100ms) {
      now += 100ms;
      for (int rank = 1; rank <= workers_; ++rank) {
        if (!silent.contains(rank)) Say(rank, BeatOf(rank));
      }
      Tick();
    }
  }
  /// One step; remembers what each worker was given.
  void Tick() {
    dispatcher.Tick(now);
    for (auto& [to, message] : dispatcher.TakeOutgoing()) {
      if (message.kind == MessageKind::kTask) given[to] = message;
      sent.push_back({to, message});
    }
    for (auto& task : dispatcher.TakeFinished()) finished.push_back(task);
  }
  /// The answer of a worker to what it was given last.
  Message AnswerOf(int rank, MessageKind kind = MessageKind::kResult) const {
    Message message;
    message.kind = kind;
    message.task = given.at(rank).task;
    message.attempt = given.at(rank).attempt;
    if (kind == MessageKind::kResult) message.blob = Sha256Hex("result");
    return message;
  }
  void Answer(int rank) {
    Say(rank, AnswerOf(rank));
    given.erase(rank);
    Tick();
  }
  std::size_t CountSent(MessageKind kind) const {
    return static_cast<std::size_t>(std::count_if(
        sent.begin(), sent.end(), [&](const auto& out) { return out.message.kind == kind; }));
  }

 private:
  int workers_;
  Message BeatOf(int rank) const {
    Message message;
    message.kind = MessageKind::kBeat;
    message.busy = given.contains(rank);
    if (message.busy) {
      message.task = given.at(rank).task;
      message.attempt = given.at(rank).attempt;
    }
    return message;
  }

 public:
  Dispatcher::Time now{};
  Dispatcher dispatcher;
  std::map<int, Message> given;
  std::vector<Dispatcher::Outgoing> sent;
  std::vector<FinishedTask> finished;
};

const std::string kBlob = Sha256Hex("strategy");

TEST(Dispatcher, HandsOutOneTaskAWorkerAndTheNextWhenItAnswers) {
  Farm farm(2);
  for (int i = 0; i < 3; ++i) farm.dispatcher.Submit(kBlob, 1);
  farm.Tick();
  EXPECT_TRUE(farm.given.empty());  // nobody is ready
  farm.Ready();
  farm.Tick();
  ASSERT_EQ(farm.given.size(), 2U);
  EXPECT_EQ(farm.given[1].task, 1U);
  EXPECT_EQ(farm.given[2].task, 2U);
  EXPECT_EQ(farm.given[1].blob, kBlob);
  EXPECT_EQ(farm.given[1].measure, 1);
  farm.Answer(2);
  EXPECT_EQ(farm.given[2].task, 3U);
  ASSERT_EQ(farm.finished.size(), 1U);
  EXPECT_EQ(farm.finished[0].task, 2U);
  EXPECT_EQ(farm.finished[0].blob, Sha256Hex("result"));
}

TEST(Dispatcher, WaitsForASlowWorkerThatBeats) {
  Farm farm(2);
  farm.Ready();
  farm.dispatcher.Submit(kBlob, 0);
  farm.Tick();
  farm.Pass(3600s);
  EXPECT_EQ(farm.dispatcher.stats().lost_workers, 0U);
  EXPECT_EQ(farm.dispatcher.stats().handed_out, 1U);
}

TEST(Dispatcher, GivesTheTaskOfASilentWorkerToAnother) {
  Farm farm(2);
  farm.Ready();
  farm.dispatcher.Submit(kBlob, 0);
  farm.Tick();
  ASSERT_TRUE(farm.given.contains(1));
  farm.Pass(9900ms, {1});
  EXPECT_EQ(farm.dispatcher.stats().lost_workers, 0U);
  farm.Pass(300ms, {1});
  EXPECT_EQ(farm.dispatcher.stats().lost_workers, 1U);
  ASSERT_TRUE(farm.given.contains(2));
  EXPECT_EQ(farm.given[2].task, 1U);
  EXPECT_EQ(farm.given[2].attempt, 2U);
  EXPECT_EQ(farm.dispatcher.Losses(), "rank 1: silent for 10 s");
}

TEST(Dispatcher, IgnoresWhatALostWorkerSaysLater) {
  Farm farm(2);
  farm.Ready();
  farm.dispatcher.Submit(kBlob, 0);
  farm.Tick();
  const Message late = farm.AnswerOf(1);
  farm.Pass(11s, {1});
  farm.Say(1, late);
  farm.Tick();
  EXPECT_TRUE(farm.finished.empty());
  EXPECT_EQ(farm.dispatcher.stats().late, 1U);
  farm.Answer(2);
  EXPECT_EQ(farm.finished.size(), 1U);
  EXPECT_FALSE(farm.dispatcher.clean());
}

TEST(Dispatcher, SendsNothingToALostWorker) {
  Farm farm(2);
  farm.Ready();
  farm.Pass(11s, {1});
  farm.sent.clear();
  farm.dispatcher.Submit(kBlob, 0);
  farm.Pass(5s, {1});
  farm.dispatcher.Stop();
  farm.Tick();
  for (const auto& out : farm.sent) EXPECT_EQ(out.to, 2);
  EXPECT_GT(farm.sent.size(), 10U);
}

TEST(Dispatcher, CountsAnAnswerOnce) {
  Farm farm(1);
  farm.Ready();
  farm.dispatcher.Submit(kBlob, 0);
  farm.Tick();
  const Message answer = farm.AnswerOf(1);
  farm.Say(1, answer);
  farm.Say(1, answer);
  farm.Tick();
  EXPECT_EQ(farm.finished.size(), 1U);
  EXPECT_EQ(farm.dispatcher.stats().late, 1U);
}

TEST(Dispatcher, IgnoresAnAnswerToAnEarlierAttempt) {
  Farm farm(2);
  farm.Ready();
  farm.dispatcher.Submit(kBlob, 0);
  farm.Tick();
  Message old = farm.AnswerOf(1);
  Message threw = farm.AnswerOf(1, MessageKind::kThrew);
  threw.error = RemoteError::kSystem;
  farm.Say(1, threw);
  farm.given.clear();
  farm.Tick();
  ASSERT_TRUE(farm.given.contains(2));
  farm.Say(2, old);
  farm.Tick();
  EXPECT_TRUE(farm.finished.empty());
  farm.Answer(2);
  EXPECT_EQ(farm.finished.size(), 1U);
}

TEST(Dispatcher, GivesUpATaskThatLosesEveryWorkerItMeets) {
  Farm farm(5);
  farm.Ready();
  farm.dispatcher.Submit(kBlob, 0);
  std::set<int> dead;
  for (int i = 0; i < 3; ++i) {
    farm.Tick();
    ASSERT_EQ(farm.given.size(), 1U);
    const int holder = farm.given.begin()->first;
    farm.given.clear();
    dead.insert(holder);
    farm.dispatcher.Lose(holder, "its process is gone");
  }
  farm.Pass(60s, dead);
  ASSERT_EQ(farm.finished.size(), 1U);
  ASSERT_TRUE(farm.finished[0].failure);
  EXPECT_EQ(farm.finished[0].failure->kind, FailureKind::kLost);
  EXPECT_EQ(farm.finished[0].failure->detail,
            "given up after 3 attempts; the last: rank 3 was lost: its process is gone");
  EXPECT_EQ(farm.dispatcher.live(), 2U);
}

TEST(Dispatcher, HandsOnWrongInputAtOnce) {
  Farm farm(2);
  farm.Ready();
  farm.dispatcher.Submit(kBlob, 0);
  farm.Tick();
  Message threw = farm.AnswerOf(1, MessageKind::kThrew);
  threw.error = RemoteError::kUser;
  threw.text = "no such layer";
  farm.Say(1, threw);
  farm.Tick();
  ASSERT_EQ(farm.finished.size(), 1U);
  EXPECT_EQ(farm.finished[0].error, RemoteError::kUser);
  EXPECT_EQ(farm.finished[0].text, "rank 1: no such layer");
}

TEST(Dispatcher, TriesMachineTroubleElsewhereAndThenReportsIt) {
  Farm farm(2);
  farm.Ready();
  farm.dispatcher.Submit(kBlob, 0);
  std::vector<int> holders;
  for (int i = 0; i < 3; ++i) {
    farm.Tick();
    ASSERT_EQ(farm.given.size(), 1U);
    const int holder = farm.given.begin()->first;
    holders.push_back(holder);
    Message threw = farm.AnswerOf(holder, MessageKind::kThrew);
    threw.error = RemoteError::kSystem;
    threw.text = "disk full";
    farm.given.clear();
    farm.Say(holder, threw);
  }
  farm.Tick();
  EXPECT_EQ(holders, (std::vector<int>{1, 2, 1}));
  ASSERT_EQ(farm.finished.size(), 1U);
  EXPECT_EQ(farm.finished[0].error, RemoteError::kSystem);
  EXPECT_EQ(farm.finished[0].text, "rank 1: disk full");
}

TEST(Dispatcher, CancelsAForgottenTaskAndReusesItsWorkerAfterwards) {
  Farm farm(1);
  farm.Ready();
  const auto first = farm.dispatcher.Submit(kBlob, 0);
  const auto second = farm.dispatcher.Submit(kBlob, 0);
  farm.Tick();
  farm.dispatcher.Forget(first);
  farm.Tick();
  EXPECT_EQ(farm.CountSent(MessageKind::kCancel), 1U);
  EXPECT_EQ(farm.given[1].task, first);  // still at it
  farm.Say(1, farm.AnswerOf(1, MessageKind::kDropped));
  farm.Tick();
  EXPECT_EQ(farm.given[1].task, second);
  EXPECT_TRUE(farm.finished.empty());
}

TEST(Dispatcher, NeverHandsOutAForgottenPendingTask) {
  Farm farm(1);
  const auto task = farm.dispatcher.Submit(kBlob, 0);
  farm.dispatcher.Forget(task);
  farm.Ready();
  farm.Pass(1s);
  EXPECT_TRUE(farm.given.empty());
}

TEST(Dispatcher, TriesAgainWhenTheAnswerWasLostOnItsWay) {
  Farm farm(1);
  farm.Ready();
  farm.dispatcher.Submit(kBlob, 0);
  farm.Tick();
  Message idle;
  idle.kind = MessageKind::kBeat;
  idle.task = farm.given[1].task;
  idle.attempt = farm.given[1].attempt;
  farm.Say(1, idle);
  farm.Tick();
  EXPECT_EQ(farm.given[1].attempt, 2U);
}

TEST(Dispatcher, TriesAgainWhenTheTaskWasLostOnItsWay) {
  Farm farm(1);
  farm.Ready();
  farm.dispatcher.Submit(kBlob, 0);
  farm.Tick();
  farm.given.clear();  // so that it beats as one that never heard of the task
  farm.Pass(5s);
  EXPECT_TRUE(farm.given.empty());  // it may be on its way
  farm.Pass(6s);
  EXPECT_EQ(farm.given[1].attempt, 2U);
}

TEST(Dispatcher, TriesAgainWhenTheResultCannotBeRead) {
  Farm farm(1);
  farm.Ready();
  const auto task = farm.dispatcher.Submit(kBlob, 0);
  for (int i = 0; i < 3; ++i) {
    farm.Tick();
    farm.Answer(1);
    farm.dispatcher.Retry(task, "damaged");
  }
  farm.Tick();
  EXPECT_EQ(farm.finished.back().error, RemoteError::kSystem);
  EXPECT_EQ(farm.finished.back().text, "damaged");
  EXPECT_EQ(farm.dispatcher.stats().handed_out, 3U);
}

TEST(Dispatcher, SaysWhoWasBusyWithWhatForHowLong) {
  Farm farm(2);
  farm.Ready();
  farm.dispatcher.Submit(kBlob, 1);
  const auto second = farm.dispatcher.Submit(Sha256Hex("other"), 0);
  farm.Tick();
  const auto start = farm.now;
  farm.Pass(2s);
  EXPECT_TRUE(farm.dispatcher.TakeAttempts().empty()) << "both are at it";
  farm.Say(2, farm.AnswerOf(2));
  farm.Pass(20s, {1});  // silent since the third second
  farm.dispatcher.Forget(second);
  const auto attempts = farm.dispatcher.TakeAttempts();
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].worker, 2);
  EXPECT_EQ(attempts[0].blob, Sha256Hex("other"));
  EXPECT_EQ(attempts[0].measure, 0);
  EXPECT_EQ(attempts[0].end, Attempt::End::kResult);
  EXPECT_EQ(attempts[0].from, start);
  EXPECT_EQ(attempts[0].to, start + 2s);
  EXPECT_EQ(attempts[1].worker, 1);
  EXPECT_EQ(attempts[1].blob, kBlob);
  EXPECT_EQ(attempts[1].end, Attempt::End::kLost);
  EXPECT_EQ(attempts[1].to, start + 2s) << "the last that was heard of it";
  // What is cancelled is over when its worker says so.
  ASSERT_EQ(farm.given.at(2).task, 1U);
  farm.dispatcher.Forget(1);
  EXPECT_TRUE(farm.dispatcher.TakeAttempts().empty());
  farm.Say(2, farm.AnswerOf(2, MessageKind::kDropped));
  const auto cancelled = farm.dispatcher.TakeAttempts();
  ASSERT_EQ(cancelled.size(), 1U);
  EXPECT_EQ(cancelled[0].end, Attempt::End::kNothing);
}

TEST(Dispatcher, GoesOnWithoutAWorkerThatRefuses) {
  Farm farm(2);
  Message refuse;
  refuse.kind = MessageKind::kRefuse;
  refuse.text = "no such folder";
  farm.Say(1, refuse);
  farm.Say(2, MessageKind::kReady);
  farm.dispatcher.Submit(kBlob, 0);
  farm.Tick();
  EXPECT_TRUE(farm.given.contains(2));
  EXPECT_EQ(farm.dispatcher.live(), 1U);
  EXPECT_EQ(farm.dispatcher.Losses(), "rank 1: no such folder");
}

TEST(Dispatcher, PingsEveryWorkerInTime) {
  Farm farm(3);
  farm.Pass(4s);
  EXPECT_GE(farm.CountSent(MessageKind::kPing), 3U * 9U);
  EXPECT_LE(farm.CountSent(MessageKind::kPing), 3U * 11U);
}

TEST(Dispatcher, EndsCleanWhenEverybodySaysGoodbye) {
  Farm farm(2);
  farm.Ready();
  farm.dispatcher.Stop();
  farm.Say(1, MessageKind::kBye);
  EXPECT_FALSE(farm.dispatcher.AllGone());
  farm.Say(2, MessageKind::kBye);
  EXPECT_TRUE(farm.dispatcher.AllGone());
  farm.dispatcher.Leave();
  farm.Tick();
  EXPECT_EQ(farm.CountSent(MessageKind::kLeave), 2U);
  EXPECT_TRUE(farm.sent.back().message.clean || farm.sent[farm.sent.size() - 4].message.clean);
}

TEST(Dispatcher, TellsTheRestNotToFinalizeAfterALoss) {
  Farm farm(2);
  farm.Ready();
  farm.dispatcher.Lose(1, "its process is gone");
  farm.dispatcher.Stop();
  farm.Say(2, MessageKind::kBye);
  ASSERT_TRUE(farm.dispatcher.AllGone());
  farm.dispatcher.Leave();
  farm.Tick();
  for (const auto& out : farm.sent) {
    if (out.message.kind == MessageKind::kLeave) {
      EXPECT_EQ(out.to, 2);
      EXPECT_FALSE(out.message.clean);
    }
  }
  EXPECT_EQ(farm.CountSent(MessageKind::kLeave), 1U);
}

/// Workers that lose, repeat, delay and invent messages at random: every task still finishes once,
/// with a result as long as anybody is alive.
TEST(Dispatcher, FinishesEveryTaskOnceWhateverWorkersDo) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    FarmOptions options;
    options.max_attempts = 100;
    Farm farm(4, options);
    farm.Ready();
    std::set<std::uint64_t> wanted;
    for (int i = 0; i < 30; ++i) wanted.insert(farm.dispatcher.Submit(kBlob, 0));
    std::set<int> dead;
    std::map<int, Message> last;
    std::vector<std::pair<int, Message>> delayed;
    for (int step = 0; step < 3000 && farm.finished.size() < wanted.size(); ++step) {
      farm.Pass(100ms, dead);
      for (int rank = 1; rank <= 4; ++rank) {
        if (dead.contains(rank) || !farm.given.contains(rank)) continue;
        const Message answer = farm.AnswerOf(rank);
        switch (rng.Below(8)) {
          case 0:
            if (dead.size() < 3 && rng.Below(10) == 0) dead.insert(rank);
            break;
          case 1:  // twice
            farm.Say(rank, answer);
            farm.given.erase(rank);
            farm.Say(rank, answer);
            break;
          case 2: {  // lost, and the next beat says idle
            Message idle = answer;
            idle.kind = MessageKind::kBeat;
            idle.blob.clear();
            farm.given.erase(rank);
            farm.Say(rank, idle);
            delayed.emplace_back(rank, answer);
            break;
          }
          case 3:  // in the name of another
            farm.Tick();
            farm.Say(1 + rank % 4, answer);
            if (!farm.dispatcher.TakeFinished().empty()) FAIL() << "took a stranger's answer";
            break;
          case 4:
            farm.Say(rank, answer);
            farm.given.erase(rank);
            break;
          default:
            break;  // takes its time
        }
        if (!delayed.empty() && rng.Below(4) == 0) {
          farm.Say(delayed.back().first, delayed.back().second);
          delayed.pop_back();
        }
      }
    }
    std::set<std::uint64_t> got;
    for (const auto& task : farm.finished) {
      EXPECT_TRUE(got.insert(task.task).second) << "seed " << seed << " task " << task.task;
      EXPECT_FALSE(task.failure);
    }
    EXPECT_EQ(got, wanted) << "seed " << seed;
  }
}

}  // namespace
}  // namespace msc::cost
