// Feeds damaged code objects to the loader, in this process: ELF files, offload bundles (plain and compressed), metadata
// and disassembly text, each changed at random from a good one. Whatever loads is launched, for a few instructions.
//
//   hipscope-loader-fuzz INPUTS SEED SAMPLES...    a sample is X.co (ELF) beside X.s (its disassembly), X.bundle or X.json
//
// Prints what became of the inputs. A crash, or an error of the sanitizers when built with them, is a finding: the number
// of the input is on stderr; `FIRST=NUMBER` in the environment runs that one alone.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include "core/decode.hpp"
#include "engine/bundle.hpp"
#include "engine/code_object.hpp"
#include "engine/dispatch.hpp"
#include "engine/host_services.hpp"
#include "engine/json_value.hpp"

namespace {

using namespace hipscope;

std::atomic<std::uint64_t> current{0};

extern "C" void tell(int) {
    char text[64];
    const int n = std::snprintf(text, sizeof text, "loader-fuzz: input %llu\n", static_cast<unsigned long long>(current.load()));
    static_cast<void>(!write(2, text, static_cast<std::size_t>(n)));
    std::_Exit(3);
}

struct Random {
    std::uint64_t state;
    std::uint64_t next() {
        std::uint64_t z = state += 0x9e3779b97f4a7c15ULL;
        z = (z ^ z >> 30U) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ z >> 27U) * 0x94d049bb133111ebULL;
        return z ^ z >> 31U;
    }
    std::size_t below(std::size_t n) { return n == 0 ? 0 : next() % n; }
};

/// A few changes: bits, bytes, numbers of 1 to 8 bytes set to corner values, pieces copied, cut off or put in.
void damage(std::string& bytes, Random& random) {
    static constexpr std::uint64_t corners[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 40U, ~0ULL, 1ULL << 63U};
    // Headers are small and decide most: half of the changes go there, the other half anywhere.
    for (std::size_t changes = 1 + random.below(6); changes > 0 && !bytes.empty(); --changes) {
        const std::size_t reach = random.below(2) == 0 ? std::min<std::size_t>(bytes.size(), 0x600) : bytes.size();
        const std::size_t at = random.below(reach);
        switch (random.below(8)) {
            case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8))); break;
            case 1: bytes[at] = static_cast<char>(random.next()); break;
            case 2: case 3: case 4: {
                const std::uint64_t value = random.below(3) == 0 ? random.next() : corners[random.below(std::size(corners))] + random.below(3) - 1;
                const std::size_t width = std::size_t{1} << random.below(4);
                std::memcpy(bytes.data() + at, &value, std::min(width, bytes.size() - at));
                break;
            }
            case 5: {
                const std::size_t from = random.below(bytes.size()), length = random.below(std::min(bytes.size() - from, bytes.size() - at)) % 256;
                std::memmove(bytes.data() + at, bytes.data() + from, length);
                break;
            }
            case 6: if (random.below(4) == 0) bytes.resize(random.below(bytes.size()) + 1); break;
            default: bytes.insert(at, random.below(32), static_cast<char>(random.next())); break;
        }
    }
}

class Target {
public:
    Target() : area_(memory_) {
        EngineSettings settings;
        settings.max_instructions = 3000;
        engine_ = std::make_unique<Engine>(memory_, settings, std::nullopt);
        buffer_ = memory_.allocate(1U << 16U);
    }
    /// "loaded", or the first words of why not.
    std::string object(std::string elf, const std::string& text) {
        std::unique_ptr<CodeObject> object;
        try {
            object = load_code_object(extract_code_object(elf, "gfx942"), memory_, [&](const std::string&) { return text; });
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        for (const auto& [name, kernel] : object->kernels) launch(*object, kernel);
        memory_.release(object->image);
        return "loaded";
    }

private:
    void launch(const CodeObject& object, const Kernel& kernel) {
        Launch launch;
        launch.object = &object;
        launch.kernel = &kernel;
        launch.workgroup = {64, 1, 1};
        launch.grid = {64, 1, 1};
        launch.kernarg.resize(kernel.explicit_bytes());
        for (std::size_t at = 0; at + 8 <= launch.kernarg.size(); at += 8) std::memcpy(launch.kernarg.data() + at, &buffer_, 8);
        try {
            engine_->run(prepare(std::move(launch), area_, 64 * 1024, services_), false);
        } catch (const std::runtime_error&) {
        }
    }

    Memory memory_;
    HostServices services_{memory_, false};
    LaunchArea area_;
    std::unique_ptr<Engine> engine_;
    std::uint64_t buffer_ = 0;
};

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct Sample {
    std::string bytes, text;
    bool json;
};

std::string feed(Target& target, const Sample& sample, Random& random) {
    std::string bytes = sample.bytes, text = sample.text;
    if (sample.json) {
        damage(bytes, random);
        try {
            parse_json(bytes);
        } catch (const std::runtime_error&) {
            return "not JSON";
        }
        return "JSON";
    }
    if (random.below(4) == 0) damage(text, random);
    else damage(bytes, random);
    if (random.below(8) == 0) {  // as a program's embedded image, whose length nobody gives
        const std::string_view found = image_bytes(bytes.data());
        bytes.assign(found.substr(0, std::min(found.size(), bytes.size())));
    }
    return target.object(std::move(bytes), text);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: hipscope-loader-fuzz INPUTS SEED SAMPLES...\n");
        return 2;
    }
    try {
        std::vector<Sample> samples;
        for (int i = 3; i < argc; ++i) {
            const std::string path = argv[i], stem = path.substr(0, path.rfind('.'));
            const bool json = path.ends_with(".json");
            samples.push_back({content(path), json ? "" : content(stem + ".s"), json});
        }
        for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) std::signal(signal, tell);
        const std::uint64_t inputs = std::strtoull(argv[1], nullptr, 10), seed = std::strtoull(argv[2], nullptr, 10);
        const char* first = std::getenv("FIRST");
        std::map<std::string, std::uint64_t> results;
        Target target;
        const std::uint64_t begin = first == nullptr ? 0 : std::strtoull(first, nullptr, 10);
        for (current = begin; current < (first == nullptr ? inputs : begin + 1); ++current) {
            Random random{seed * 1'000'003 + current};
            const std::string result = feed(target, samples[random.below(samples.size())], random);
            ++results[result.substr(0, result.find('\''))];
        }
        for (const auto& [what, count] : results) std::printf("%8llu  %s\n", static_cast<unsigned long long>(count), what.c_str());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hipscope-loader-fuzz: input %llu: %s\n", static_cast<unsigned long long>(current.load()), error.what());
        return 1;
    }
}
