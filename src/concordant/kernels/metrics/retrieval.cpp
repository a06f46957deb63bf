// Retrieval metrics: labels joined to rankings, and every metric of a query from one pass over its list.
//
// All metrics depend only on where the positive labels stand. So a list is reduced once to its positives (position,
// label); from unsorted scores the positions come without sorting the list: the positives are sorted, and every other
// document is only counted between two of them (n log R for R positives).
#include "common.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

namespace {

// Numbered as in codes.py.
enum Measure {
    ndcg,
    precision,
    average_precision,
    expected_reciprocal_rank,
    reciprocal_rank,
    recall,
    hit,
    r_precision
};

struct Metric {
    Measure measure;
    int64_t cutoff; // 0: the whole list
    double empty, first, second;
};

std::vector<Metric> read_metrics(In2<double> table) {
    std::vector<Metric> metrics;
    for (size_t k = 0; k < table.shape(0); ++k) {
        const double *row = table.data() + 5 * k;
        metrics.push_back({static_cast<Measure>(static_cast<int>(row[0])), static_cast<int64_t>(row[1]), row[2],
                           row[3], row[4]});
    }
    return metrics;
}

struct Positive {
    int64_t position; // 1 is best
    double label;
};

struct Query {
    std::vector<Positive> found; // by position
    std::vector<double> ideal;   // judged positive labels, largest first
    int64_t length = 0;
    int64_t documents = 0; // ranked or judged

    // Take the judged labels; `unjudged` more documents are ranked without one.
    void take_ideal(const double *label, int64_t from, int64_t to, int64_t unjudged) {
        ideal.clear();
        documents = unjudged;
        for (int64_t k = from; k < to; ++k) {
            documents += !std::isnan(label[k]);
            if (label[k] > 0) ideal.push_back(label[k]);
        }
        std::sort(ideal.begin(), ideal.end(), [](double a, double b) { return a > b; });
    }
};

double discounted_gain(const Metric &metric, int64_t position, double label) {
    double gain = metric.second != 0 ? label : std::exp2(label) - 1;
    if (metric.first != 0) return position < 2 ? gain : gain / std::log2(static_cast<double>(position));
    return gain / std::log2(static_cast<double>(position) + 1);
}

double ndcg_of(const Metric &metric, const Query &query, int64_t cutoff) {
    // LETOR's script gives no value to places a query has no document for.
    if (metric.first != 0 && metric.cutoff > query.documents) return 0;
    double gained = 0, best = 0;
    for (const Positive &p : query.found) {
        if (p.position > cutoff) break;
        gained += discounted_gain(metric, p.position, p.label);
    }
    int64_t reachable = std::min(cutoff, static_cast<int64_t>(query.ideal.size()));
    for (int64_t k = 0; k < reachable; ++k) best += discounted_gain(metric, k + 1, query.ideal[static_cast<size_t>(k)]);
    return gained / best;
}

double err_of(const Metric &metric, const Query &query, int64_t cutoff) {
    double value = 0, unsatisfied = 1, scale = std::exp2(metric.first);
    for (const Positive &p : query.found) {
        if (p.position > cutoff) break;
        double stop = (std::exp2(p.label) - 1) / scale;
        value += unsatisfied * stop / static_cast<double>(p.position);
        unsatisfied *= 1 - stop;
    }
    return value;
}

double binary_of(const Metric &metric, const Query &query, int64_t cutoff, int64_t relevant) {
    double threshold = metric.first, precisions = 0;
    int64_t hits = 0, first = 0;
    if (metric.measure == r_precision) cutoff = relevant;
    for (const Positive &p : query.found) {
        if (p.position > cutoff) break;
        if (!(p.label >= threshold)) continue;
        if (!hits++) first = p.position;
        precisions += static_cast<double>(hits) / static_cast<double>(p.position);
    }
    double total = static_cast<double>(relevant), count = static_cast<double>(hits);
    switch (metric.measure) {
    case average_precision: return precisions / total;
    case reciprocal_rank: return hits ? 1.0 / static_cast<double>(first) : 0.0;
    case hit: return hits ? 1.0 : 0.0;
    case precision: {
        int64_t places = metric.cutoff ? metric.cutoff : query.length;
        return places ? count / static_cast<double>(places) : 0.0;
    }
    default: return count / total; // recall, r_precision
    }
}

double value_of(const Metric &metric, const Query &query) {
    int64_t cutoff = metric.cutoff ? metric.cutoff : INT64_MAX;
    bool graded = metric.measure == ndcg || metric.measure == expected_reciprocal_rank;
    size_t relevant = query.ideal.size();
    if (!graded)
        while (relevant && query.ideal[relevant - 1] < metric.first) --relevant;
    if (!relevant) return metric.empty;
    if (metric.measure == ndcg) return ndcg_of(metric, query, cutoff);
    if (metric.measure == expected_reciprocal_rank) return err_of(metric, query, cutoff);
    return binary_of(metric, query, cutoff, static_cast<int64_t>(relevant));
}

// Values (queries x metrics) of lists given best first; NaN is unjudged, and left out when skip_unjudged.
Out2<double> evaluate_lists(In<double> ranked_label, In<int64_t> ptr, In<double> judged_label, In<int64_t> judged_ptr,
                            In2<double> table, bool skip_unjudged) {
    size_t queries = ptr.size() - 1;
    std::vector<Metric> metrics = read_metrics(table);
    Buffer<double> values(queries * metrics.size());
    {
        nb::gil_scoped_release release;
        const double *label = ranked_label.data();
        Query query;
        for (size_t q = 0; q < queries; ++q) {
            int64_t from = ptr.data()[q], to = ptr.data()[q + 1];
            int64_t unjudged = 0;
            query.found.clear();
            if (skip_unjudged) {
                query.length = 0;
                for (int64_t k = from; k < to; ++k) {
                    query.length += !std::isnan(label[k]);
                    if (label[k] > 0) query.found.push_back({query.length, label[k]});
                }
            } else {
                query.length = to - from;
                for (int64_t k = from; k < to; ++k) {
                    unjudged += std::isnan(label[k]);
                    if (label[k] > 0) query.found.push_back({k - from + 1, label[k]});
                }
            }
            query.take_ideal(judged_label.data(), judged_ptr.data()[q], judged_ptr.data()[q + 1], unjudged);
            for (size_t m = 0; m < metrics.size(); ++m) values[q * metrics.size() + m] = value_of(metrics[m], query);
        }
    }
    return values.give2(queries, metrics.size());
}

struct Scored {
    double score;
    int64_t row;
};

inline bool comes_first(const Scored &a, const Scored &b) {
    return a.score > b.score || (a.score == b.score && a.row < b.row);
}

// How many documents stand before row: a higher score anywhere, or an equal one in an earlier row.
SIMD_CLONES int64_t count_better(const double *score, int64_t n, int64_t row) {
    int64_t count = 0;
    double own = score[row];
    for (int64_t k = 0; k < row; ++k) count += score[k] >= own;
    for (int64_t k = row + 1; k < n; ++k) count += score[k] > own;
    return count;
}

// How many of the sorted positives stand before this document. The halving has no branch to mispredict; equal scores,
// where the row decides, are rare and searched apart.
inline size_t count_before(const std::vector<Scored> &sorted, const std::vector<double> &scores, const Scored &one) {
    const double *base = scores.data();
    size_t n = scores.size();
    while (n > 1) {
        size_t half = n / 2;
        base += base[half - 1] > one.score ? half : 0;
        n -= half;
    }
    size_t before = static_cast<size_t>(base - scores.data()) + (*base > one.score);
    if (before < scores.size() && scores[before] == one.score)
        before = static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), one, comes_first) - sorted.begin());
    return before;
}

