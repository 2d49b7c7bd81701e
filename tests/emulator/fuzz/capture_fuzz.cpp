// Replays damaged captures, in this process: numbers and text of meta.json, arguments, memory (packed or not), the list of
// checksums, each changed at random from a good one. The checksums are made anew over what was changed, so that what reads
// it is reached. Code objects are the loader fuzzer's.
//
//   hipscope-capture-fuzz INPUTS SEED CACHE FOLDER CAPTURES...    CACHE keeps disassembly, FOLDER is for the inputs
//
// Prints what became of the inputs; a crash is reported as the loader fuzzer does.
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "capture/checksum.hpp"
#include "capture/frames.hpp"
#include "capture/replay_dispatch.hpp"
#include "core/files.hpp"
#include "damage.hpp"

namespace {

using namespace hipscope;
using fuzz::content, fuzz::current, fuzz::damage, fuzz::Random;
namespace fs = std::filesystem;

struct File {
    std::string bytes, recorded;  // on disk, and what the checksum is of
};
using Files = std::map<std::string, File>;

Files read_capture(const std::string& folder) {
    Files files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name == "checksums" || name.find(".after") != std::string::npos) continue;
        File& file = files[name];
        file.bytes = file.recorded = content(entry.path().string());
        if (!name.ends_with(".zst")) continue;
        file.recorded.resize(unpacked_bytes(file.bytes));
        unpack(file.bytes, file.recorded.data());
    }
    return files;
}

/// Another number in place of one in a text.
void change_number(std::string& text, Random& random) {
    static constexpr const char* numbers[] = {"0", "-1", "1", "4096", "65536", "4294967295", "4294967296", "9223372036854775807",
                                              "138538465099776", "138538465103871", "-9223372036854775808", "3.5", "true", "null", "[]", "{}", "\"x\""};
    std::vector<std::size_t> starts;
    for (std::size_t i = 1; i < text.size(); ++i)
        if (std::isdigit(static_cast<unsigned char>(text[i])) != 0 && std::isdigit(static_cast<unsigned char>(text[i - 1])) == 0) starts.push_back(i);
    if (starts.empty()) return;
    const std::size_t at = starts[random.below(starts.size())];
    const std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    text.replace(at, end - at, numbers[random.below(std::size(numbers))]);
}

void change(const std::string& name, File& file, Random& random) {
    if (name == "meta.json" && random.below(4) != 0) {
        for (std::size_t changes = 1 + random.below(3); changes > 0; --changes) change_number(file.bytes, random);
    } else {
        damage(file.bytes, random);
    }
    if (!name.ends_with(".zst")) file.recorded = file.bytes;  // else the frames must hold what they held
}

void write_capture(const std::string& folder, const Files& files, Random& random) {
    fs::create_directories(folder);
    std::string text = "hipscope-dispatch 3\n";
    for (const auto& [name, file] : files) {
        write_file(folder + "/" + name, file.bytes);
        char line[40];
        std::snprintf(line, sizeof line, "%08x %zu ", crc32(file.recorded), file.recorded.size());
        text += line + name + "\n";
    }
    if (random.below(16) == 0) damage(text, random);
    else if (random.below(16) == 0) change_number(text, random);
    char end[20];
    std::snprintf(end, sizeof end, "end %08x\n", crc32(text));
    write_file(folder + "/checksums", text + end);
}

ReplayOptions options_of(const std::string& input, const std::string& cache, Random& random) {
    ReplayOptions options;
    options.dispatch = input;
    options.out = input + "/out";
    options.cache = cache;
    options.runs = true;
    options.max_seconds = 0.02;
    options.seed = random.below(3);
    options.trace_access = random.below(4) == 0;
    if (random.below(4) == 0) options.poison = random.next();
    if (random.below(4) == 0 && !options.trace_access) options.sanitize = "all";
    return options;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) {
        std::fprintf(stderr, "usage: hipscope-capture-fuzz INPUTS SEED CACHE FOLDER CAPTURES...\n");
        return 2;
    }
    try {
        std::vector<Files> captures;
        for (int i = 5; i < argc; ++i) captures.push_back(read_capture(argv[i]));
        fuzz::run(argv[1], argv[2], [&](Random& random) {
            Files files = captures[random.below(captures.size())];
            for (std::size_t changes = 1 + random.below(2); changes > 0; --changes) {
                auto file = files.begin();
                std::advance(file, random.below(files.size()));
                if (file->first == "code_object.co" || random.below(3) == 0) file = files.find("meta.json");
                change(file->first, file->second, random);
            }
            const std::string input = std::string(argv[4]) + "/" + std::to_string(current.load());
            write_capture(input, files, random);
            fs::create_directories(input + "/out");
            const ReplayOutcome outcome = replay_dispatch(options_of(input, argv[3], random));
            write_result(input + "/out", outcome);
            fs::remove_all(input);
            return outcome.status;
        });
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hipscope-capture-fuzz: input %llu: %s\n", static_cast<unsigned long long>(current.load()), error.what());
        return 1;
    }
}
