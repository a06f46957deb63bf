// Text files of fields to arrays: TREC runs and qrels (fixed fields), LETOR and svmlight (index:value fields).
//
// Fields are spans of the file's bytes; labels are numbered and numbers are parsed straight from there, so no
// string is ever made. Lines that cannot be understood are listed, never guessed at.
#include "encoding.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
enum Trouble : int32_t { BAD_LABEL = 1, BAD_FIELD = 2, BAD_INDEX = 3, BAD_VALUE = 4 };

inline bool is_space(uint8_t sign) { return sign == ' ' || (sign >= '\t' && sign <= '\r'); }

bool parse_double(const uint8_t *from, const uint8_t *to, double &out) {
    if (from < to && *from == '+' && !(from + 1 < to && from[1] == '-')) ++from;
    if (from == to) return false;
    const char *begin = reinterpret_cast<const char *>(from), *end = reinterpret_cast<const char *>(to);
#if defined(__cpp_lib_to_chars)
    auto result = std::from_chars(begin, end, out);
    if (result.ec == std::errc::result_out_of_range) {  // too large or too small: as the nearest double
        out = std::strtod(std::string(begin, end).c_str(), nullptr);
        return result.ptr == end;
    }
    return result.ec == std::errc() && result.ptr == end;
#else
    std::string copy(begin, end);
    char *stop = nullptr;
    if (copy.find_first_of("xXpP") != std::string::npos) return false;
    out = std::strtod(copy.c_str(), &stop);
    return stop == copy.c_str() + copy.size();
#endif
}

// Every line that is not blank, split at white space: the spans of its first `width` fields (empty where it has
// fewer), its line number and how many fields it has.
nb::tuple split_fields(In<uint8_t> data, int32_t width) {
    const uint8_t *text = data.data();
    size_t size = data.shape(0);
    std::vector<int64_t> start, end, line;
    std::vector<int32_t> count;
    {
        nb::gil_scoped_release release;
        int64_t number = 1;
        for (size_t at = 0; at < size; ++number) {
            int32_t fields = 0;
            while (at < size && text[at] != '\n') {
                if (is_space(text[at])) {
                    ++at;
                    continue;
                }
                size_t from = at;
                while (at < size && !is_space(text[at])) ++at;
                if (fields++ < width) {
                    start.push_back(static_cast<int64_t>(from));
                    end.push_back(static_cast<int64_t>(at));
                }
            }
            ++at;
            if (!fields) continue;
            for (int32_t k = fields; k < width; ++k) {
                start.push_back(0);
                end.push_back(0);
            }
            line.push_back(number);
            count.push_back(fields);
        }
    }
    return nb::make_tuple(to_numpy(std::move(start)), to_numpy(std::move(end)), to_numpy(std::move(line)),
                          to_numpy(std::move(count)));
}

// Codes of the texts in these spans, in order of first appearance; the distinct texts end to end.
nb::tuple encode_spans(In<uint8_t> data, In<int64_t> start, In<int64_t> end) {
    const char *text = reinterpret_cast<const char *>(data.data());
    size_t n = start.shape(0);
    Buffer<int32_t> codes(n);
    std::vector<int64_t> first, offsets{0};
    std::vector<uint8_t> bytes;
    {
        nb::gil_scoped_release release;
        Table table;
        Key keys[BLOCK];
        uint64_t hashes[BLOCK];
        auto label = [&](size_t k) {
            return Text{text + start.data()[k], static_cast<size_t>(end.data()[k] - start.data()[k])};
        };
        for (size_t from = 0; from < n; from += BLOCK) {
            size_t stop = from + BLOCK < n ? from + BLOCK : n;
            for (size_t k = from; k < stop; ++k) {
                keys[k - from] = make_key(label(k), 1);
                hashes[k - from] = hash_key(keys[k - from]);
                table.prefetch(hashes[k - from]);
            }
            for (size_t k = from; k < stop; ++k) {
                Text own = label(k);
                codes[k] = table.find_or_add(keys[k - from], hashes[k - from], [&](int32_t c) {
                    return std::memcmp(bytes.data() + offsets[static_cast<size_t>(c)], own.data, own.size) == 0;
                });
                if (static_cast<size_t>(codes[k]) < first.size()) continue;
                first.push_back(static_cast<int64_t>(k));
                bytes.insert(bytes.end(), own.data, own.data + own.size);
                offsets.push_back(static_cast<int64_t>(bytes.size()));
            }
        }
    }
    return nb::make_tuple(codes.give(), to_numpy(std::move(offsets)), to_numpy(std::move(bytes)), to_numpy(std::move(first)));
}

// The numbers in these spans, NaN where a span is none.
Out<double> parse_numbers(In<uint8_t> data, In<int64_t> start, In<int64_t> end) {
    size_t n = start.shape(0);
    Buffer<double> out(n);
    {
        nb::gil_scoped_release release;
        for (size_t k = 0; k < n; ++k)
            if (!parse_double(data.data() + start.data()[k], data.data() + end.data()[k], out[k])) out[k] = NOT_A_NUMBER;
    }
    return out.give();
}

struct Letor {
    std::vector<double> label, value;
    std::vector<int64_t> qid_start, qid_end, doc_start, doc_end, ptr{0}, line, bad_line;
    std::vector<int32_t> index, bad_kind;

