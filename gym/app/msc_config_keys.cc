#include <array>

#include "gym/app/msc_translator.h"

namespace msc::gym {
namespace msc_config {
namespace {

using Fate = Rule::Fate;

// --- the keys ------------------------------------------------------------------------------------

constexpr std::string_view kReports = "the run directory has logs, results and report; see --out";
constexpr std::string_view kTiming =
    "every candidate is timed beside the uncompressed model; see 'latency', and limit losses by "
    "'objective.subject_to'";

constexpr auto kTop = std::to_array<Rule>({
    {"workspace", Fate::kNoEffect, kReports},
    {"verbose", Fate::kNoEffect, "see --log-level"},
    {"log_file", Fate::kNoEffect, kReports},
    {"logger", Fate::kNoEffect, kReports},
    {"debug_level", Fate::kNoEffect, "see --log-level"},
    {"use_cache", Fate::kNoEffect, "outcomes are kept by content, always; see --cache"},
    {"model_type", Fate::kNoEffect, "models are ONNX files; 'model' names one"},
    {"inputs", Fate::kMapped, "`shapes`, of inputs whose sizes are all numbers",
     &Translator::Inputs},
    {"outputs", Fate::kNoEffect, "the model says what they are"},
    {"dataset", Fate::kMapped, "see stages of `dataset`", &Translator::Dataset},
    {"prepare", Fate::kNoEffect, kTiming},
    {"parse", Fate::kNoEffect, "models are ONNX files; 'model' names one"},
    {"baseline", Fate::kNoEffect, kTiming},
    {"optimize", Fate::kNoEffect, "candidates run on the target; nothing else computes them"},
    {"compile", Fate::kMapped, "its `run_type` as `target`", &Translator::Compile},
    {"profile", Fate::kNoEffect, kTiming},
    {"export", Fate::kNoEffect, "see best/ in the run directory, and mscgym export"},
    {"run_config", Fate::kNoEffect, "candidates run on the target; nothing else computes them"},
    {"skip_config", Fate::kNoEffect, "every candidate is judged and timed"},
    {"dynamic", Fate::kMapped, "`false` only: models are not captured from programs",
     &Translator::Dynamic},
    {"prune", Fate::kMapped, "the env prune, or with `quantize` compress", &Translator::Prune},
    {"quantize", Fate::kMapped, "the env quantize, or with `prune` compress",
     &Translator::Quantize},
    {"distill", Fate::kMapped,
     "where both `prune` and `quantize` are searched, `compress.distill`: every candidate may be "
     "trained; else no effect, train what was found by mscgym distill",
     &Translator::Distill},
    {"track", Fate::kNoEffect, "see mscgym track"},
    {"tools", Fate::kMapped, "as `prune`, `quantize`, `distill`, by `tool_type`",
     &Translator::Tools},
});

constexpr auto kDataset = std::to_array<Rule>({
    {"loader", Fate::kMapped,
     "that of `prepare`: `calibration.data`, where it is an IDX or NumPy file; any other kind only "
     "where `calibration.data` stands beside, and goes before",
     &Translator::Loader},
    {"max_batch", Fate::kNoEffect, "see 'calibration.samples' and 'quality.samples'"},
    {"load_kwargs", Fate::kMapped, "empty only", &Translator::NoArguments},
    {"max_golden", Fate::kNoEffect, "see 'quality.samples'"},
});

constexpr auto kCompile = std::to_array<Rule>({
    {"run_type", Fate::kMapped, "`target`, where there is one of that name", &Translator::Target},
    {"run_config", Fate::kNoEffect, "targets have options of their own: onednn:threads=2"},
    {"profile", Fate::kNoEffect, kTiming},
});

constexpr std::string_view kStrategyFile =
    "the best strategy is written there, too; relative to the run directory; see files; without "
    "effect in `distill`";

constexpr auto kTool = std::to_array<Rule>({
    {"tool_type", Fate::kMapped,
     "`pruner`, `quantizer`, `distiller`, `tracker` (without effect); in `prune`, `quantize` and "
     "`distill` only theirs",
     &Translator::ToolType},
    {"tool_config", Fate::kMapped, "the keys in it as if they stood here", &Translator::ToolConfig},
    {"strategy_file", Fate::kMapped, kStrategyFile, &Translator::StrategyFile},
    {"plan_file", Fate::kMapped, kStrategyFile, &Translator::StrategyFile},
    {"target", Fate::kMapped, "`target`, where there is one of that name", &Translator::Target},
    {"run_type", Fate::kMapped, "`target`, where there is one of that name", &Translator::Target},
    {"gym", Fate::kMapped,
     "what is searched, and by whom: gyms, or \"default\"; several are one search, the first's "
     "keys "
     "go before",
     &Translator::Gym},
    {"gym_configs", Fate::kMapped, "the same", &Translator::Gym},
    {"strategys", Fate::kMapped, "calibration and alignment; see methods", &Translator::Strategies},
    {"options", Fate::kMapped,
     "empty, weight types of the pruner (without effect), or see options of `distill`",
     &Translator::Options},
    {"worker_configs", Fate::kNoEffect, "of models captured from programs in pieces alone"},
    {"cache_processed", Fate::kNoEffect, "a matter of how the originals ran models"},
    {"tool_style", Fate::kNoEffect, "a matter of how the originals ran models"},
    {"config_style", Fate::kNoEffect, "a matter of how the originals ran models"},
    {"visualize", Fate::kNoEffect, "see report.html in the run directory"},
    {"debug_level", Fate::kNoEffect, "see --log-level"},
    {"verbose_step", Fate::kNoEffect, "see --log-level"},
});

constexpr std::string_view kSelector = "the search decides for every layer by itself";

constexpr auto kStrategy = std::to_array<Rule>({
    {"methods", Fate::kMapped, "see methods", &Translator::Methods},
    {"marks", Fate::kNoEffect, kSelector},
    {"tensor_names", Fate::kNoEffect, kSelector},
    {"tensor_ids", Fate::kNoEffect, kSelector},
    {"op_types", Fate::kNoEffect, kSelector},
    {"op_names", Fate::kNoEffect, kSelector},
    {"stages", Fate::kNoEffect, kSelector},
});

constexpr std::string_view kOneScale =
    "weights have a scale a channel, activations one, unsigned where nothing is negative";

constexpr auto kMethod = std::to_array<Rule>({
    {"method_name", Fate::kMapped,
     "`*_kl_divergence`: `calibration.options.method` entropy; `*_maxmin`: minmax; `per_channel`, "
     "`gather_max_per_channel`, `quantize_normal`, `dequantize_normal`: as it is always done; "
     "`loss_lp_norm`, `loss_kl_divergence`: `compress.distill.lp` 1 or 0, beside the divergence",
     &Translator::Method},
    {"nbits", Fate::kMapped,
     "of weights, 2 to 8: `quantize.bits`; of activations 8 only; -1: the search decides which "
     "layers stay in floats",
     &Translator::Bits},
    {"power", Fate::kMapped, "2 only, of `loss_lp_norm`", &Translator::Power},
    {"temperature", Fate::kMapped, "`compress.distill.temperature`", &Translator::Temperature},
    {"softmax_dim", Fate::kNoEffect, "the divergence goes over the last axis"},
    {"density", Fate::kNoEffect, "the search decides it"},
    {"stride", Fate::kMapped, "`prune.align`", &Translator::Stride},
    {"auto_unsign", Fate::kNoEffect, kOneScale},
    {"channel", Fate::kNoEffect, kOneScale},
    {"axis", Fate::kNoEffect, kOneScale},
    {"scale", Fate::kNoEffect, kOneScale},
    {"sign", Fate::kNoEffect, kOneScale},
    {"bins", Fate::kNoEffect, "histograms have 2048"},
    {"rounding", Fate::kNoEffect, "to nearest, ties to even; see mscgym quantize --rounding"},
    {"epsilon", Fate::kNoEffect, kOneScale},
});

constexpr auto kGym = std::to_array<Rule>({
    {"record", Fate::kMapped,
     "what was tried is written there; relative to the run directory; see files",
     &Translator::Record},
    {"config_type", Fate::kMapped, "`default` only", &Translator::Default},
    {"control_type", Fate::kMapped, "`default` only", &Translator::Default},
    {"env", Fate::kMapped, "see env", &Translator::GymEnv},
    {"agent", Fate::kMapped, "see agent", &Translator::GymAgent},
    {"tasks", Fate::kNoEffect, "workers are threads or ranks; see --workers and mpirun"},
    {"world_size", Fate::kNoEffect, "workers are threads or ranks; see --workers and mpirun"},
    {"dist_manager", Fate::kNoEffect, "workers are threads or ranks; see --workers and mpirun"},
    {"max_iter", Fate::kNoEffect, "a search ends by 'trials' or 'time_budget_s'"},
    {"record_step", Fate::kNoEffect, "every trial is recorded"},
    {"debug_level", Fate::kNoEffect, "see --log-level"},
    {"verbose", Fate::kNoEffect, "see --log-level"},
});

constexpr auto kEnv = std::to_array<Rule>({
    {"strategy", Fate::kMapped,
     "`distill_loss`: `objective.minimize` latency, distill_loss; `accuracy`: latency, "
     "accuracy_drop",
     &Translator::Reward},
    {"role_type", Fate::kMapped, "that of the tool only", &Translator::EnvRole},
    {"executors", Fate::kMapped,
     "`reward_compare_baseline`, of `reward_runner` or `reward_outputs`, as strategy distill_loss: "
     "its `loss_type` lp_norm and `loss_config` are without effect: outputs are compared by "
     "the KL divergence of the candidate's softmax from the model's over the last axis, its mean "
     "over samples and outputs, since a power of their difference grows with their scale, and no "
     "limit on it would fit two models; outputs whose last axis is 1 add nothing; the nearest to "
     "power 2, over the variance of the output, is `mse` in the record of each trial; "
     "`create_tasks`, `action_space` and `observation` without effect, as they are the env's own; "
     "see --dry-run",
     &Translator::EnvExecutors},
    {"options", Fate::kMapped, "empty only", &Translator::Options},
    {"max_tasks", Fate::kMapped,
     "`quantize.first_layers`, or `prune.first_groups`: those behind stay as the model has them; "
     "-1: all are decided",
     &Translator::MaxTasks},
    {"debug_level", Fate::kNoEffect, "see --log-level"},
});

constexpr auto kAgent = std::to_array<Rule>({
    {"type", Fate::kMapped,
     "`grid_search`, `search.grid`: sweep, which tries every choice of every layer alone, then the "
     "best of each together, as the original does for its tasks, and goes on from there (`grid` "
     "itself is every combination in order, for small spaces); `binary_search`, `search.binary`: "
     "bisection; or any of `mscgym list agents`",
     &Translator::AgentType},
    {"role_type", Fate::kMapped, "the same", &Translator::AgentType},
    {"executors", Fate::kMapped,
     "`evaluate_by_loss`, `evaluate_by_thresh` without effect; for limits see "
     "`objective.subject_to`",
     &Translator::AgentExecutors},
    {"options", Fate::kMapped, "see agent options", &Translator::AgentOptions},
    {"debug_level", Fate::kNoEffect, "see --log-level"},
});

constexpr auto kAgentOptions = std::to_array<Rule>({
    {"max_search", Fate::kMapped, "`trials`", &Translator::MaxSearch},
});

constexpr auto kDistillOptions = std::to_array<Rule>({
    {"max_iter", Fate::kMapped, "`compress.distill.epochs`", &Translator::Epochs},
    {"save_step", Fate::kNoEffect, "what was trained is kept by content; see --cache"},
    {"weights_folder", Fate::kNoEffect, kReports},
    {"optimizer", Fate::kNoEffect, "always Adam"},
    {"opt_config", Fate::kMapped, "see optimizer", &Translator::Optimizer},
});

constexpr auto kOptimizer = std::to_array<Rule>({
    {"lr", Fate::kMapped, "`compress.distill.rate`", &Translator::Rate},
    {"weight_decay", Fate::kNoEffect, "weights are not decayed"},
});

constexpr auto kTables = std::to_array<Table>(
    {{"Top level", kTop},
     {"Stages of `dataset`: `prepare`, `baseline`, `optimize`, `compile`, `golden`", kDataset},
     {"`compile`", kCompile},
     {"A tool", kTool},
     {"`strategys`", kStrategy},
     {"methods", kMethod},
     {"A gym", kGym},
     {"`gym.env`", kEnv},
     {"`gym.agent`", kAgent},
     {"agent options", kAgentOptions},
     {"options of `distill`", kDistillOptions},
     {"optimizer", kOptimizer}});

}  // namespace

std::span<const Table> Tables() {
  return kTables;
}

}  // namespace msc_config

std::string MscConfigReference() {
  std::string text =
      "# Configs of the original MSC\n\n"
      "`mscgym search` takes the configs of TVM's MSC that have a gym, as they are, with the model "
      "and the samples beside their keys:\n"
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
      "Any key of [config.md](config.md) may stand beside, those of `prune`, `quantize` and "
      "`distill` in the sections that the original calls so, and goes before what is translated. "
      "The search says which keys have no effect, and what the others became; "
      "`config.json` in the run directory is the result. A key that is not below is an error. Made "
      "by `mscgym list msc-config`.\n";
  using msc_config::Rule;
  for (const msc_config::Table& table : msc_config::Tables()) {
    text += "\n## " + std::string(table.title) + "\n| key | becomes |\n|---|---|\n";
    for (const Rule& rule : table.rules) {
      const char* fate = rule.fate == Rule::Fate::kNoEffect  ? "no effect; "
                         : rule.fate == Rule::Fate::kRefused ? "refused; "
                                                             : "";
      text += "| `" + std::string(rule.key) + "` | " + fate + std::string(rule.why) + " |\n";
    }
  }
  text +=
      "\n## Files\n"
      "`strategy_file` and `plan_file` get a strategy of ours (as `best/strategy.json`, with "
      "weights that were fitted in a file beside it that ends in `.weights`): what `mscgym compile "
      "--strategy` reads. All tools of a config have one, as they are one search. Where nothing "
      "keeps the limits none is written.\n\n"
      "`record` gets the trials, one JSON document:\n"
      "```\n"
      "{\"format\": \"mscgym record\", \"version\": 1, \"trials\": [\n"
      "  {\"trial\": 0, \"source\": \"anchor:f32\", \"actions\": {\"conv1\": \"f32\"},\n"
      "   \"rewards\": {\"latency\": 1.0, \"distill_loss\": 0.0}},\n"
      "  {\"trial\": 1, \"source\": \"sweep\", \"actions\": {\"conv1\": \"int8\"}, "
      "\"failure\": \"...\"}]}\n"
      "```\n"
      "Rewards are metrics, less is better in all of them. Relative names lie in the run "
      "directory, "
      "which is what the original's `workspace` was; absolute ones where they say. A file that is "
      "there and is of another kind ends the search before it begins; an earlier one of ours is "
      "replaced at once, and the search says so. Both are written at the end, a record also when "
      "the search is interrupted; from Python, and by searches of recipes (`\"env\": "
      "\"distill\"`), neither.\n";
  return text;
}

}  // namespace msc::gym
