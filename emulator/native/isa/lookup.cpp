// Chooses the build of the handlers once per process and indexes its rows by name.
#include "isa/lookup.hpp"

#if defined(HIPSCOPE_ISA_HAS_AVX2) || defined(HIPSCOPE_ISA_HAS_AVX512)
#include <cpuid.h>
#endif
#include <initializer_list>
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
#if defined(HIPSCOPE_ISA_HAS_AVX2) || defined(HIPSCOPE_ISA_HAS_AVX512)
/// What the processor and the system can do, by CPUID itself: __builtin_cpu_supports says no to all where zig links its own.
class Processor {
  public:
    Processor() {
        unsigned a = 0, b = 0, c = 0, d = 0;
        if (__get_cpuid(1, &a, &b, &c, &d) == 0) return;
        first_ = c;
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) extended_ = b;
        if (all(first_, {27})) asm volatile("xgetbv" : "=a"(kept_), "=d"(d) : "c"(0));
    }
    bool avx2() const { return all(first_, {12, 29}) && all(extended_, {5, 8}) && all(kept_, {1, 2}); }  // FMA, F16C; AVX2, BMI2
    bool avx512() const { return all(extended_, {16, 17, 28, 30, 31}) && all(kept_, {5, 6, 7}); }        // F, DQ, CD, BW, VL

  private:
    static bool all(unsigned word, std::initializer_list<int> bits) {
        return std::all_of(bits.begin(), bits.end(), [word](int bit) { return (word >> bit & 1U) != 0; });
    }
    unsigned first_ = 0, extended_ = 0, kept_ = 0;  // leaf 1 ECX, leaf 7 EBX, the registers that the system saves (XCR0)
};
#endif

std::vector<Build> builds() {
    std::vector<Build> result;
#if defined(HIPSCOPE_ISA_HAS_BASELINE)
    result.push_back({"baseline", true, isa_baseline::tables});
#endif
#if defined(HIPSCOPE_ISA_HAS_AVX2) || defined(HIPSCOPE_ISA_HAS_AVX512)
    const Processor here;
    const bool avx2 = here.avx2();
#endif
#if defined(HIPSCOPE_ISA_HAS_AVX2)
    result.push_back({"avx2", avx2, isa_avx2::tables});
#endif
#if defined(HIPSCOPE_ISA_HAS_AVX512)
    const bool avx512 = avx2 && here.avx512();
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