// Finds the positions of the positives of a list without sorting the list.
class Finder {
  public:
    void find(const double *score, const double *label, int64_t n, std::vector<Positive> &found) {
        positives_.clear();
        for (int64_t k = 0; k < n; ++k)
            if (label[k] > 0) positives_.push_back({score[k], k});
        std::sort(positives_.begin(), positives_.end(), comes_first);
        found.clear();
        if (positives_.size() <= few) {
            for (const Scored &p : positives_) found.push_back({count_better(score, n, p.row) + 1, label[p.row]});
            return;
        }
        scores_.clear();
        for (const Scored &p : positives_) scores_.push_back(p.score);
        passed_.assign(positives_.size() + 1, 0);
        for (int64_t k = 0; k < n; ++k) ++passed_[count_before(positives_, scores_, {score[k], k})];
        int64_t position = 0; // a positive counts itself: exactly r positives stand before the r-th
        for (size_t r = 0; r < positives_.size(); ++r)
            found.push_back({position += passed_[r], label[positives_[r].row]});
    }

  private:
    static constexpr size_t few = 64; // up to here comparing with everything, four at a time, beats halving
    std::vector<Scored> positives_;
    std::vector<double> scores_;
    std::vector<int64_t> passed_;
};

// Values (queries x metrics) from scores and labels in input order, grouped by ptr; equal scores stand in row order.
Out2<double> evaluate_scores(In<double> score, In<double> label, In<int64_t> ptr, In2<double> table,
                             bool skip_unjudged) {
    size_t queries = ptr.size() - 1;
    std::vector<Metric> metrics = read_metrics(table);
    Buffer<double> values(queries * metrics.size());
    {
        nb::gil_scoped_release release;
        Query query;
        Finder finder;
        std::vector<double> judged_scores, judged_labels;
        for (size_t q = 0; q < queries; ++q) {
            const double *scores = score.data() + ptr.data()[q], *labels = label.data() + ptr.data()[q];
            int64_t n = ptr.data()[q + 1] - ptr.data()[q];
            if (skip_unjudged) {
                judged_scores.clear(), judged_labels.clear();
                for (int64_t k = 0; k < n; ++k)
                    if (!std::isnan(labels[k])) judged_scores.push_back(scores[k]), judged_labels.push_back(labels[k]);
                scores = judged_scores.data(), labels = judged_labels.data();
                n = static_cast<int64_t>(judged_scores.size());
            }
            query.length = n;
            finder.find(scores, labels, n, query.found);
            query.take_ideal(labels, 0, n, std::count_if(labels, labels + n, [](double l) { return std::isnan(l); }));
            for (size_t m = 0; m < metrics.size(); ++m) values[q * metrics.size() + m] = value_of(metrics[m], query);
        }
    }
    return values.give2(queries, metrics.size());
}

