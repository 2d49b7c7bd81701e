// libroctx64.so and librocprofiler-sdk-roctx.so: ranges and marks that nobody records.
#include <cstdint>

#define STAND_IN_API extern "C" __attribute__((visibility("default")))

namespace {

thread_local int depth = 0;
std::uint64_t ranges = 0;

}  // namespace

STAND_IN_API std::uint32_t roctx_version_major() { return 4; }
STAND_IN_API std::uint32_t roctx_version_minor() { return 1; }
STAND_IN_API void roctxMarkA(const char*) {}
/// The level that the range has, 0 for the outermost; of the end, that of the range that ends.
STAND_IN_API int roctxRangePushA(const char*) { return depth++; }
STAND_IN_API int roctxRangePop() { return depth > 0 ? --depth : -1; }
STAND_IN_API std::uint64_t roctxRangeStartA(const char*) { return __atomic_add_fetch(&ranges, 1, __ATOMIC_RELAXED); }
STAND_IN_API void roctxRangeStop(std::uint64_t) {}
STAND_IN_API int roctxProfilerPause(std::uint64_t) { return 0; }
STAND_IN_API int roctxProfilerResume(std::uint64_t) { return 0; }
STAND_IN_API int roctxNameOsThread(const char*) { return 0; }
STAND_IN_API int roctxNameHsaAgent(const char*, const void*) { return 0; }
STAND_IN_API int roctxNameHipDevice(const char*, int) { return 0; }
STAND_IN_API int roctxNameHipStream(const char*, const void*) { return 0; }
STAND_IN_API int roctxGetThreadId(std::uint64_t* id) {
    if (id != nullptr) *id = 0;
    return 0;
}
