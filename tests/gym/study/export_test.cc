#include "gym/study/export.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "gym/study/timeline.h"

namespace msc::gym {
namespace {

const std::vector<Decision> kDecisions = {{"conv,\"1\"", {"f32", "int8"}}, {"=cmd()", {"a", "b"}}};

StudyHeader Header() {
  StudyHeader header;
  header.objective = {{"latency", "loss"}, {{"drop", 0.5}}};
  return header;
}

std::vector<Trial> Trials() {
  Trial good;
  good.number = 0;
  good.source = "anchor:plain";
  good.assignment = {0, 1};
  good.evaluation.metrics = {{"drop", 0.25}, {"latency", 1.5}, {"loss", 0.1}};
  good.seconds = 2.5;
  good.finished = 1764000000.25;
  Trial bad;
  bad.number = 1;
  bad.source = "random";
  bad.assignment = {1, 0};
  bad.evaluation.failure = Failure{FailureKind::kCompile, "no, \"such\" thing\nhere"};
  Trial over = good;
  over.number = 2;
  over.assignment = {1, 1};
  over.evaluation.metrics["drop"] = 0.75;
  return {good, bad, over};
}

TEST(StudyAsCsv, HasALineATrialAndNoFormulas) {
  EXPECT_EQ(StudyAsCsv(Header(), Trials(), kDecisions),
            "trial,source,feasible,repeated,failure,seconds,drop,latency,loss,"
            "\"choice:conv,\"\"1\"\"\",choice:=cmd()\r\n"
            "0,anchor:plain,true,false,,2.5,0.25,1.5,0.1,f32,b\r\n"
            "1,random,false,false,\"compile: no, \"\"such\"\" thing\nhere\",0.0,,,,int8,a\r\n"
            "2,anchor:plain,false,false,,2.5,0.75,1.5,0.1,int8,b\r\n");
  std::vector<Trial> trials = Trials();
  trials[0].source = "=1+1";
  EXPECT_NE(StudyAsCsv(Header(), trials, kDecisions).find("0,'=1+1,"), std::string::npos);
}

TEST(StudyAsCsv, RefusesAnAssignmentOfAnotherProblem) {
  std::vector<Trial> trials = Trials();
  trials[1].assignment = {2, 0};
  EXPECT_THROW((void)StudyAsCsv(Header(), trials, kDecisions), UserError);
  EXPECT_THROW((void)StudyAsOptuna(Header(), trials, kDecisions, "s"), UserError);
}

/// Loads the file of its first argument, and goes on with the study. Times are those of the zone
/// that TZ names.
constexpr const char* kLoad = R"py(
import datetime, sys, warnings
warnings.simplefilter("ignore")
import optuna
from optuna.trial import TrialState
try:
    from optuna.storages.journal import JournalFileBackend
except ImportError:
    from optuna.storages import JournalFileStorage as JournalFileBackend
def load():
    storage = optuna.storages.JournalStorage(JournalFileBackend(sys.argv[1]))
    return optuna.load_study(study_name='run "1"', storage=storage)
study = load()
assert [d.name for d in study.directions] == ["MINIMIZE", "MINIMIZE"]
first, second, third = study.trials
assert first.params == {'conv,"1"': "f32", "=cmd()": "b"
}, first.params
assert first.values == [1.5, 0.1] and first.state == TrialState.COMPLETE
assert first.user_attrs["drop"] == 0.25 and first.system_attrs["constraints"] == [-0.5]
assert second.state == TrialState.FAIL and second.user_attrs["failure"].startswith("compile")
assert third.system_attrs["constraints"] == [0.5]
assert first.datetime_complete == datetime.datetime.fromtimestamp(1764000000.25), first
assert first.datetime_complete == datetime.datetime(2025, 11, 24, 21, 45, 0, 250000), first
assert first.duration.total_seconds() == 2.5 and second.datetime_start is None
# In Optuna 5 what breaks a constraint is none of the best.
knows = hasattr(first, "constraints")
assert not knows or list(first.constraints.values()) == [-0.5]
assert [t.number for t in study.best_trials] == ([0] if knows else [0, 2]), study.best_trials
for sampler in optuna.samplers.TPESampler(seed=1), optuna.samplers.NSGAIISampler(seed=1):
    study.sampler = sampler  # it can go on from here
    trial = study.ask()
    for name, distribution in first.distributions.items():
        assert trial.suggest_categorical(name, distribution.choices) in distribution.choices
    study.tell(trial, [0.5, 0.05])
assert [t.number for t in load().best_trials] == [3, 4], load().trials
)py";

/// `python` loads what is exported in a time zone other than UTC.
void LoadWith(const std::string& python, const std::string& label) {
  const std::string base = testing::TempDir() + "/msc_optuna_" + label + std::to_string(::getpid());
  const char* zone = std::getenv("TZ");
  const std::string before = zone == nullptr ? "" : zone;
  ::setenv("TZ", "XXX-5:45", 1);  // east of Greenwich by hours and minutes
  ::tzset();
  WriteFileAtomic(base + ".log", StudyAsOptuna(Header(), Trials(), kDecisions, "run \"1\""));
  WriteFileAtomic(base + ".py", kLoad);
  EXPECT_EQ(std::system((python + " " + base + ".py " + base + ".log").c_str()), 0);
  zone == nullptr ? ::unsetenv("TZ") : ::setenv("TZ", before.c_str(), 1);
  ::tzset();
  for (const char* end : {".log", ".py", ".log.lock"}) std::filesystem::remove(base + end);
}

TEST(StudyAsOptuna, IsLoadedByOptunaOfDebian) {
  const std::string python = "/usr/bin/python3";  // whatever other Python comes first
  if (std::system((python + " -c 'import optuna' 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "python3-optuna is not installed";
  }
  LoadWith(python, "debian");
}

TEST(StudyAsOptuna, IsLoadedByOptunaOfPeers) {
  const std::string python = "\"$(scripts/peers python peers)\"";
  if (std::system(("test -x " + python + " 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "scripts/setup --peers has made no environment 'peers'";
  }
  LoadWith(python, "peers");
}

TEST(TasksOf, LaysOneStartOfTheProgramAfterTheOther) {
  const TaskSpan first{.worker = 2, .strategy = "ab", .from = 1.5, .to = 4, .end = "lost"};
  const TaskSpan second{.worker = 1, .strategy = "cd", .from = 0.5, .to = 2, .end = "result"};
  const std::vector<std::string> records = {
      R"({"type":"study"})", R"({"type":"start"})", ToJson(first), R"({"type":"tick"})",
      ToJson(second),        R"({"type":"start"})", ToJson(second)};
  TaskSpan again = second;
  again.from += 4;
  again.to += 4;
  EXPECT_EQ(TasksOf(records), (std::vector<TaskSpan>{first, second, again}));
  for (const char* wrong : {R"([])", R"({"type":"task","worker":0})",
                            R"({"type":"task","from":-1})", R"({"type":"task","to":"x"})",
                            R"({"type":"task","end":"?"})", R"({"type":"task","x":1})"}) {
    EXPECT_THROW((void)TasksOf(std::vector<std::string>{wrong}), UserError) << wrong;
  }
}

}  // namespace
}  // namespace msc::gym