    // One line without its end; returns the trouble, 0 if there is none.
    int32_t read(const uint8_t *text, size_t from, size_t to, size_t comment) {
        size_t at = from;
        auto field = [&](size_t &a, size_t &b) {
            while (at < comment && is_space(text[at])) ++at;
            a = at;
            while (at < comment && !is_space(text[at])) ++at;
            b = at;
            return b > a;
        };
        size_t a, b;
        double number;
        if (!field(a, b) || !parse_double(text + a, text + b, number)) return BAD_LABEL;
        int64_t query_from = -1, query_to = -1;
        while (field(a, b)) {
            const auto *colon = static_cast<const uint8_t *>(std::memchr(text + a, ':', b - a));
            if (!colon) return BAD_FIELD;
            size_t middle = static_cast<size_t>(colon - text);
            if (middle - a == 3 && !std::memcmp(text + a, "qid", 3)) {
                query_from = static_cast<int64_t>(middle + 1);
                query_to = static_cast<int64_t>(b);
                continue;
            }
            int32_t position;
            auto parsed = std::from_chars(reinterpret_cast<const char *>(text + a),
                                          reinterpret_cast<const char *>(colon), position);
            if (parsed.ec != std::errc() || parsed.ptr != reinterpret_cast<const char *>(colon) || position < 0)
                return BAD_INDEX;
            double content = NOT_A_NUMBER;
            bool is_null = b - middle == 5 && !std::memcmp(colon + 1, "NULL", 4);
            if (!is_null && !parse_double(colon + 1, text + b, content)) return BAD_VALUE;
            index.push_back(position);
            value.push_back(content);
        }
        label.push_back(number);
        qid_start.push_back(query_from);
        qid_end.push_back(query_to);
        find_document(text, comment, to);
        return 0;
    }

    void find_document(const uint8_t *text, size_t from, size_t to) {
        std::string_view comment(reinterpret_cast<const char *>(text + from), to - from);
        size_t at = comment.find("docid");
        int64_t a = -1, b = -1;
        if (at != std::string_view::npos) {
            at += 5;
            while (at < comment.size() && (comment[at] == ' ' || comment[at] == '\t')) ++at;
            if (at < comment.size() && comment[at] == '=') ++at;
            while (at < comment.size() && (comment[at] == ' ' || comment[at] == '\t')) ++at;
            size_t stop = at;
            while (stop < comment.size() && !is_space(static_cast<uint8_t>(comment[stop]))) ++stop;
            if (stop > at) {
                a = static_cast<int64_t>(from + at);
                b = static_cast<int64_t>(from + stop);
            }
        }
        doc_start.push_back(a);
        doc_end.push_back(b);
    }
};

// LETOR / svmlight rows. NULL becomes NaN; a span of -1 is absent.
nb::object parse_letor(In<uint8_t> data) {
    const uint8_t *text = data.data();
    size_t size = data.shape(0);
    Letor rows;
    {
        nb::gil_scoped_release release;
        int64_t number = 1;
        for (size_t at = 0; at < size; ++number) {
            const auto *newline = static_cast<const uint8_t *>(std::memchr(text + at, '\n', size - at));
            size_t stop = newline ? static_cast<size_t>(newline - text) : size;
            const auto *hash = static_cast<const uint8_t *>(std::memchr(text + at, '#', stop - at));
            size_t comment = hash ? static_cast<size_t>(hash - text) : stop, from = at;
            at = stop + 1;
            while (from < comment && is_space(text[from])) ++from;
            if (from == comment) continue;
            size_t kept = rows.index.size();
            if (int32_t trouble = rows.read(text, from, stop, comment)) {
                rows.index.resize(kept);
                rows.value.resize(kept);
                rows.bad_line.push_back(number);
                rows.bad_kind.push_back(trouble);
                continue;
            }
            rows.ptr.push_back(static_cast<int64_t>(rows.index.size()));
            rows.line.push_back(number);
        }
    }
    rows.index.shrink_to_fit(); // they grew by doubling, and stay as long as the preferences are made
    rows.value.shrink_to_fit();
    return named("LetorRows", to_numpy(std::move(rows.label)), to_numpy(std::move(rows.qid_start)),
                 to_numpy(std::move(rows.qid_end)), to_numpy(std::move(rows.doc_start)),
                 to_numpy(std::move(rows.doc_end)), to_numpy(std::move(rows.ptr)), to_numpy(std::move(rows.index)),
                 to_numpy(std::move(rows.value)), to_numpy(std::move(rows.line)), to_numpy(std::move(rows.bad_line)),
                 to_numpy(std::move(rows.bad_kind)));
}

} // namespace

void bind_fields(nb::module_ &m) {
    m.def("split_fields", &split_fields, "data"_a.noconvert(), "width"_a);
    m.def("encode_spans", &encode_spans, "data"_a.noconvert(), "start"_a.noconvert(), "end"_a.noconvert());
    m.def("parse_numbers", &parse_numbers, "data"_a.noconvert(), "start"_a.noconvert(), "end"_a.noconvert());
    m.def("parse_letor", &parse_letor, "data"_a.noconvert());
}
