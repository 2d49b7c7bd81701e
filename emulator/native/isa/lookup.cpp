// Chooses the build of the handlers once per process and indexes its rows by name.
#include "isa/lookup.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <unordered_map>

#if defined(HIPSCOPE_ISA_LEVELS)
namespace hipscope::isa_avx2 {
std::span<const isa::Table> tables();
}
namespace hipscope::isa_avx512 {
std::span<const isa::Table> tables();
}
#endif
namespace hipscope::isa_baseline {
std::span<const isa::Table> tables();
}

namespace hipscope::isa {
namespace {

struct Build {
    std::string_view name;
    std::span<const Table> tables;
};

Build choose() {
#if defined(HIPSCOPE_ISA_LEVELS)
    const char* wanted = std::getenv("HIPSCOPE_ISA_LEVEL");
    const std::string_view cap = wanted == nullptr ? "avx512" : wanted;
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512 && cap == "avx512") return {"avx512", isa_avx512::tables()};
    if (avx2 && cap != "baseline") return {"avx2", isa_avx2::tables()};
#endif
    return {"baseline", isa_baseline::tables()};
}

const Build& build() {
    static const Build chosen = choose();
    return chosen;
}

using Index = std::unordered_map<std::string_view, const Entry*>;
const Index& index() {
    static const Index all = [] {
        Index result;
        for (const Table& table : build().tables) {
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
