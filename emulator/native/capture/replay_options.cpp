// Command line parser.
#include "capture/replay_options.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace hipscope {
namespace {

double number(std::string_view option, const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || value < 0)
        throw std::runtime_error(std::string(option) + ": '" + text + "' is not a number");
    return value;
}

std::array<std::uint32_t, 3> triple(std::string_view option, const std::string& text) {
    std::array<std::uint32_t, 3> value{};
    char rest = 0;
    if (std::sscanf(text.c_str(), "%u,%u,%u%c", &value[0], &value[1], &value[2], &rest) != 3)
        throw std::runtime_error(std::string(option) + ": '" + text + "' is not three numbers with commas");
    return value;
}

/// INDEX=HEX: the bytes that one buffer is filled with.
std::pair<std::size_t, std::string> filling(std::string_view option, const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string hex = equals == std::string::npos ? "" : text.substr(equals + 1);
    if (hex.empty() || hex.size() % 2 != 0 || hex.find_first_not_of("0123456789abcdef") != std::string::npos)
        throw std::runtime_error(std::string(option) + ": '" + text + "' is not INDEX=HEX");
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        bytes += static_cast<char>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16));
    return {static_cast<std::size_t>(number(option, text.substr(0, equals))), bytes};
}

Hold place(std::string_view option, const std::string& text) {
    if (text == "before") return Hold::before;
    if (text == "after") return Hold::after;
    throw std::runtime_error(std::string(option) + ": '" + text + "' is neither before nor after");
}

}  // namespace

ReplayOptions ReplayOptions::parse(int argc, char** argv) {
    ReplayOptions o;
    const char* cache = std::getenv("HIPSCOPE_CACHE");
    if (cache != nullptr) o.cache = cache;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (option == "--trace-access") { o.trace_access = true; continue; }
        if (option == "--number-kinds") { o.number_kinds = true; continue; }
        if (option == "--profile") { o.profile = true; continue; }
        if (option == "--timed-only") { o.timed_only = true; continue; }
        if (option == "--runs") { o.runs = true; continue; }
        if (option == "--poison-inverted") { o.poison_inverted = true; continue; }
        if (i + 1 >= argc) throw std::runtime_error("unknown option or missing value: " + std::string(option));
        const std::string value = argv[++i];
        if (option == "--dispatch") o.dispatch = value;
        else if (option == "--code-object") o.code_object = value;
        else if (option == "--kernel") o.kernel = value;
        else if (option == "--out") o.out = value;
        else if (option == "--device-config") o.device_config = value;
        else if (option == "--objdump") o.objdump = value;
        else if (option == "--cache") o.cache = value;
        else if (option == "--inputs") o.inputs = value;
        else if (option == "--poison-mask") o.poison_mask = value;
        else if (option == "--sanitize") o.sanitize = value;
        else if (option == "--seed") o.seed = static_cast<std::uint64_t>(number(option, value));
        else if (option == "--poison-fill") o.poison_fill.insert(filling(option, value));
        else if (option == "--poison") o.poison = static_cast<std::uint64_t>(number(option, value));
        else if (option == "--grid") o.grid = triple(option, value);
        else if (option == "--workgroup") o.workgroup = triple(option, value);
        else if (option == "--dynamic-lds") o.dynamic_lds = static_cast<std::uint32_t>(number(option, value));
        else if (option == "--threads") o.threads = static_cast<int>(number(option, value));
        else if (option == "--hold") o.held.hold = place(option, value);
        else if (option == "--hold-only") o.held.only = static_cast<std::uint32_t>(number(option, value));
        else if (option == "--max-seconds") o.max_seconds = number(option, value);
        else throw std::runtime_error("unknown option " + std::string(option));
    }
    if (o.dispatch.empty() || o.out.empty())
        throw std::runtime_error("usage: hipscope-replay --dispatch DIR --code-object FILE --out DIR [--kernel NAME] "
                                 "[--profile [--timed-only] --device-config FILE] [--trace-access [--number-kinds]] [--runs] [--seed N] [--hold before|after [--hold-only PLACE]] [--poison N [--poison-inverted] --poison-mask DIR [--poison-fill BUFFER=HEX]...] "
                                 "[--sanitize all|CHECK,...] [--inputs DIR] [--objdump FILE] [--cache DIR] [--threads N] [--max-seconds S]");
    if (o.profile && o.device_config.empty()) throw std::runtime_error("--profile needs --device-config");
    if (o.profile && !o.sanitize.empty()) throw std::runtime_error("--profile and --sanitize exclude each other");
    if (o.held.hold != Hold::none && (o.profile || o.trace_access || !o.sanitize.empty())) throw std::runtime_error("--hold goes with none of --profile, --trace-access and --sanitize");
    o.held.seed = o.seed;
    return o;
}

}  // namespace hipscope
