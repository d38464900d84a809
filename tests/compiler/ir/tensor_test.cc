#include "compiler/ir/tensor.h"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include "compiler/base/error.h"

namespace msc {
namespace {

struct alignas(64) Numbers {
  std::array<float, 32> values = {};
};

/// A view of the first `size` of `owner`'s numbers.
Tensor ViewOf(const std::shared_ptr<Numbers>& owner, std::int64_t size) {
  const std::span<const float> values(owner->values.data(), static_cast<std::size_t>(size));
  return Tensor::View(DType::kF32, {size}, std::as_bytes(values), owner);
}

TEST(TensorView, ShowsTheBytesOfItsOwnerAndKeepsThem) {
  auto owner = std::make_shared<Numbers>();
  owner->values[1] = 5;
  const std::weak_ptr<Numbers> seen = owner;
  Tensor view = ViewOf(owner, 4);
  EXPECT_TRUE(view.is_view());
  EXPECT_EQ(view.Values<float>().data(), owner->values.data());
  EXPECT_EQ(view, Tensor::From<float>(DType::kF32, {4}, std::array<float, 4>{0, 5, 0, 0}));
  owner.reset();
  EXPECT_FALSE(seen.expired());
  const Tensor copy = view;
  const Tensor moved = std::move(view);
  EXPECT_EQ(copy.Raw().data(), moved.Raw().data());
  EXPECT_EQ(copy.Reshaped({2, 2}).Values<float>()[1], 5);
  EXPECT_FALSE(seen.expired());
}

TEST(TensorView, IsCopiedBeforeItIsChanged) {
  const auto owner = std::make_shared<Numbers>();
  owner->values[0] = 1;
  Tensor view = ViewOf(owner, 4);
  const Tensor other = view;
  view.MutableValues<float>()[0] = 2;
  EXPECT_FALSE(view.is_view());
  EXPECT_EQ(view.Values<float>()[0], 2);
  EXPECT_EQ(other.Values<float>()[0], 1);
  EXPECT_EQ(owner->values[0], 1);
  EXPECT_EQ(owner.use_count(), 2);  // the view that was changed let go
  Tensor raw = other;
  raw.MutableRaw()[0] = std::byte{7};
  EXPECT_EQ(owner->values[0], 1);
}

TEST(TensorView, IsReplacedByAnAssignment) {
  const auto owner = std::make_shared<Numbers>();
  Tensor view = ViewOf(owner, 4);
  view = Tensor(DType::kF32, {2});
  EXPECT_FALSE(view.is_view());
  EXPECT_EQ(owner.use_count(), 1);
  Tensor owned(DType::kF32, {4});
  owned = ViewOf(owner, 4);
  EXPECT_EQ(owned.Raw().data(), reinterpret_cast<const std::byte*>(owner->values.data()));
}

TEST(TensorView, IsRefusedForOtherBytes) {
  const auto owner = std::make_shared<Numbers>();
  const auto bytes = std::as_bytes(std::span<const float>(owner->values));
  EXPECT_THROW((void)Tensor::View(DType::kF32, {4}, bytes.first(12), owner), InternalError);
  EXPECT_THROW((void)Tensor::View(DType::kF32, {3}, bytes.subspan(4, 12), owner), InternalError);
  EXPECT_THROW((void)Tensor::View(DType::kString, {0}, bytes.first(0), owner), UserError);
  EXPECT_THROW((void)Tensor::View(DType::kUndefined, {0}, bytes.first(0), owner), UserError);
}

}  // namespace
}  // namespace msc
