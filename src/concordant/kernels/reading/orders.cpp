// PrefLib text to arrays: `# KEY: value` lines, then one `count: 3,{1,2},4` line per distinct order.
//
// Lines end at \n only: names hold other line separators. What cannot be understood is listed, never guessed at.
#include "common.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace {

enum Trouble : int32_t { BAD_COUNT = 1, BAD_ORDER = 2 };
constexpr int32_t FAR = 1 << 24;
constexpr int64_t MAX_VOTERS = INT64_MAX;  // a sum that would be larger stays here
constexpr char NAME[] = "ALTERNATIVE NAME ";
constexpr size_t NAME_SIZE = sizeof(NAME) - 1;

inline bool is_space(char sign) { return sign == ' ' || (sign >= '\t' && sign <= '\r'); }

template <typename T> Out<T> to_numpy(const std::vector<T> &values) {
    Buffer<T> out(values.size());
    std::copy(values.begin(), values.end(), out.get());
    return out.give();
}

Out2<int64_t> to_rows(const std::vector<int64_t> &values, size_t width) {
    Buffer<int64_t> out(values.size());
    std::copy(values.begin(), values.end(), out.get());
    return out.give2(values.size() / width, width);
}

struct Orders {
    std::vector<int64_t> heads, names, orders, bad, ptr{0};
    std::vector<int32_t> item, tier;
    int64_t voters = 0, smallest = INT64_MAX, max_tiers = 0, lowest = INT32_MAX, highest = -1;
    bool numbered = true, strict = true, all_cast = true, repeated = false;
    std::vector<int64_t> seen_in;  // by alternative: the last order that named it
    const char *text;

    explicit Orders(const char *bytes) : text(bytes) {}

    void read_head(const char *from, const char *to) {
        const char *at = from;
        while (at < to && is_space(*at)) ++at;
        if (static_cast<size_t>(to - at) > NAME_SIZE && !std::memcmp(at, NAME, NAME_SIZE)) {
            int32_t found;
            auto parsed = std::from_chars(at + NAME_SIZE, to, found);
            if (parsed.ec == std::errc() && found >= 0 && parsed.ptr < to && *parsed.ptr == ':') {
                const char *start = parsed.ptr + 1;
                if (start < to && *start == ' ') ++start;
                names.insert(names.end(), {found, start - text, to - text});
                numbered = numbered && 3 * static_cast<size_t>(found) == names.size();
                return;
            }
        }
        heads.insert(heads.end(), {at - text, to - text});
    }

    // One number; moves `at` past it and the white space around it.
    bool read_item(const char *&at, const char *to, int32_t place) {
        int32_t found;
        auto parsed = std::from_chars(at, to, found);
        if (parsed.ec != std::errc() || found < 0) return false;
        item.push_back(found);
        tier.push_back(place);
        at = skip(parsed.ptr, to);
        return true;
    }

    static const char *skip(const char *at, const char *to) {
        while (at < to && is_space(*at)) ++at;
        return at;
    }

    bool read_group(const char *&at, const char *to, int32_t place) {
        at = skip(at + 1, to);
        if (at < to && *at != '}')
            for (;;) {
                if (!read_item(at, to, place)) return false;
                if (at == to) return false;
                if (*at == '}') break;
                if (*at != ',') return false;
                at = skip(at + 1, to);
            }
        if (at == to) return false;
        at = skip(at + 1, to);
        return true;
    }

    int32_t read_body(const char *from, const char *to, char separator, int64_t line) {
        int64_t votes;
        auto parsed = std::from_chars(from, to, votes);
        if (parsed.ec != std::errc() || votes < 0) return BAD_COUNT;
        const char *at = skip(parsed.ptr, to);
        if (at == to || *at != separator) return BAD_COUNT;
        at = skip(at + 1, to);
        int32_t place = 0;
        while (at < to) {
            bool good = *at == '{' ? read_group(at, to, place) : read_item(at, to, place);
            if (!good) return BAD_ORDER;
            ++place;
            if (at == to) break;
            if (*at != ',') return BAD_ORDER;
            at = skip(at + 1, to);
            if (at == to) return BAD_ORDER;
        }
        summarise(votes, place);
        orders.insert(orders.end(), {votes, place, line});
        ptr.push_back(static_cast<int64_t>(item.size()));
        return 0;
    }