// The label of every ranked entry, NaN where unjudged; ranking group q is judged by label group q. A small filter of
// the judged items answers most questions from the first-level cache, however many items there are.
Out<double> join_labels(In<int64_t> rank_ptr, In<int32_t> ranked_item, In<int64_t> label_ptr, In<int32_t> label_item,
                        In<double> label_value, int64_t n_items) {
    size_t queries = rank_ptr.size() - 1;
    Buffer<double> joined(ranked_item.size());
    {
        nb::gil_scoped_release release;
        const int32_t *ranked = ranked_item.data(), *judged = label_item.data();
        constexpr uint32_t filter_bits = 1u << 15;
        std::vector<uint64_t> filter(filter_bits / 64, 0);
        auto word = [&](int32_t item) -> uint64_t & {
            return filter[(static_cast<uint32_t>(item) % filter_bits) / 64];
        };
        auto bit = [](int32_t item) { return uint64_t{1} << (static_cast<uint32_t>(item) % 64); };
        // Never cleared: an entry below the query's first one belongs to an earlier query.
        std::vector<int64_t> entry_of_item(static_cast<size_t>(n_items), -1);
        for (size_t q = 0; q < queries; ++q) {
            int64_t first = label_ptr.data()[q], last = label_ptr.data()[q + 1];
            for (int64_t e = first; e < last; ++e) {
                entry_of_item[judged[e]] = e;
                word(judged[e]) |= bit(judged[e]);
            }
            for (int64_t k = rank_ptr.data()[q]; k < rank_ptr.data()[q + 1]; ++k) {
                joined[k] = NAN;
                if (!(word(ranked[k]) & bit(ranked[k]))) continue;
                int64_t entry = entry_of_item[ranked[k]];
                if (entry >= first) joined[k] = label_value.data()[entry];
            }
            for (int64_t e = first; e < last; ++e) word(judged[e]) = 0;
        }
    }
    return joined.give();
}

// Where every row goes when rows of equal keys come together, groups by first appearance, rows in input order:
// (place, ptr). The places are empty when the rows already stand that way.
nb::tuple group_keys(In<int64_t> keys) {
    size_t n = keys.size();
    const int64_t *key = keys.data();
    std::vector<int64_t> sizes, ptr{0};
    Buffer<int64_t> place(n); // first the group, then the place
    bool grouped = true;
    {
        nb::gil_scoped_release release;
        int64_t low = n ? key[0] : 0, high = low;
        for (size_t k = 0; k < n; ++k) low = std::min(low, key[k]), high = std::max(high, key[k]);
        uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
        std::vector<int64_t> table(span < 4 * n + 1024 ? span + 1 : 0, -1);
        std::unordered_map<int64_t, int64_t> seen;
        for (size_t k = 0; k < n; ++k) {
            if (k && key[k] == key[k - 1]) {
                place[k] = place[k - 1];
            } else {
                int64_t &known = table.empty() ? seen.emplace(key[k], -1).first->second
                                               : table[static_cast<uint64_t>(key[k]) - static_cast<uint64_t>(low)];
                if (known >= 0) {
                    grouped = false;
                } else {
                    known = static_cast<int64_t>(sizes.size());
                    sizes.push_back(0);
                }
                place[k] = known;
            }
            ++sizes[place[k]];
        }
        for (int64_t size : sizes) ptr.push_back(ptr.back() + size);
        std::vector<int64_t> next(ptr.begin(), ptr.end() - 1);
        if (!grouped)
            for (size_t k = 0; k < n; ++k) place[k] = next[place[k]]++;
    }
    Buffer<int64_t> ptr_out(ptr.size());
    std::copy(ptr.begin(), ptr.end(), ptr_out.get());
    return nb::make_tuple(place.give_first(grouped ? 0 : n), ptr_out.give());
}

} // namespace

void bind_retrieval(nb::module_ &m) {
    m.def("evaluate_lists", &evaluate_lists, "ranked_label"_a.noconvert(), "ptr"_a.noconvert(),
          "judged_label"_a.noconvert(), "judged_ptr"_a.noconvert(), "table"_a.noconvert(), "skip_unjudged"_a);
    m.def("evaluate_scores", &evaluate_scores, "score"_a.noconvert(), "label"_a.noconvert(), "ptr"_a.noconvert(),
          "table"_a.noconvert(), "skip_unjudged"_a);
    m.def("join_labels", &join_labels, "rank_ptr"_a.noconvert(), "ranked_item"_a.noconvert(), "label_ptr"_a.noconvert(),
          "label_item"_a.noconvert(), "label_value"_a.noconvert(), "n_items"_a);
    m.def("group_keys", &group_keys, "keys"_a.noconvert());
}
