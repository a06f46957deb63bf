// PrefLib text to arrays: `# KEY: value` lines, then one `count: 3,{1,2},4` line per distinct order.
//
// Lines end at \n only: names hold other line separators. What cannot be understood is listed, never guessed at.
#include "common.hpp"

#include <charconv>
#include <cstring>
#include <vector>

namespace {

enum Trouble : int32_t { BAD_COUNT = 1, BAD_ORDER = 2 };
constexpr char NAME[] = "ALTERNATIVE NAME ";
constexpr size_t NAME_SIZE = sizeof(NAME) - 1;

inline bool is_space(char sign) { return sign == ' ' || (sign >= '\t' && sign <= '\r'); }

template <typename T> Out<T> to_numpy(const std::vector<T> &values) {
    Buffer<T> out(values.size());
    std::copy(values.begin(), values.end(), out.get());
    return out.give();
}

struct Orders {
    std::vector<int64_t> head_start, head_end, name_start, name_end, ptr{0}, line, bad_line;
    std::vector<int32_t> number, item, tier, tiers, bad_kind;
    std::vector<double> count;
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
                number.push_back(found);
                name_start.push_back(start - text);
                name_end.push_back(to - text);
                return;
            }
        }
        head_start.push_back(at - text);
        head_end.push_back(to - text);
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

    int32_t read_body(const char *from, const char *to, char separator) {
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
        count.push_back(static_cast<double>(votes));
        tiers.push_back(place);
        ptr.push_back(static_cast<int64_t>(item.size()));
        return 0;
    }
};

// (header start, header end, alternative number, name start, name end, count, ptr, alternative, tier, tiers of each
// order, line of each order, bad line, bad kind).
nb::tuple parse_orders(In<uint8_t> data, int32_t separator) {
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
                if (int32_t trouble = out.read_body(from, stop, static_cast<char>(separator))) {
                    out.item.resize(kept);
                    out.tier.resize(kept);
                    out.bad_line.push_back(number);
                    out.bad_kind.push_back(trouble);
                } else {
                    out.line.push_back(number);
                }
            }
            at = next;
        }
    }
    return nb::make_tuple(to_numpy(out.head_start), to_numpy(out.head_end), to_numpy(out.number),
                          to_numpy(out.name_start), to_numpy(out.name_end), to_numpy(out.count), to_numpy(out.ptr),
                          to_numpy(out.item), to_numpy(out.tier), to_numpy(out.tiers), to_numpy(out.line),
                          to_numpy(out.bad_line), to_numpy(out.bad_kind));
}

} // namespace

void bind_orders(nb::module_ &m) { m.def("parse_orders", &parse_orders, "data"_a.noconvert(), "separator"_a); }
