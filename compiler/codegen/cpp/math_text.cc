#include "compiler/codegen/cpp/math_text.h"

#include "compiler/base/error.h"

namespace msc {
namespace {

// F is float or a vector of float, I is int or a vector of as many int. Comparisons of scalars
// return bool and those of vectors masks; `?:` accepts both. Polynomial coefficients minimize the
// largest error (Lawson's algorithm on Chebyshev points, in double). Clamps keep x as the second
// operand, so that NaN passes through.
//
// The errors below are the largest that three million points per interval showed against double,
// with and without fused multiply-add.
//
// nearest: adding and subtracting 2^23 rounds to an integer; from 2^23 on every float is one.

constexpr std::string_view kTools = R"cpp(
  template <class T>
  constexpr bool is_scalar = false;
  template <>
  inline constexpr bool is_scalar<f32> = true;
  template <>
  inline constexpr bool is_scalar<bf16> = true;
  template <>
  inline constexpr bool is_scalar<i8> = true;
  template <>
  inline constexpr bool is_scalar<u8> = true;
  template <>
  inline constexpr bool is_scalar<i16> = true;
  template <>
  inline constexpr bool is_scalar<i32> = true;
  template <>
  inline constexpr bool is_scalar<u32> = true;
  template <>
  inline constexpr bool is_scalar<i64> = true;
  template <>
  inline constexpr bool is_scalar<u64> = true;
  template <class F>
  INLINE F constant(f32 c) {
    return F{} + c;
  }
  template <class T, class S>
  INLINE T bits(S x) {
    static_assert(sizeof(T) == sizeof(S), "the same bits");
    T r;
    __builtin_memcpy(&r, &x, sizeof r);
    return r;
  }
  template <class T, class S>
  INLINE T convert(S x) {
    if constexpr (is_scalar<T>) {
      return (T)x;
    } else {
      return __builtin_convertvector(x, T);
    }
  }
  template <class F>
  INLINE F nearest(F x) {
    F big = constant<F>(8388608.0f);
    F r = x < F{} ? (x - big) + big : (x + big) - big;
    return (x < big) & (x > -big) ? r : x;
  }
)cpp";

constexpr std::string_view kFloor = R"cpp(
  template <class F, class I>
  INLINE F msc_floor(F x) {
    F t = nearest(x);
    return t > x ? t - 1.0f : t;
  }
)cpp";

// e^x = 2^k * e^r with an integer k and |r| <= log(2) / 2. Adding 1.5 * 2^23 rounds x / log(2) to k
// and leaves k in the low bits. log(2) is split into two constants (Cody and Waite); k times the
// first is exact. 2^k is two factors, because k may exceed the range of an exponent although the
// result does not, or is subnormal. Beyond the clamps the result is 0 or infinite.
// The clamps keep k in [-150, 128], so each factor has an exponent in [-75, 64] and is normal.
// e^-104 is less than half the smallest subnormal and e^89 exceeds the largest f32. 0x4b400000 are
// the bits of 1.5 * 2^23. k has 8 bits and the first constant 9, so their product has at most 17.
// Error: 1.1 ulp.
constexpr std::string_view kExp = R"cpp(
  template <class F, class I>
  INLINE F msc_exp(F x) {
    x = msc_min(constant<F>(89.0f), msc_max(constant<F>(-104.0f), x));
    F t = x * 1.44269504f + 12582912.0f;
    I n = bits<I>(t) - 0x4b400000;
    F k = t - 12582912.0f;
    F r = x - k * 0.693359375f;
    r = r + k * 2.12194440e-4f;
    F p = constant<F>(0.00139421655f);
    p = p * r + 0.00836377591f;
    p = p * r + 0.0416663624f;
    p = p * r + 0.166665733f;
    p = p * r + 0.5f;
    F y = r * r * p + r + 1.0f;
    I half = n >> 1;
    return y * bits<F>((half + 127) << 23) * bits<F>((n - half + 127) << 23);
  }
)cpp";

