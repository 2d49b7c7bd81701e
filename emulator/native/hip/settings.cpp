// Environment to settings.
#include "hip/settings.hpp"

#include <charconv>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace hipscope {
namespace {

std::string text(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::uint64_t number(const char* name, std::uint64_t otherwise) {
    const std::string value = text(name);
    if (value.empty()) return otherwise;
    std::uint64_t result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size())
        throw std::runtime_error(std::string(name) + "=" + value + " is not a whole number");
    return result;
}

}  // namespace

Settings Settings::from_environment() {
    Settings s;
    s.out = text("HIPSCOPE_OUT");
    s.objdump = text("HIPSCOPE_OBJDUMP");
    s.device_config = text("HIPSCOPE_DEVICE_CONFIG");
    s.cache = text("HIPSCOPE_CACHE");
    s.sanitize = text("HIPSCOPE_SANITIZE");
    s.threads = static_cast<int>(number("HIPSCOPE_THREADS", 0));
    if (s.threads <= 0) s.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    s.time_budget_ms = number("HIPSCOPE_TIME_BUDGET_MS", s.time_budget_ms);
    s.profile_launches = number("HIPSCOPE_PROFILE_LAUNCHES", s.profile_launches);
    s.seed = number("HIPSCOPE_SEED", 0);
    s.poison = number("HIPSCOPE_POISON", 0);
    s.poison_inverted = number("HIPSCOPE_POISON_INVERTED", 0) != 0;
    s.max_instructions = number("HIPSCOPE_MAX_INSTRUCTIONS", s.max_instructions);
    s.clock_percent = number("HIPSCOPE_CLOCK_PERCENT", s.clock_percent);
    s.time_limit_ms = number("HIPSCOPE_TIME_LIMIT_MS", 0);
    s.keep_going = number("HIPSCOPE_KEEP_GOING", 0) != 0;
    s.capture = text("HIPSCOPE_CAPTURE");
    std::istringstream kernels(text("HIPSCOPE_CAPTURE_KERNELS"));
    for (std::string name; std::getline(kernels, name, ';');)
        if (!name.empty()) s.capture_kernels.push_back(name);
    s.capture_per_shape = number("HIPSCOPE_CAPTURE_PER_SHAPE", 1);
    s.capture_variants = number("HIPSCOPE_CAPTURE_VARIANTS", s.capture_variants);
    s.capture_max_bytes = number("HIPSCOPE_CAPTURE_MAX_BYTES", s.capture_max_bytes);
    s.capture_all_bytes = number("HIPSCOPE_CAPTURE_ALL_BYTES", s.capture_all_bytes);
    s.effects_bytes = number("HIPSCOPE_EFFECTS_BYTES", 0);
    return s;
}

}  // namespace hipscope