    // What a caller would otherwise find out with one pass over the arrays for each question.
    void summarise(int64_t votes, int32_t places) {
        int64_t size = static_cast<int64_t>(item.size()) - ptr.back();
        voters = votes > MAX_VOTERS - voters ? MAX_VOTERS : voters + votes;
        smallest = std::min(smallest, size);
        max_tiers = std::max<int64_t>(max_tiers, places);
        strict = strict && places == size;
        all_cast = all_cast && votes > 0;
        for (size_t k = static_cast<size_t>(ptr.back()); k < item.size(); ++k) {
            lowest = std::min<int64_t>(lowest, item[k]);
            highest = std::max<int64_t>(highest, item[k]);
            if (item[k] > FAR) continue;  // no file has as many names: the caller refuses it
            if (static_cast<size_t>(item[k]) >= seen_in.size()) seen_in.resize(2 * static_cast<size_t>(item[k]) + 64, 0);
            int64_t &last = seen_in[static_cast<size_t>(item[k])], present = static_cast<int64_t>(ptr.size());
            repeated = repeated || last == present;
            last = present;
        }
    }

    bool has_distinct_names() const {
        std::unordered_set<std::string_view> seen;
        seen.reserve(names.size());
        for (size_t k = 0; k < names.size(); k += 3) {
            std::string_view name(text + names[k + 1], static_cast<size_t>(names[k + 2] - names[k + 1]));
            if (name.empty() || !seen.insert(name).second) return false;
        }
        return true;
    }

    std::vector<int64_t> summary() const {
        bool empty = item.empty(), none = orders.empty();
        return {numbered, has_distinct_names(), repeated, strict, all_cast, voters, none ? 0 : smallest, max_tiers, empty ? 0 : lowest,
                empty ? -1 : highest};
    }
};

// The summary holds: whether alternatives are numbered 1, 2, …; whether all have
// names of their own; whether an order names one twice; whether no order has ties; whether every count is positive;
// the sum of counts, at most 2^63 - 1; the shortest order; the most tiers; the lowest and the highest alternative named.
nb::object parse_orders(In<uint8_t> data, int32_t separator) {
    const char *text = reinterpret_cast<const char *>(data.data());
    const char *end = text + data.shape(0);
    Orders out(text);
    {
        nb::gil_scoped_release release;
        int64_t number = 1;
        for (const char *at = text; at < end; ++number) {
            const char *newline = static_cast<const char *>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
            const char *stop = newline ? newline : end, *next = stop + 1;
            if (stop > at && stop[-1] == '\r') --stop;
            if (at < stop && *at == '#') {
                out.read_head(at + 1, stop);
            } else if (const char *from = Orders::skip(at, stop); from < stop) {
                size_t kept = out.item.size();
                if (int32_t trouble = out.read_body(from, stop, static_cast<char>(separator), number)) {
                    out.item.resize(kept);
                    out.tier.resize(kept);
                    out.bad.insert(out.bad.end(), {number, trouble});
                }
            }
            at = next;
        }
    }
    return named("PrefLibOrders", to_rows(out.heads, 2), to_rows(out.names, 3), to_rows(out.orders, 3),
                 to_numpy(out.ptr), to_numpy(out.item), to_numpy(out.tier), to_rows(out.bad, 2),
                 to_numpy(out.summary()));
}

} // namespace

void bind_orders(nb::module_ &m) { m.def("parse_orders", &parse_orders, "data"_a.noconvert(), "separator"_a); }
