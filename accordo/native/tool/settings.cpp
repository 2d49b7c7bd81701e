// Reader of the environment.
#include "tool/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace hipscope::gpu {
namespace {

std::string text(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : value;
}

void number(const char* name, std::uint64_t& into) {
    const std::string value = text(name);
    if (value.empty()) return;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), into);
    if (error != std::errc() || end != value.data() + value.size())
        throw std::runtime_error(std::string(name) + " must be a whole number, not '" + value + "'");
}

}  // namespace

Settings Settings::from_environment() {
    Settings settings;
    settings.directory = text("HIPSCOPE_CAPTURE");
    std::istringstream names(text("HIPSCOPE_CAPTURE_KERNELS"));
    for (std::string name; std::getline(names, name, ';');)
        if (!name.empty()) settings.kernels.push_back(name);
    number("HIPSCOPE_CAPTURE_PER_SHAPE", settings.per_shape);
    number("HIPSCOPE_CAPTURE_MAX_BYTES", settings.max_bytes);
    number("HIPSCOPE_CAPTURE_TIMEOUT_MS", settings.timeout_ms);
    return settings;
}

bool Settings::wants(const std::string& kernel) const {
    return kernels.empty() || std::find(kernels.begin(), kernels.end(), kernel) != kernels.end();
}

}  // namespace hipscope::gpu
