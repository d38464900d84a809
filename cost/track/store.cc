#include "cost/track/store.h"

#include <filesystem>
#include <span>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/ops/eval.h"
#include "cost/samples/array_file.h"

namespace msc::cost {
namespace {

/// Returns a file name that is valid for names of any length and bytes: a number, and the usable
/// characters of the name.
std::string FileName(std::size_t number, const std::string& stage, const std::string& name) {
  constexpr std::size_t kMost = 80;
  std::string text = std::to_string(number);
  while (text.size() < 4) text.insert(text.begin(), '0');
  text += "_" + stage + "_";
  for (const char c : name.substr(0, kMost)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       // Other characters may be separators of folders or invalid in names.
                       c == '.' || c == '-' || c == '_';
    text += plain ? c : '_';
  }
  return text + ".npy";
}

}  // namespace

Tensor AsNumbers(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::kF32 || dtype == DType::kF64) return tensor;
  if (IsFloat(dtype)) return ToF32(tensor);
  if (!IsInteger(dtype) && dtype != DType::kBool) {
    throw UserError("values of type " + std::string(Name(dtype)) +
                    " cannot be compared as numbers");
  }
  const auto converted = [&]<class T>(DType wanted, T /*zero*/) {
    Tensor numbers(wanted, tensor.dims());
    const std::span<T> out = numbers.MutableValues<T>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<T>(NumberAt(tensor, static_cast<std::int64_t>(i)));
    }
    return numbers;
  };
  // f32 holds integers of 16 bits exactly, f64 up to 2^53.
  return ByteSize(dtype) < 4 ? converted(DType::kF32, 0.0F) : converted(DType::kF64, 0.0);
}

TrackStore::TrackStore(std::string folder, std::uint64_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {
  if (folder_.empty()) return;
  std::error_code none;
  if (std::filesystem::exists(folder_, none) && !std::filesystem::is_empty(folder_, none)) {
    throw UserError("'" + folder_ + "' is not empty; name a new folder");
  }
  MakeFolders(folder_);
}

bool TrackStore::Put(const std::string& stage, const std::string& name, const Tensor& value) {
  Tensor numbers = AsNumbers(value);
  const auto before = entries_.find({stage, name});
  const std::uint64_t replaced = before == entries_.end() ? 0 : before->second.bytes;
  // A sum could overflow; this difference cannot, as bytes_ never exceeds most_bytes_.
  if (numbers.bytes() > most_bytes_ - (bytes_ - replaced)) {
    ++left_out_;
    return false;
  }
  Entry entry{.dtype = value.dtype(), .bytes = numbers.bytes(), .file = {}, .value = {}};
  if (folder_.empty()) {
    entry.value = std::move(numbers);
  } else {
    entry.file = before == entries_.end() ? folder_ + "/" + FileName(entries_.size(), stage, name)
                                          : before->second.file;
    // ReadNpy rejects arrays without dimensions.
    WriteNpy(entry.file, numbers.dims().empty() ? numbers.Reshaped({1}) : numbers);
    entry.value = Tensor(DType::kU8, {0});
  }
  bytes_ += entry.bytes - replaced;
  if (entries_.insert_or_assign({stage, name}, std::move(entry)).second) {
    order_[stage].push_back(name);
  }
  return true;
}

std::optional<Tensor> TrackStore::Get(const std::string& stage, const std::string& name) const {
  const auto entry = entries_.find({stage, name});
  if (entry == entries_.end()) return std::nullopt;
  return entry->second.file.empty() ? entry->second.value : ReadNpy(entry->second.file);
}

DType TrackStore::TypeOf(const std::string& stage, const std::string& name) const {
  const auto entry = entries_.find({stage, name});
  return entry == entries_.end() ? DType::kUndefined : entry->second.dtype;
}

std::vector<std::string> TrackStore::Names(const std::string& stage) const {
  const auto order = order_.find(stage);
  return order == order_.end() ? std::vector<std::string>() : order->second;
}

}  // namespace msc::cost
