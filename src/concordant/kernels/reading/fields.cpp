// Text files of fields to arrays: TREC runs and qrels (fixed fields), LETOR and svmlight (index:value fields), plain csv.
//
// Fields are spans of the file's bytes; labels are numbered and numbers are parsed straight from there, so no
// string is ever made. Lines that cannot be understood are listed, never guessed at.
#include "texts.hpp"

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
        Interrupts interrupts;
        for (size_t at = 0; at < size; ++number) {
            int32_t fields = 0;
            interrupts.poll(256);
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
        HashTable table;
        Key keys[BLOCK];
        uint64_t hashes[BLOCK];
        auto label = [&](size_t k) {
            return Text{text + start.data()[k], static_cast<size_t>(end.data()[k] - start.data()[k])};
        };
        Interrupts interrupts;
        for (size_t from = 0; from < n; from += BLOCK) {
            size_t stop = from + BLOCK < n ? from + BLOCK : n;
            interrupts.poll(64 * BLOCK);
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
        Interrupts interrupts;
        for (size_t at = 0; at < size; ++number) {
            interrupts.poll(1024);
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

// A column of csv text on its way into an encoder: cells gather, so that a whole block of labels is looked up at once.
class CellColumn {
  public:
    TextEncoder texts;

    void add(Text cell) {
        waiting_[n_++] = cell.size ? cell : Text{nullptr, 0};
        if (n_ == WAITING) flush();
    }
    void flush() {
        texts.append(n_, Cells{waiting_.data()});
        n_ = 0;
    }

  private:
    static constexpr size_t WAITING = 16 * BLOCK;
    struct Cells {
        const Text *cell;
        Text operator()(size_t k) const { return cell[k]; }
        bool all_repeat(size_t, size_t) const { return false; }
    };
    std::vector<Text> waiting_ = std::vector<Text>(WAITING);
    size_t n_ = 0;
};

// Cut csv text at delimiters and line ends; false unless it is plain. The header is looked at and left out.
bool cut_cells(const uint8_t *text, size_t size, std::vector<CellColumn> &columns, const std::vector<int> &column_of,
               uint8_t delimiter, bool has_header, size_t longest) {
    bool is_special[256] = {};
    for (uint8_t sign : {delimiter, uint8_t('\n'), uint8_t('\r'), uint8_t('"'), uint8_t(0)}) is_special[sign] = true;
    size_t width = column_of.size(), field = 0, line_start = 0, rows = 0, returns = 0, ends = 0;
    Interrupts interrupts;
    for (size_t at = 0; at < size;) {
        size_t from = at;
        while (at < size && !is_special[text[at]]) ++at;
        size_t to = at;
        bool is_end = at == size || text[at] != delimiter;
        if (is_end && at < size) {
            if (text[at] == '\r') {
                ++returns;
                ++at;
            }
            if (at == size || text[at] != '\n') return false; // a quotation mark, NUL, or a lone return
            ++ends;
        }
        if (is_end != (field + 1 == width) || (width == 1 && from == to)) return false;
        if (column_of[field] >= 0 && (rows || !has_header))
            columns[static_cast<size_t>(column_of[field])].add({reinterpret_cast<const char *>(text + from), to - from});
        ++at;
        if (is_end) {
            if (at - line_start > longest) return false;
            interrupts.poll(4 * (at - line_start));
            line_start = at;
            field = 0;
            ++rows;
        } else if (++field, at == size) { // the last cell of the last line is empty
            if (field + 1 != width) return false;
            if (column_of[field] >= 0 && (rows || !has_header))
                columns[static_cast<size_t>(column_of[field])].add({nullptr, 0});
            field = 0;
            ++rows;
        }
    }
    return rows > static_cast<size_t>(has_header) && (returns == 0 || returns == ends);
}

// The wanted columns of plain csv text, (codes, offsets, bytes) of each, -1 where nothing stands. None at all unless the
// text is plain: UTF-8 without quotation marks, lines that end alike and have a field for every column.
nb::list plain_columns(In<uint8_t> data, In<uint8_t> is_wanted, int32_t delimiter, bool has_header, int64_t longest) {
    const uint8_t *text = data.data();
    size_t size = data.shape(0);
    std::vector<int> column_of(is_wanted.shape(0), -1);
    int n = 0;
    for (size_t k = 0; k < column_of.size(); ++k)
        if (is_wanted.data()[k]) column_of[k] = n++;
    std::vector<CellColumn> columns(static_cast<size_t>(n));
    bool is_plain = !column_of.empty();
    if (is_plain) {
        nb::gil_scoped_release release;
        size_t rows = static_cast<size_t>(std::count(text, text + size, uint8_t('\n'))) + 1;
        for (CellColumn &column : columns) column.texts.codes.reserve(rows);
        is_plain = is_utf8(reinterpret_cast<const char *>(text), size) &&
                   cut_cells(text, size, columns, column_of, static_cast<uint8_t>(delimiter), has_header,
                             static_cast<size_t>(longest));
        for (CellColumn &column : columns) column.flush();
    }
    nb::list out;
    if (!is_plain) return out;
    for (CellColumn &column : columns) {
        TextEncoder &texts = column.texts;
        out.append(nb::make_tuple(to_numpy(std::move(texts.codes)), to_numpy(std::move(texts.offsets)),
                                  to_numpy(std::move(texts.bytes))));
    }
    return out;
}

} // namespace

void bind_fields(nb::module_ &m) {
    m.def("split_fields", &split_fields, "data"_a.noconvert(), "width"_a);
    m.def("encode_spans", &encode_spans, "data"_a.noconvert(), "start"_a.noconvert(), "end"_a.noconvert());
    m.def("parse_numbers", &parse_numbers, "data"_a.noconvert(), "start"_a.noconvert(), "end"_a.noconvert());
    m.def("parse_letor", &parse_letor, "data"_a.noconvert());
    m.def("plain_columns", &plain_columns, "data"_a.noconvert(), "is_wanted"_a.noconvert(), "delimiter"_a, "has_header"_a,
          "longest"_a);
}
