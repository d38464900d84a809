// Translates the distiller of an MSC config.

#include "gym/msc_config/translator.h"

namespace msc::gym::msc_config {

void Translator::Train(const json& value, const std::string& path) {
  tool_ = "distill";
  if (searched_.size() < 2) {
    // The env that trains candidates needs decisions on both channels and precisions. Walk the keys
    // anyway, so that unsupported ones are rejected.
    const auto [ours, notes] = std::pair(ours_, notes_);
    Walk(value, path, Part::kTool);
    ours_ = ours;
    notes_ = notes;
    return Note(path,
                "no effect on the search; train its result with mscgym distill --strategy "
                "best/strategy.json");
  }
  Walk(value, path, Part::kTool);
  // MSC's default.
  if (!ours_.contains(json::json_pointer("/compress/distill/epochs"))) {
    Own("/compress/distill/epochs", json::array({1}), path);
  }
}

void Translator::Power(const json& value, const std::string& path) {
  if (value != json(2)) Reject(path, "must be 2; outputs are compared by their squared distance");
}

void Translator::Temperature(const json& value, const std::string& path) {
  Own("/compress/distill/temperature", json::array({value}), path);
}

void Translator::Epochs(const json& value, const std::string& path) {
  Own("/compress/distill/epochs", json::array({value}), path);
}

void Translator::Rate(const json& value, const std::string& path) {
  Own("/compress/distill/rate", json::array({value}), path);
}

}  // namespace msc::gym::msc_config
