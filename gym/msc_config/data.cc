// Translates the files and inputs of an MSC config.

#include <algorithm>
#include <array>
#include <filesystem>

#include "gym/msc_config/translator.h"

namespace msc::gym::msc_config {

void Translator::Inputs(const json& value, const std::string& path) {
  if (!value.is_array()) Reject(path, "must be a list of [name, shape, type]");
  json shapes = json::array();
  for (const json& input : value) {
    if (!input.is_array() || input.size() < 2 || !input[0].is_string() || !input[1].is_array()) {
      Reject(path, "must be a list of [name, shape, type]");
    }
    std::string sizes;
    for (const json& size : input[1]) {
      if (!size.is_number_integer()) sizes += '?';
      sizes += (sizes.empty() ? "" : "x") + size.dump();
    }
    if (sizes.empty() || sizes.find('?') != std::string::npos) {
      Note(path,
           "no effect for '" + input[0].get<std::string>() + "', whose sizes are not all numbers");
    } else {
      shapes.push_back(input[0].get<std::string>() + "=" + sizes);
    }
  }
  if (!shapes.empty()) Own("/shapes", shapes, path);
}

void Translator::Dataset(const json& value, const std::string& path) {
  constexpr std::array<std::string_view, 5> kStages = {"prepare", "baseline", "optimize", "compile",
                                                       "golden"};
  if (!value.is_object()) Reject(path, "must be an object");
  for (const auto& [stage, data] : value.items()) {
    const std::string at = path + "." + stage;
    if (std::find(kStages.begin(), kStages.end(), stage) == kStages.end()) {
      throw UserError("unknown key '" + at +
                      "' of an MSC config; known here: prepare, baseline, optimize, compile, "
                      "golden");
    }
    if (!data.is_object() || !data.contains("loader")) Reject(at, "must have a 'loader'");
    calibrates_ = stage == "prepare";
    Walk(data, at, Part::kDataset);
  }
}

void Translator::Loader(const json& value, const std::string& path) {
  if (!calibrates_) {
    return Note(path,
                "no effect; the samples of 'prepare' serve for calibration, and those of "
                "'quality.data' for judging");
  }
  const json::json_pointer images("/calibration/data/images");
  const std::string file = value.is_string() ? value.get<std::string>() : "";
  const bool numpy = file.ends_with(".npy");
  if (!numpy && !file.ends_with("ubyte") && !file.ends_with("ubyte.gz")) {
    if (ours_.contains(images)) {
      return Note(path, "ignored; 'calibration.data.images' is already " + ours_[images].dump());
    }
    Reject(path,
           "must be an IDX or NumPy file (*-ubyte, *-ubyte.gz, *.npy); for other samples, set "
           "'calibration.data.images' beside the keys of MSC");
  }
  const bool named = ours_.contains(images);
  Own("/calibration/data/images", file, path);
  // The format key must describe the file that is read.
  if (!named) Own("/calibration/data/format", numpy ? "npy" : "idx", path);
}

void Translator::NoArguments(const json& value, const std::string& path) {
  if (value.is_null() || (value.is_object() && value.empty())) return;
  Reject(path, "must be empty; use 'calibration.data' to set how files are read");
}

void Translator::WriteTo(std::vector<std::string>& files, const json& value,
                         const std::string& path, const char* what) {
  const std::string name = Word(value, path);
  const std::filesystem::path file = std::filesystem::path(name).lexically_normal();
  if (!file.has_filename()) Reject(path, "must name a file");
  if (*file.begin() == "..") {
    Reject(path, "must lie in the run directory, or be an absolute path");
  }
  if (std::find(files.begin(), files.end(), file.string()) == files.end()) {
    files.push_back(file.string());
  }
  Note(path, std::string("mscgym search writes ") + what + " to '" + file.string() + "'" +
                 (file.is_relative() ? " in the run directory" : ""));
}

void Translator::StrategyFile(const json& value, const std::string& path) {
  if (tool_ == "distill") {
    return Note(path, "no effect; trained weights are stored beside the strategy");
  }
  WriteTo(files_.strategies, value, path, "the best strategy");
}

void Translator::Record(const json& value, const std::string& path) {
  WriteTo(files_.records, value, path, "the trials");
}

}  // namespace msc::gym::msc_config
