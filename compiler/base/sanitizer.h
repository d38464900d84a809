#pragma once

#ifdef __has_feature  // only Clang has it; GCC defines a macro per sanitizer
#define MSC_HAS_FEATURE(name) __has_feature(name)
#else
#define MSC_HAS_FEATURE(name) 0
#endif

namespace msc {

/// Whether this is a build with the address or the thread sanitizer. Such builds reserve more
/// address space than any usual limit and run several times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    MSC_HAS_FEATURE(address_sanitizer) || MSC_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Whether this is a build with the thread sanitizer, which reports false races in libraries that
/// were built without it.
#if defined(__SANITIZE_THREAD__) || MSC_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif

}  // namespace msc

#undef MSC_HAS_FEATURE
