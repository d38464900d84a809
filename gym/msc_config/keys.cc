#include <array>

#include "gym/msc_config/translator.h"

namespace msc::gym {
namespace msc_config {
namespace {

using Fate = Rule::Fate;

// --- the keys ------------------------------------------------------------------------------------

constexpr std::string_view kReports = "the run directory has logs, results and report; see --out";
constexpr std::string_view kTiming =
    "the search times every candidate beside the uncompressed model; see 'latency', and limit "
    "losses with 'objective.subject_to'";

constexpr auto kTop = std::to_array<Rule>({
    {"workspace", Fate::kNoEffect, kReports},
    {"verbose", Fate::kNoEffect, "see --log-level"},
    {"log_file", Fate::kNoEffect, kReports},
    {"logger", Fate::kNoEffect, kReports},
    {"debug_level", Fate::kNoEffect, "see --log-level"},
    {"use_cache", Fate::kNoEffect, "results are always cached by content; see --cache"},
    {"model_type", Fate::kNoEffect, "models are ONNX files; set 'model' to one"},
    {"inputs", Fate::kMapped, "`shapes`, for inputs whose sizes are all numbers",
     &Translator::Inputs},
    {"outputs", Fate::kNoEffect, "the model defines its outputs"},
    {"dataset", Fate::kMapped, "see Stages of `dataset`", &Translator::Dataset},
    {"prepare", Fate::kNoEffect, kTiming},
    {"parse", Fate::kNoEffect, "models are ONNX files; set 'model' to one"},
    {"baseline", Fate::kNoEffect, kTiming},
    {"optimize", Fate::kNoEffect, "candidates run only on the target"},
    {"compile", Fate::kMapped, "its `run_type` becomes `target`", &Translator::Compile},
    {"profile", Fate::kNoEffect, kTiming},
    {"export", Fate::kNoEffect, "see best/ in the run directory, and mscgym export"},
    {"run_config", Fate::kNoEffect, "candidates run only on the target"},
    {"skip_config", Fate::kNoEffect, "the search judges and times every candidate"},
    {"dynamic", Fate::kMapped, "must be `false`: mscgym does not capture models from programs",
     &Translator::Dynamic},
    {"prune", Fate::kMapped, "the env prune, or compress if `quantize` is present, too",
     &Translator::Prune},
    {"quantize", Fate::kMapped, "the env quantize, or compress if `prune` is present, too",
     &Translator::Quantize},
    {"distill", Fate::kMapped,
     "`compress.distill`, if both `prune` and `quantize` are searched: the search may train every "
     "candidate; otherwise no effect: train the result with mscgym distill",
     &Translator::Distill},
    {"track", Fate::kNoEffect, "see mscgym track"},
    {"tools", Fate::kMapped,
     "the same as `prune`, `quantize` and `distill`, according to `tool_type`", &Translator::Tools},
});

constexpr auto kDataset = std::to_array<Rule>({
    {"loader", Fate::kMapped,
     "in the stage `prepare`, an IDX or NumPy file becomes `calibration.data`; for other samples, "
     "set `calibration.data` beside the keys of MSC, which overrides this key; no effect in the "
     "other stages",
     &Translator::Loader},
    {"max_batch", Fate::kNoEffect, "see 'calibration.samples' and 'quality.samples'"},
    {"load_kwargs", Fate::kMapped, "must be empty", &Translator::NoArguments},
    {"max_golden", Fate::kNoEffect, "see 'quality.samples'"},
});

constexpr auto kCompile = std::to_array<Rule>({
    {"run_type", Fate::kMapped, "`target`, if a target has that name", &Translator::Target},
    {"run_config", Fate::kNoEffect, "targets have their own options, such as onednn:threads=2"},
    {"profile", Fate::kNoEffect, kTiming},
});

constexpr std::string_view kStrategyFile =
    "a file to which the search also writes the best strategy, relative to the run directory; see "
    "Files; no effect in `distill`";

constexpr auto kTool = std::to_array<Rule>({
    {"tool_type", Fate::kMapped,
     "`pruner`, `quantizer`, `distiller` or `tracker` (no effect); `prune`, `quantize` and "
     "`distill` accept only their own type",
     &Translator::ToolType},
    {"tool_config", Fate::kMapped, "its keys are read as keys of the tool",
     &Translator::ToolConfig},
    {"strategy_file", Fate::kMapped, kStrategyFile, &Translator::StrategyFile},
    {"plan_file", Fate::kMapped, kStrategyFile, &Translator::StrategyFile},
    {"target", Fate::kMapped, "`target`, if a target has that name", &Translator::Target},
    {"run_type", Fate::kMapped, "`target`, if a target has that name", &Translator::Target},
    {"gym", Fate::kMapped,
     "env and agent of the search: gyms, or \"default\"; several gyms make one search, and if two "
     "set a key, the value of the first counts",
     &Translator::Gym},
    {"gym_configs", Fate::kMapped, "the same as `gym`", &Translator::Gym},
    {"strategys", Fate::kMapped, "calibration and alignment; see `methods` below",
     &Translator::Strategies},
    {"options", Fate::kMapped,
     "must be empty, weight types of the pruner (no effect), or the options of `distill` below",
     &Translator::Options},
    {"worker_configs", Fate::kNoEffect,
     "applies only to models that were captured from programs in pieces"},
    {"cache_processed", Fate::kNoEffect, "concerns only how the original MSC ran models"},
    {"tool_style", Fate::kNoEffect, "concerns only how the original MSC ran models"},
    {"config_style", Fate::kNoEffect, "concerns only how the original MSC ran models"},
    {"visualize", Fate::kNoEffect, "see report.html in the run directory"},
    {"debug_level", Fate::kNoEffect, "see --log-level"},
    {"verbose_step", Fate::kNoEffect, "see --log-level"},
});

constexpr std::string_view kSelector = "the search decides for every layer separately";

constexpr auto kStrategy = std::to_array<Rule>({
    {"methods", Fate::kMapped, "see `methods` below", &Translator::Methods},
    {"marks", Fate::kNoEffect, kSelector},
    {"tensor_names", Fate::kNoEffect, kSelector},
    {"tensor_ids", Fate::kNoEffect, kSelector},
    {"op_types", Fate::kNoEffect, kSelector},
    {"op_names", Fate::kNoEffect, kSelector},
    {"stages", Fate::kNoEffect, kSelector},
});

constexpr std::string_view kOneScale =
    "weights have one scale per channel; activations have one scale, and are unsigned if no value "
    "is negative";

constexpr auto kMethod = std::to_array<Rule>({
    {"method_name", Fate::kMapped,
     "`*_kl_divergence` and `*_maxmin` become `calibration.options.method` entropy and minmax; "
     "`per_channel`, `gather_max_per_channel`, `quantize_normal` and `dequantize_normal` have no "
     "effect, because mscgym always does this; `loss_lp_norm` and `loss_kl_divergence` become "
     "`compress.distill.lp` 1 and 0, in addition to the divergence",
     &Translator::Method},
    {"nbits", Fate::kMapped,
     "for weights, 2 to 8: `quantize.bits`; for activations, must be 8; -1 has no effect: the "
     "search decides which layers stay in floating point",
     &Translator::Bits},
    {"power", Fate::kMapped, "must be 2; for `loss_lp_norm`", &Translator::Power},
    {"temperature", Fate::kMapped, "`compress.distill.temperature`", &Translator::Temperature},
    {"softmax_dim", Fate::kNoEffect,
     "the divergence is computed over the axis of the classes, which the search finds"},
    {"density", Fate::kNoEffect, "the search decides it"},
    {"stride", Fate::kMapped, "`prune.align`", &Translator::Stride},
    {"auto_unsign", Fate::kNoEffect, kOneScale},
    {"channel", Fate::kNoEffect, kOneScale},
    {"axis", Fate::kNoEffect, kOneScale},
    {"scale", Fate::kNoEffect, kOneScale},
    {"sign", Fate::kNoEffect, kOneScale},
    {"bins", Fate::kNoEffect, "histograms always have 2048 bins"},
    {"rounding", Fate::kNoEffect,
     "mscgym rounds to the nearest, and ties to even; see mscgym quantize --rounding"},
    {"epsilon", Fate::kNoEffect, kOneScale},
});

constexpr auto kGym = std::to_array<Rule>({
    {"record", Fate::kMapped,
     "a file to which the search writes its trials, relative to the run directory; see Files",
     &Translator::Record},
    {"config_type", Fate::kMapped, "must be `default`", &Translator::Default},
    {"control_type", Fate::kMapped, "must be `default`", &Translator::Default},
    {"env", Fate::kMapped, "see `gym.env`", &Translator::GymEnv},
    {"agent", Fate::kMapped, "see `gym.agent`", &Translator::GymAgent},
    {"tasks", Fate::kNoEffect, "workers are threads or MPI ranks; see --workers and mpirun"},
    {"world_size", Fate::kNoEffect, "workers are threads or MPI ranks; see --workers and mpirun"},
    {"dist_manager", Fate::kNoEffect, "workers are threads or MPI ranks; see --workers and mpirun"},
    {"max_iter", Fate::kNoEffect, "'trials' and 'time_budget_s' limit a search"},
    {"record_step", Fate::kNoEffect, "the search records every trial"},
    {"debug_level", Fate::kNoEffect, "see --log-level"},
    {"verbose", Fate::kNoEffect, "see --log-level"},
});

constexpr auto kEnv = std::to_array<Rule>({
    {"strategy", Fate::kMapped,
     "`distill_loss`: `objective.minimize` latency, distill_loss; `accuracy`: latency, "
     "accuracy_drop",
     &Translator::Reward},
    {"role_type", Fate::kMapped, "must be that of the tool", &Translator::EnvRole},
    {"executors", Fate::kMapped,
     "`reward_compare_baseline` of `reward_runner` or `reward_outputs` has the effect of strategy "
     "distill_loss. Its `loss_type` lp_norm and its `loss_config` have no effect: a "
     "power of the difference would grow with the scale of the outputs, so one limit would not "
     "suit two models. The loss distill_loss depends on what the outputs are (quality.md); "
     "`relative_error` is the nearest equivalent of power 2. `create_tasks`, `action_space` and "
     "`observation` have no effect, because the env defines them; see --dry-run",
     &Translator::EnvExecutors},
    {"options", Fate::kMapped, "must be empty", &Translator::Options},
    {"max_tasks", Fate::kMapped,
     "`quantize.first_layers` or `prune.first_groups`: later layers or groups stay as they are in "
     "the model; -1 = the search decides all of them",
     &Translator::MaxTasks},
    {"debug_level", Fate::kNoEffect, "see --log-level"},
});

constexpr auto kAgent = std::to_array<Rule>({
    {"type", Fate::kMapped,
     "`grid_search` and `search.grid` become sweep, which tries every choice of every layer alone, "
     "as the original MSC does for its tasks, then the best choices together, and continues from "
     "there (the agent `grid` tries every combination in order, for small spaces); `binary_search` "
     "and `search.binary` become bisection; any other name must be one of `mscgym list agents`",
     &Translator::AgentType},
    {"role_type", Fate::kMapped, "the same as `type`", &Translator::AgentType},
    {"executors", Fate::kMapped,
     "`evaluate_by_loss` and `evaluate_by_thresh` have no effect; set limits in "
     "`objective.subject_to`",
     &Translator::AgentExecutors},
    {"options", Fate::kMapped, "see Options of `gym.agent`", &Translator::AgentOptions},
    {"debug_level", Fate::kNoEffect, "see --log-level"},
});

constexpr auto kAgentOptions = std::to_array<Rule>({
    {"max_search", Fate::kMapped, "`trials`", &Translator::MaxSearch},
});

constexpr auto kDistillOptions = std::to_array<Rule>({
    {"max_iter", Fate::kMapped, "`compress.distill.epochs`", &Translator::Epochs},
    {"save_step", Fate::kNoEffect, "trained weights are always cached by content; see --cache"},
    {"weights_folder", Fate::kNoEffect, kReports},
    {"optimizer", Fate::kNoEffect, "the optimizer is always Adam"},
    {"opt_config", Fate::kMapped, "see `opt_config` below", &Translator::Optimizer},
});

constexpr auto kOptimizer = std::to_array<Rule>({
    {"lr", Fate::kMapped, "`compress.distill.rate`", &Translator::Rate},
    {"weight_decay", Fate::kNoEffect, "training has no weight decay"},
});

constexpr auto kTables = std::to_array<Table>(
    {{"Top level", kTop},
     {"Stages of `dataset`: `prepare`, `baseline`, `optimize`, `compile`, `golden`", kDataset},
     {"`compile`", kCompile},
     {"Tools: `prune`, `quantize`, `distill`", kTool},
     {"`strategys`", kStrategy},
     {"`methods`", kMethod},
     {"`gym`", kGym},
     {"`gym.env`", kEnv},
     {"`gym.agent`", kAgent},
     {"Options of `gym.agent`", kAgentOptions},
     {"Options of `distill`", kDistillOptions},
     {"`opt_config`", kOptimizer}});

}  // namespace

std::span<const Table> PartTables() {
  return kTables;
}

}  // namespace msc_config

std::vector<MscConfigKey> MscConfigKeys() {
  using msc_config::Rule;
  std::vector<MscConfigKey> keys;
  for (const msc_config::Table& table : msc_config::PartTables()) {
    for (const Rule& rule : table.rules) {
      const char* fate = rule.fate == Rule::Fate::kNoEffect  ? "no effect; "
                         : rule.fate == Rule::Fate::kRefused ? "rejected; "
                                                             : "";
      keys.push_back(
          {std::string(table.title), std::string(rule.key), fate + std::string(rule.why)});
    }
  }
  return keys;
}

std::string MscConfigReference() {
  std::string text =
      "# Configs of the original MSC\n\n"
      "`mscgym search` reads configs of TVM's MSC that have a gym. Add the model and the samples "
      "beside their keys:\n"
      "```\n"
      "{\n"
      "  \"model\": \"net.onnx\",\n"
      "  \"calibration\": {\"data\": {\"images\": \"train-images-idx3-ubyte.gz\"}},\n"
      "  \"quality\": {\"data\": {\"images\": \"t10k-images-idx3-ubyte.gz\"}},\n"
      "  \"quantize\": {\n"
      "    \"strategy_file\": \"msc_quantize.json\",\n"
      "    \"target\": \"tensorrt\",\n"
      "    \"gym\": [{\"record\": \"searched_config.json\", \"env\": {\"strategy\": "
      "\"distill_loss\"},\n"
      "             \"agent\": {\"type\": \"grid_search\"}}]\n"
      "  }\n"
      "}\n"
      "```\n"
      "You may add any key of [config.md](config.md). Add keys of `prune`, `quantize` and "
      "`distill` to the sections of the same name. Your own keys override translated ones. The "
      "search reports what each key of MSC becomes, or that it has no effect, and writes the "
      "resulting config to `config.json` in the run directory. An unknown key is an error; the "
      "tables below list all known ones. `mscgym list msc-config` prints this page.\n";
  std::string section;
  for (const MscConfigKey& row : MscConfigKeys()) {
    if (row.section != section) {
      section = row.section;
      text += "\n## " + section + "\n| key | becomes |\n|---|---|\n";
    }
    text += "| `" + row.key + "` | " + row.becomes + " |\n";
  }
  text +=
      "\n"
      "## Files\n"
      "To `strategy_file` and `plan_file`, the search writes a copy of `best/strategy.json`, which "
      "`mscgym compile --strategy` reads. Fitted weights are in a file beside it that ends in "
      "`.weights`. All tools of a config get the same strategy, because they are one search. If no "
      "candidate keeps the limits, the search writes no strategy.\n\n"
      "To `record`, the search writes the trials as one JSON document:\n"
      "```\n"
      "{\"format\": \"mscgym record\", \"version\": 1, \"trials\": [\n"
      "  {\"trial\": 0, \"source\": \"anchor:f32\", \"actions\": {\"conv1\": \"f32\"},\n"
      "   \"rewards\": {\"latency\": 1.0, \"distill_loss\": 0.0}},\n"
      "  {\"trial\": 1, \"source\": \"sweep\", \"actions\": {\"conv1\": \"int8\"}, \"failure\": "
      "\"...\"}]}\n"
      "```\n"
      "Rewards are metrics; lower is better for all of them.\n\n"
      "- Relative names are relative to the run directory, which takes the place of the "
      "`workspace` of the original MSC.\n"
      "- If a file exists and is not a strategy or record of mscgym, the search ends with an error "
      "before it begins. It replaces an earlier strategy or record of its own, and says so.\n"
      "- The search writes both files at the end, and a record also if it is interrupted. Python "
      "and searches of recipes (`\"env\": \"distill\"`) write neither.\n";
  return text;
}

}  // namespace msc::gym
