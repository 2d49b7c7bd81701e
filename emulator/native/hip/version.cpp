// Reads the DT_NEEDED entries of all loaded objects.
#include "hip/version.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace hipscope {
namespace {

constexpr std::string_view kLibrary = "libamdhip64.so.";

/// The version that one loaded object asks for, 0 for none.
int asked_by(const ElfW(Dyn)* dynamic) {
    const char* names = nullptr;
    for (const auto* d = dynamic; d->d_tag != DT_NULL; ++d)
        if (d->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(d->d_un.d_ptr);  // NOLINT: made absolute by the loader
    if (names == nullptr) return 0;
    for (const auto* d = dynamic; d->d_tag != DT_NULL; ++d) {
        if (d->d_tag != DT_NEEDED) continue;
        const std::string_view name(names + d->d_un.d_val);
        if (name.starts_with(kLibrary)) return std::atoi(name.data() + kLibrary.size());
    }
    return 0;
}

int find() {
    int newest = 0;
    for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next)
        if (object->l_ld != nullptr && object->l_addr != 0) newest = std::max(newest, asked_by(object->l_ld));
        else if (object->l_ld != nullptr && object == _r_debug.r_map) newest = std::max(newest, asked_by(object->l_ld));
    return newest == 0 ? 5 : newest;
}

}  // namespace

int hip_major_version() {
    static const int version = find();
    return version;
}

}  // namespace hipscope
