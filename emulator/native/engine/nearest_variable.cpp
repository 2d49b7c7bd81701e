#include "engine/nearest_variable.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "core/byte_count.hpp"

namespace hipscope {
namespace {

/// Bytes between `address` and the variable; 0 inside.
std::uint64_t distance(const Variable& variable, std::uint64_t address) {
    if (address < variable.address) return variable.address - address;
    return address - std::min(address, variable.address + variable.bytes);
}

std::string readable(const std::string& symbol) {
    const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr), &std::free);
    return name ? name.get() : symbol;
}

}  // namespace

std::string beside_variable(const CodeObject& object, std::uint64_t block, std::uint64_t address) {
    if (block != object.image) return {};
    const std::pair<const std::string, Variable>* nearest = nullptr;
    for (const auto& one : object.variables)
        if (!one.first.starts_with("__hip_") &&  // the compiler's own
            (nearest == nullptr || distance(one.second, address) < distance(nearest->second, address)))
            nearest = &one;
    if (nearest == nullptr) return {};
    const auto& [symbol, variable] = *nearest;
    const std::string which = "the device variable `" + readable(symbol) + "` of " + byte_count(variable.bytes);
    if (address < variable.address) return byte_count(variable.address - address) + " before " + which;
    if (address < variable.address + variable.bytes) return "over the end of " + which;
    return byte_count(distance(variable, address)) + " after the end of " + which;
}

}  // namespace hipscope