// Below 0.64 an odd polynomial, since the other formula cancels near 0; above, 1 - 2 / (e^(2|x|) +
// 1).
// From 0.64 on, 2 / (e^(2|x|) + 1) is below 1/2, so that the subtraction loses no digits. Where
// e^(2|x|) is infinite, the quotient is 0 and the result 1. The last lines restore the sign of x.
// Error: 1.3 ulp.
constexpr std::string_view kTanh = R"cpp(
  template <class F, class I>
  INLINE F msc_tanh(F x) {
    F a = bits<F>(bits<I>(x) & 0x7fffffff);
    F z = x * x;
    F p = constant<F>(0.00209772144f);
    p = p * z + -0.00812900066f;
    p = p * z + 0.0216816422f;
    p = p * z + -0.0539433993f;
    p = p * z + 0.133331805f;
    p = p * z + -0.333333313f;
    F near = p * z * x + x;
    F far = 1.0f - 2.0f / (msc_exp<F, I>(a + a) + 1.0f);
    far = bits<F>(bits<I>(far) | (bits<I>(x) & (-2147483647 - 1)));
    return a < constant<F>(0.64f) ? near : far;
  }
)cpp";

// Below 1 an odd polynomial; above, 1 - e^-q(|x|) with a polynomial q.
// 1 - erf(4) = 1.5e-8 is below half an ulp of numbers just below 1, so x is clamped to 4.
// Error: 2.5 ulp, or 1.4e-7.
constexpr std::string_view kErf = R"cpp(
  template <class F, class I>
  INLINE F msc_erf(F x) {
    F a = bits<F>(bits<I>(x) & 0x7fffffff);
    F z = x * x;
    F p = constant<F>(7.88912294e-05f);
    p = p * z + -0.000802084222f;
    p = p * z + 0.00518953567f;
    p = p * z + -0.0268544443f;
    p = p * z + 0.112836003f;
    p = p * z + -0.37612626f;
    p = p * z + 1.12837911f;
    F near = p * x;
    F b = msc_min(constant<F>(4.0f), a);
    F q = constant<F>(-0.000185574027f);
    q = q * b + 0.00293960748f;
    q = q * b + -0.0218053181f;
    q = q * b + 0.103037372f;
    q = q * b + 0.638225675f;
    q = q * b + 1.12704003f;
    q = q * b + 0.000353719312f;
    F far = 1.0f - msc_exp<F, I>(-q);
    far = bits<F>(bits<I>(far) | (bits<I>(x) & (-2147483647 - 1)));
    return a < constant<F>(1.0f) ? near : far;
  }
)cpp";

// 1 / (1 + e^-x), with e^-x computed as in msc_exp. Clamping to +-87 suffices for f32, keeps 2^k a
// single factor and the sum finite.
// 1 + e^87 is less than 2^126, so its reciprocal is normal. The shift by 23 moves k into the
// exponent and the bits of 1.5 * 2^23 out of the word. Error: 2.5 ulp for |x| <= 87; below
// -87 the result stays at 1.65e-38.
constexpr std::string_view kSigmoid = R"cpp(
  template <class F, class I>
  INLINE F msc_sigmoid(F x) {
    x = msc_min(constant<F>(87.0f), msc_max(constant<F>(-87.0f), x));
    F t = x * -1.44269504f + 12582912.0f;
    F k = t - 12582912.0f;
    F r = k * -0.693359375f - x;
    r = r + k * 2.12194440e-4f;
    F p = constant<F>(0.00139421655f);
    p = p * r + 0.00836377591f;
    p = p * r + 0.0416663624f;
    p = p * r + 0.166665733f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return reciprocal(p * bits<F>((bits<I>(t) << 23) + 0x3f800000) + 1.0f);
  }
)cpp";

