// Chooses the build of the handlers once per process and indexes its rows by name.
#include "isa/lookup.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>
#include <stdexcept>
#include <unordered_map>

// CMake defines a macro for each level whose handlers it compiles.
#if defined(HIPSCOPE_ISA_HAS_BASELINE)
namespace hipscope::isa_baseline {
std::span<const isa::Table> tables();
}
#endif
#if defined(HIPSCOPE_ISA_HAS_AVX2)
namespace hipscope::isa_avx2 {
std::span<const isa::Table> tables();
}
#endif
#if defined(HIPSCOPE_ISA_HAS_AVX512)
namespace hipscope::isa_avx512 {
std::span<const isa::Table> tables();
}
#endif

namespace hipscope::isa {
namespace {

struct Build {
    std::string_view name;
    bool runs_here;
    std::span<const Table> (*tables)();
};

int rank(std::string_view level) { return level == "baseline" ? 0 : level == "avx512" ? 2 : 1; }

/// What was compiled, the plainest first.
std::vector<Build> builds() {
    std::vector<Build> result;
#if defined(HIPSCOPE_ISA_HAS_BASELINE)
    result.push_back({"baseline", true, isa_baseline::tables});
#endif
#if defined(HIPSCOPE_ISA_HAS_AVX2) || defined(HIPSCOPE_ISA_HAS_AVX512)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
#endif
#if defined(HIPSCOPE_ISA_HAS_AVX2)
    result.push_back({"avx2", avx2, isa_avx2::tables});
#endif
#if defined(HIPSCOPE_ISA_HAS_AVX512)
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    result.push_back({"avx512", avx512, isa_avx512::tables});
#endif
    return result;
}

/// The most that runs here and that HIPSCOPE_ISA_LEVEL allows; where nothing of what it allows was compiled, the plainest.
Build choose() {
    const char* wanted = std::getenv("HIPSCOPE_ISA_LEVEL");
    const std::string_view most = wanted == nullptr ? "avx512" : wanted;
    std::optional<Build> chosen;
    for (const Build& build : builds()) {
        if (build.runs_here && (!chosen || rank(build.name) <= rank(most))) chosen = build;
    }
    if (!chosen) throw std::runtime_error("the emulator was compiled for another processor than this one; run `make setup` here");
    return *chosen;
}

const Build& build() {
    static const Build chosen = choose();
    return chosen;
}

using Index = std::unordered_map<std::string_view, const Entry*>;
const Index& index() {
    static const Index all = [] {
        Index result;
        for (const Table& table : build().tables()) {
            for (const Entry& entry : table) result.emplace(entry.name, &entry);
        }
        return result;
    }();
    return all;
}

}  // namespace

const Entry* find(std::string_view name) {
    const auto found = index().find(name);
    return found == index().end() ? nullptr : found->second;
}

std::vector<std::string_view> names() {
    std::vector<std::string_view> result;
    for (const auto& [name, entry] : index()) result.push_back(name);
    std::sort(result.begin(), result.end());
    return result;
}

std::string_view level() { return build().name; }

}  // namespace hipscope::isa
