// Feeds damaged code objects to the loader, in this process: ELF files, offload bundles (plain and compressed), metadata
// and disassembly text, each changed at random from a good one. Whatever loads is launched, for a few instructions.
//
//   hipscope-loader-fuzz INPUTS SEED SAMPLES...    a sample is X.co (ELF) beside X.s (its disassembly), X.bundle or X.json
//
// Prints what became of the inputs. A crash, or an error of the sanitizers when built with them, is a finding: the number
// of the input is on stderr; NUMBER:NUMBER+1 in place of INPUTS runs that one alone.
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/mman.h>

#include "core/decode.hpp"
#include "engine/bundle.hpp"
#include "engine/code_object.hpp"
#include "engine/dispatch.hpp"
#include "engine/host_services.hpp"
#include "engine/json_value.hpp"
#include "damage.hpp"

namespace {

using namespace hipscope;
using fuzz::content, fuzz::current, fuzz::damage, fuzz::Random;

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
            engine_->run(prepare(std::move(launch), area_, services_), false);
        } catch (const std::runtime_error&) {
        }
    }

    Memory memory_;
    HostServices services_{memory_, false};
    LaunchArea area_;
    std::unique_ptr<Engine> engine_;
    std::uint64_t buffer_ = 0;
};

struct Sample {
    std::string bytes, text;
    bool json;
};

/// What is found of a program's embedded image, whose length nobody gives: it ends where its mapping does.
std::string as_image(const std::string& bytes) {
    constexpr std::size_t page = 4096;
    const std::size_t size = (bytes.size() + page - 1) / page * page;
    void* mapping = mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) throw std::runtime_error("no memory for an image");
    mprotect(static_cast<char*>(mapping) + size, page, PROT_NONE);
    char* image = static_cast<char*>(mapping) + (size - bytes.size());
    std::memcpy(image, bytes.data(), bytes.size());
    std::string found(image_bytes(image));
    munmap(mapping, size + page);
    return found;
}

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
    if (random.below(8) == 0) bytes = as_image(bytes);
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
        Target target;
        fuzz::run(argv[1], argv[2], [&](Random& random) { return feed(target, samples[random.below(samples.size())], random); });
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hipscope-loader-fuzz: input %llu: %s\n", static_cast<unsigned long long>(current.load()), error.what());
        return 1;
    }
}
