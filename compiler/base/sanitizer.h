#pragma once

#ifdef __has_feature  // Clang; GCC defines a macro for each
#define MSC_HAS_FEATURE(name) __has_feature(name)
#else
#define MSC_HAS_FEATURE(name) 0
#endif

namespace msc {

/// Whether this is built with the address or the thread sanitizer, which need more address space
/// than any limit and several times the time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    MSC_HAS_FEATURE(address_sanitizer) || MSC_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Whether it is the thread sanitizer, which takes what libraries built without it do for races.
#if defined(__SANITIZE_THREAD__) || MSC_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif

}  // namespace msc

#undef MSC_HAS_FEATURE
