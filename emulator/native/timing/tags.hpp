// Set-associative cache tags with least-recently-used replacement, and the time at which each line arrives.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace hipscope {

/// Caches beside each other, with sets of their own: pieces of `bytes` that follow each other go through them, in another order
/// in each piece of `distant_bytes`.
struct CacheChannels {
    int number = 1, bytes = 0, distant_bytes = 0;
};

class Tags {
public:
    struct Line {
        std::uint64_t word;   // its number, and in the upper eight bits the modified 32-byte parts: a bit-field is read to be set
        std::int64_t filled;  // time from which the data is there

        [[nodiscard]] std::uint64_t number() const { return word & ((std::uint64_t{1} << kNumberBits) - 1); }
        [[nodiscard]] unsigned dirty() const { return static_cast<unsigned>(word >> kNumberBits); }
        void add_dirty(unsigned parts) { word |= std::uint64_t{parts} << kNumberBits; }
        void set_clean() { word = number(); }

    private:
        static constexpr unsigned kNumberBits = 56;
    };

    /// `scattered_bytes`: pieces of memory of this size have their sets by chance; 0: lines are spread over the sets evenly, over
    /// those of one channel where there are several.
    Tags(int bytes, int line_bytes, int ways, int scattered_bytes = 0, CacheChannels channels = {})
        : scattered_(scattered_bytes > 0),
          piece_bits_(log2(std::max(scattered_bytes, channels.bytes) / line_bytes)),
          ways_(static_cast<std::size_t>(ways)),
          sets_(std::bit_floor(static_cast<std::size_t>(std::max(1, bytes / line_bytes / ways)))),
          channel_bits_(channels.bytes > 0 ? log2(channels.number) : 0),
          distant_bits_(log2(channels.distant_bytes / line_bytes)),
          bits_(static_cast<unsigned>(std::countr_zero(sets_)) - channel_bits_),
          padded_((ways_ + 7) / 8 * 8),
          blocks_((padded_ * sizeof(std::uint16_t) + ways_ * sizeof(Neighbours) + sizeof(Block) - 1) / sizeof(Block)),
          order_(sets_),
          modified_((sets_ + 63) / 64),
          search_(std::make_unique_for_overwrite<Block[]>(sets_ * blocks_)),
          lines_(std::make_unique_for_overwrite<Line[]>(sets_ * ways_)) {}

    /// Where a line belongs.
    struct Place {
        std::uint64_t line;
        std::size_t set;
    };
    [[nodiscard]] Place place_of(std::uint64_t line) const { return {line, set_of(line)}; }

    /// Have at hand what the search for a line looks at, and the entry that it will have when it is put in.
    void prefetch(std::uint64_t line) const {
        const std::size_t set = set_of(line);
        for (std::size_t i = 0; i < blocks_; ++i) __builtin_prefetch(&search_[set * blocks_ + i], 1);
        const Order& order = order_[set];
        __builtin_prefetch(&lines_[at(set, order.began == began_ ? order.oldest : 0)], 1);
    }