// log(x) = k * log(2) + log(m) with x = 2^k * m and sqrt(1/2) <= m < sqrt(2). A subnormal x is
// first scaled by 2^23. Terms are added in ascending order of magnitude; log(2) is split as in
// msc_exp.
// 0x3f3504f3 are the bits of sqrt(1/2): subtracting them makes the exponent change there instead of
// at a power of two, and the arithmetic shift rounds k down. The last lines return
// infinity for infinity, -infinity for 0, and NaN for NaN and negative numbers. Error: 0.9 ulp.
constexpr std::string_view kLog = R"cpp(
  template <class F, class I>
  INLINE F msc_log(F x) {
    F s = x < constant<F>(1.17549435e-38f) ? x * 8388608.0f : x;
    I shift = x < constant<F>(1.17549435e-38f) ? I{} + 23 : I{};
    I i = bits<I>(s) - 0x3f3504f3;
    F m = bits<F>((i & 0x007fffff) + 0x3f3504f3);
    F k = convert<F>((i >> 23) - shift);
    F f = m - 1.0f;
    F p = constant<F>(-0.0786676705f);
    p = p * f + 0.128810421f;
    p = p * f + -0.131256431f;
    p = p * f + 0.141811863f;
    p = p * f + -0.166249141f;
    p = p * f + 0.200022906f;
    p = p * f + -0.250007987f;
    p = p * f + 0.333333164f;
    F z = f * f;
    F r = k * -2.12194440e-4f + p * z * f;
    r = r + z * -0.5f;
    r = r + f;
    r = r + k * 0.693359375f;
    r = x < constant<F>(__builtin_inff()) ? r : x;
    F none = x == F{} ? constant<F>(-__builtin_inff()) : constant<F>(__builtin_nanf(""));
    return x > F{} ? r : none;
  }
)cpp";

// binary16 has 5 bits of exponent with bias 15 and 10 of fraction. As in ToF16 and FromF16 of
// compiler/base: adding 0.5 rounds a number below 2^-14 to a multiple of 2^-24 and leaves it in the
// low bits, and 65520 and above are infinite. A NaN is quiet and keeps the upper bits of its
// payload. 0x38000000 are 112 exponents, the difference of the biases.
constexpr std::string_view kHalf = R"cpp(
  template <class F, class I>
  INLINE I msc_to_half(F x) {
    I m = bits<I>(x) & 0x7fffffff;
    I r = (m - 0x38000000 + 0xfff + ((m >> 13) & 1)) >> 13;
    r = m < 0x38800000 ? bits<I>(bits<F>(m) + 0.5f) - 0x3f000000 : r;
    r = m >= 0x477ff000 ? I{} + 0x7c00 : r;
    r = m > 0x7f800000 ? ((m >> 13) & 0x3ff) | 0x7e00 : r;
    return r | ((bits<I>(x) >> 16) & 0x8000);
  }
  template <class F, class I>
  INLINE F msc_from_half(I h) {
    I m = (h & 0x7fff) << 13;
    I r = m + 0x38000000;
    r = m < 0x00800000 ? bits<I>(convert<F>(h & 0x3ff) * 0x1p-24f) : r;
    r = m >= 0x0f800000 ? m + 0x70000000 : r;
    r = m > 0x0f800000 ? r | 0x00400000 : r;
    return bits<F>(r | ((h & 0x8000) << 16));
  }
)cpp";

}  // namespace

std::string_view HalfText() {
  return kHalf;
}

std::string_view MathToolsText() {
  return kTools;
}

std::string_view MathText(kernel::Op op) {
  switch (op) {
    case kernel::Op::kExp:
      return kExp;
    case kernel::Op::kTanh:
      return kTanh;
    case kernel::Op::kErf:
      return kErf;
    case kernel::Op::kSigmoid:
      return kSigmoid;
    case kernel::Op::kLog:
      return kLog;
    case kernel::Op::kFloor:
      return kFloor;
    default:
      Check(false, "a function that has a text");
  }
  return {};
}

}  // namespace msc