    /// The line's entry, now the most recently used of its set, or nullptr.
    Line* find(std::uint64_t line) { return find(place_of(line)); }
    Line* find(const Place& place) {
        const auto [line, set] = place;
        const Order& order = order_[set];
        if (order.began != began_) return nullptr;
        const std::uint16_t tag = tag_of(line);
        if (tags_of(set)[order.newest] == tag) {
            Line& newest = lines_[at(set, order.newest)];
            if (newest.number() == line) return &newest;
        }
        const std::size_t way = way_of(set, tag, line);
        if (way == ways_) return nullptr;
        use(set, way);
        return &lines_[at(set, way)];
    }
    /// The next line that the set gets takes the place of this one: it is the least recently used.
    void give_up(const Place& place) {
        const auto [line, set] = place;
        Order& order = order_[set];
        const std::size_t way = order.began != began_ ? ways_ : way_of(set, tag_of(line), line);
        if (way == ways_ || order.oldest == way) return;
        Neighbours* of = neighbours_of(set);
        const Neighbours old = of[way];
        if (order.newest == way) order.newest = old.older;
        else of[old.newer].older = old.older;
        of[old.older].newer = old.newer;
        of[way].newer = order.oldest;
        of[order.oldest].older = static_cast<std::uint8_t>(way);
        order.oldest = static_cast<std::uint8_t>(way);
    }
    /// Put a line in.
    Line& insert(std::uint64_t line) { return insert(place_of(line)); }
    Line& insert(const Place& place) {
        Line ignored{};
        return insert(place, ignored);
    }
    /// The same; `evicted` becomes the line that had to leave when it was modified.
    Line& insert(const Place& place, Line& evicted) {
        const auto [line, set] = place;
        if (order_[set].began != began_) empty(set);
        const std::size_t way = order_[set].oldest;
        Line& entry = lines_[at(set, way)];
        std::uint16_t& tag = tags_of(set)[way];
        if (tag != kEmpty && entry.dirty() != 0) evicted = entry;
        tag = tag_of(line);
        use(set, way);
        entry = {line, 0};
        return entry;
    }
    /// Parts of a line that is there are modified now.
    void modify(const Place& place, Line& line, unsigned parts) {
        line.add_dirty(parts);
        modified_[place.set / 64] |= std::uint64_t{1} << place.set % 64;
    }
    /// Call `take(line)` for every modified line and mark it clean.
    template <class Take>
    void clean(Take take) {
        for (std::size_t word = 0; word < modified_.size(); ++word) {
            for (std::uint64_t rest = modified_[word]; rest != 0; rest &= rest - 1)
                clean_set(word * 64 + static_cast<std::size_t>(std::countr_zero(rest)), take);
            modified_[word] = 0;
        }
    }
    /// The line is gone, if it was there.
    void remove(std::uint64_t line) {
        const Place place = place_of(line);
        if (order_[place.set].began != began_) return;
        const std::size_t way = way_of(place.set, tag_of(line), line);
        if (way == ways_) return;
        give_up(place);
        tags_of(place.set)[way] = kEmpty;
    }
    /// The same for all lines for which `gone(number)` holds.
    template <class Gone>
    void remove_if(Gone gone) {
        for (std::size_t set = 0; set < sets_; ++set) {
            if (order_[set].began != began_) continue;
            for (std::size_t way = 0; way < ways_; ++way)
                if (const std::uint64_t line = lines_[at(set, way)].number(); tags_of(set)[way] != kEmpty && gone(line)) remove(line);
        }
    }
    /// Call `take(age, number)` for every line that is there; the one of its set that was used last has the highest age.
    template <class Take>
    void for_each_by_age(Take take) const {
        for (std::size_t set = 0; set < sets_; ++set) {
            if (order_[set].began != began_) continue;
            std::size_t way = order_[set].oldest;
            for (std::size_t age = 0; age < ways_; ++age) {
                if (tags_of(set)[way] != kEmpty) take(age, lines_[at(set, way)].number());
                way = neighbours_of(set)[way].newer;
            }
        }
    }
    /// How many lines there may be.
    [[nodiscard]] std::size_t capacity() const { return sets_ * ways_; }
    /// Forget all lines. Costs nothing: sets are emptied when they are used again.
    void clear() {
        ++began_;
        std::ranges::fill(modified_, 0);
    }

private:
    static constexpr std::uint16_t kEmpty = 0;

    /// A set's lines by their last use, a list from the oldest to the newest.
    struct Order {
        std::uint32_t began = 0;  // the `began_` that it belongs to; else the set is empty
        std::uint8_t oldest = 0, newest = 0;
    };
    struct Neighbours {
        std::uint8_t older, newer;
    };
    /// What the search in a set looks at lies together: a short tag of each way, then the links of its list.
    struct alignas(64) Block {
        std::uint16_t parts[32];
    };
    static_assert(sizeof(Neighbours) == sizeof(std::uint16_t));

    [[nodiscard]] static unsigned log2(int number) { return static_cast<unsigned>(std::bit_width(static_cast<unsigned>(std::max(1, number))) - 1); }

    template <class Take>
    void clean_set(std::size_t set, Take& take) {
        for (std::size_t way = 0; way < ways_; ++way) {
            if (tags_of(set)[way] == kEmpty) continue;
            Line& line = lines_[at(set, way)];
            if (line.dirty() == 0) continue;
            take(line);
            line.set_clean();
        }
    }
    [[nodiscard]] std::uint16_t* tags_of(std::size_t set) const { return search_[set * blocks_].parts; }
    [[nodiscard]] Neighbours* neighbours_of(std::size_t set) const { return reinterpret_cast<Neighbours*>(tags_of(set) + padded_); }
    /// Lines that follow each other are in neighbouring sets and leave them by the same way: their entries lie together.
    [[nodiscard]] std::size_t at(std::size_t set, std::size_t way) const { return way * sets_ + set; }
    /// Lines with the same tag are seldom in one set; `number` distinguishes them.
    [[nodiscard]] static std::uint16_t tag_of(std::uint64_t line) {
        return static_cast<std::uint16_t>((line * 0x9e3779b97f4a7c15ULL) >> 49U) + 1U;
    }

    void empty(std::size_t set) {
        std::fill_n(tags_of(set), padded_, kEmpty);
        for (std::size_t way = 0; way < ways_; ++way)
            neighbours_of(set)[way] = {static_cast<std::uint8_t>(way - 1), static_cast<std::uint8_t>(way + 1)};
        order_[set] = {began_, 0, static_cast<std::uint8_t>(ways_ - 1)};
    }
    /// Make `way` the newest of its set.
    void use(std::size_t set, std::size_t way) {
        Order& order = order_[set];
        if (order.newest == way) return;
        Neighbours* of = neighbours_of(set);
        const Neighbours old = of[way];
        if (order.oldest == way) order.oldest = old.newer;
        else of[old.older].newer = old.newer;
        of[old.newer].older = old.older;
        of[order.newest].newer = static_cast<std::uint8_t>(way);
        of[way].older = order.newest;
        order.newest = static_cast<std::uint8_t>(way);
    }
    /// Which of a set's ways has the line, or `ways_`.
    [[nodiscard]] std::size_t way_of(std::size_t set, std::uint16_t tag, std::uint64_t line) const {
        using Eight [[gnu::vector_size(16)]] = std::uint16_t;
        const std::uint16_t* tags = tags_of(set);
        for (std::size_t group = 0; group < padded_; group += 8) {
            Eight eight;
            std::memcpy(&eight, tags + group, sizeof eight);
            const auto equal = eight == tag;
            std::uint64_t any[2];
            std::memcpy(any, &equal, sizeof any);
            if ((any[0] | any[1]) == 0) [[likely]] continue;
            for (std::size_t way = group; way < group + 8; ++way)
                if (tags[way] == tag && lines_[at(set, way)].number() == line) return way;
        }
        return ways_;
    }
    /// All address bits folded into the set's number, so that strides spread evenly.
    [[nodiscard]] std::size_t set_of(std::uint64_t line) const {
        if (scattered_) return set_by_chance(line);
        if (channel_bits_ > 0) return set_of_channel(line);
        std::uint64_t folded = line;
        if (bits_ >= 8) {
            for (unsigned shift = bits_; shift < 40; shift += bits_) folded ^= line >> shift;
        } else {
            for (unsigned shift = 32; shift >= 2; shift /= 2) folded ^= folded >> shift;
        }
        return folded & (sets_ - 1);
    }
    /// The bits above those of a place in a piece, and those that tell distant pieces, say which channel; the fold is of all others.
    [[nodiscard]] std::size_t set_of_channel(std::uint64_t line) const {
        const std::uint64_t piece = line >> piece_bits_, in_piece = line & ((std::uint64_t{1} << piece_bits_) - 1);
        std::uint64_t channel = piece;
        for (unsigned shift = distant_bits_ - piece_bits_; shift < 40; shift += channel_bits_) channel ^= piece >> shift;
        const std::uint64_t of_channel = piece >> channel_bits_ << piece_bits_ | in_piece;
        std::uint64_t folded = of_channel;
        for (unsigned shift = bits_; shift < 40; shift += bits_) folded ^= of_channel >> shift;
        return (folded << channel_bits_ | (channel & ((std::uint64_t{1} << channel_bits_) - 1))) & (sets_ - 1);
    }

    /// The lines of a piece follow each other; where they begin has nothing to do with its neighbours. (The mixing is that of
    /// SplitMix64: a product alone spreads numbers that follow each other more evenly than chance does.)
    [[nodiscard]] std::size_t set_by_chance(std::uint64_t line) const {
        std::uint64_t mixed = line >> piece_bits_;
        mixed = (mixed ^ mixed >> 30U) * 0xbf58476d1ce4e5b9ULL;
        mixed = (mixed ^ mixed >> 27U) * 0x94d049bb133111ebULL;
        mixed ^= mixed >> 31U;
        return (mixed << piece_bits_ | (line & ((std::uint64_t{1} << piece_bits_) - 1))) & (sets_ - 1);
    }

    bool scattered_;
    unsigned piece_bits_;  // of a line's number
    std::size_t ways_, sets_;
    unsigned channel_bits_;  // of a set's number, the lowest
    unsigned distant_bits_;  // of a line's number, below those that tell distant pieces
    unsigned bits_;          // of a set's number, the rest
    std::size_t padded_, blocks_;  // tags of a set, and blocks
    std::uint32_t began_ = 1;
    std::vector<Order> order_;
    std::vector<std::uint64_t> modified_;  // a bit for each set: it may have modified lines
    // Of a set that is not empty; a launch that uses few sets touches little of them.
    std::unique_ptr<Block[]> search_;
    std::unique_ptr<Line[]> lines_;
};

}  // namespace hipscope
