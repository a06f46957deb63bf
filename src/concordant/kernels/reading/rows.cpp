// Rows to ballots, ballots to slots, scores to order: the plumbing between a table and a ranking.
#include "ballots.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace {

// Group rows (instance, agent, value) into ballots: equal (instance, agent) together in order of first appearance, rows
// of a ballot by value (ascending), ties in input order. An empty instance or agent column means there is only one. Returns (order, indptr, tier); order is empty when the rows already
// stand that way, which is the common case and costs one pass.
nb::tuple group_rows(In<int32_t> instance, In<int32_t> agent, In<double> values) {
    size_t n = values.size();
    const int32_t *q = instance.size() ? instance.data() : nullptr, *a = agent.size() ? agent.data() : nullptr;
    auto key = [&](size_t k) {
        return (static_cast<int64_t>(q ? q[k] : 0) << 32) | static_cast<int64_t>(a ? a[k] : 0);
    };
    const double *value = values.data();
    std::vector<int64_t> starts, group_of_run;
    std::vector<int64_t> order;
    std::vector<int64_t> indptr;
    Buffer<int32_t> tier(n);
    {
        nb::gil_scoped_release release;
        for (size_t k = 0; k < n; ++k)
            if (k == 0 || (q && q[k] != q[k - 1]) || (a && a[k] != a[k - 1])) starts.push_back(static_cast<int64_t>(k));
        size_t runs = starts.size();
        starts.push_back(static_cast<int64_t>(n));
        std::unordered_map<int64_t, int64_t> seen;
        seen.reserve(runs);
        group_of_run.resize(runs);
        for (size_t r = 0; r < runs; ++r)
            group_of_run[r] = seen.emplace(key(static_cast<size_t>(starts[r])), static_cast<int64_t>(seen.size())).first->second;
        size_t groups = seen.size();
        indptr.assign(groups + 1, 0);
        for (size_t r = 0; r < runs; ++r) indptr[group_of_run[r] + 1] += starts[r + 1] - starts[r];
        for (size_t g = 0; g < groups; ++g) indptr[g + 1] += indptr[g];
        if (groups != runs) {
            order.resize(n);
            std::vector<int64_t> next(indptr.begin(), indptr.end() - 1);
            for (size_t r = 0; r < runs; ++r)
                for (int64_t k = starts[r]; k < starts[r + 1]; ++k) order[next[group_of_run[r]]++] = k;
        }
        for (size_t g = 0; g < groups; ++g) {
            size_t from = static_cast<size_t>(indptr[g]), to = static_cast<size_t>(indptr[g + 1]);
            auto at = [&](size_t k) { return value[order.empty() ? k : static_cast<size_t>(order[k])]; };
            bool sorted = true;
            for (size_t k = from + 1; k < to && sorted; ++k) sorted = at(k - 1) <= at(k);
            if (!sorted) {
                if (order.empty()) {
                    order.resize(n);
                    for (size_t k = 0; k < n; ++k) order[k] = static_cast<int64_t>(k);
                }
                std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(from),
                                 order.begin() + static_cast<std::ptrdiff_t>(to),
                                 [&](int64_t a, int64_t b) { return value[a] < value[b]; });
            }
            int32_t current = 0;
            for (size_t k = from; k < to; ++k) {
                if (k > from && at(k) != at(k - 1)) ++current;
                tier[k] = current;
            }
        }
    }
    Buffer<int64_t> order_out(order.size()), indptr_out(indptr.size());
    std::copy(order.begin(), order.end(), order_out.get());
    std::copy(indptr.begin(), indptr.end(), indptr_out.get());
    return nb::make_tuple(order_out.give(), indptr_out.give(), tier.give());
}

// The candidates of every instance in order of first appearance, and the slot of every entry.
nb::tuple assign_slots(In<int32_t> instance_of_ballot, In<int64_t> indptr, In<int32_t> item, int64_t n_instances,
                       int64_t n_items) {
    size_t ballots = instance_of_ballot.size();
    const int32_t *instance = instance_of_ballot.data(), *items = item.data();
    const int64_t *ptr = indptr.data();
    Buffer<int64_t> slot_ptr(static_cast<size_t>(n_instances) + 1, 0), entry_slot(item.size());
    std::vector<int32_t> slot_item;
    {
        nb::gil_scoped_release release;
        Instances by_instance(instance, ballots, static_cast<size_t>(n_instances));
        // slot_of_item is never cleared: a slot below the instance's first slot belongs to an earlier instance.
        std::vector<int64_t> slot_of_item(static_cast<size_t>(n_items), -1);
        Interrupts interrupts;
        for (int64_t q = 0; q < n_instances; ++q) {
            int64_t base = static_cast<int64_t>(slot_item.size());
            slot_ptr[q] = base;
            for (int64_t o = by_instance.from[q]; o < by_instance.from[q + 1]; ++o) {
                int64_t b = by_instance.ballot[o];
                interrupts.poll(16);
                for (int64_t k = ptr[b]; k < ptr[b + 1]; ++k) {
                    int64_t &slot = slot_of_item[items[k]];
                    if (slot < base) {
                        slot = static_cast<int64_t>(slot_item.size());
                        slot_item.push_back(items[k]);
                    }
                    entry_slot[k] = slot;
                }
            }
        }
        slot_ptr[n_instances] = static_cast<int64_t>(slot_item.size());
    }
    Buffer<int32_t> slot_item_out(slot_item.size());
    std::copy(slot_item.begin(), slot_item.end(), slot_item_out.get());
    return nb::make_tuple(slot_ptr.give(), slot_item_out.give(), entry_slot.give());
}

// The slot of every entry when the candidates are given; -1 where an item is no candidate of its instance.
Out<int64_t> find_slots(In<int64_t> slot_ptr, In<int32_t> slot_item, In<int32_t> instance_of_ballot,
                        In<int64_t> indptr, In<int32_t> item, int64_t n_items) {
    size_t ballots = instance_of_ballot.size(), n_instances = slot_ptr.size() - 1;
    Buffer<int64_t> entry_slot(item.size());
    {
        nb::gil_scoped_release release;
        const int32_t *instance = instance_of_ballot.data(), *items = item.data();
        const int64_t *ptr = indptr.data(), *slots = slot_ptr.data();
        Instances by_instance(instance, ballots, n_instances);
        std::vector<int64_t> slot_of_item(static_cast<size_t>(n_items), -1);
        Interrupts interrupts;
        for (size_t q = 0; q < n_instances; ++q) {
            for (int64_t s = slots[q]; s < slots[q + 1]; ++s) slot_of_item[slot_item.data()[s]] = s;
            for (int64_t o = by_instance.from[q]; o < by_instance.from[q + 1]; ++o) {
                int64_t b = by_instance.ballot[o];
                interrupts.poll(16);
                for (int64_t k = ptr[b]; k < ptr[b + 1]; ++k) {
                    int64_t slot = slot_of_item[items[k]];
                    entry_slot[k] = slot >= slots[q] ? slot : -1;
                }
            }
        }
    }
    return entry_slot.give();
}

// The first ballot that names an item twice, and the position of the repetition; (-1, -1) if there is none.
nb::tuple find_repeated(In<int64_t> indptr, In<int32_t> item, int64_t n_items) {
    int64_t ballot = -1, entry = -1;
    {
        nb::gil_scoped_release release;
        const int64_t *ptr = indptr.data();
        const int32_t *items = item.data();
        int64_t ballots = static_cast<int64_t>(indptr.size()) - 1;
        std::vector<int64_t> last(static_cast<size_t>(n_items), -1);
        for (int64_t b = 0; b < ballots && ballot < 0; ++b) {
            if (ptr[b + 1] - ptr[b] == 2) { // pairs are most of the world's ballots
                if (items[ptr[b]] == items[ptr[b] + 1]) ballot = b, entry = ptr[b] + 1;
                continue;
            }
            for (int64_t k = ptr[b]; k < ptr[b + 1]; ++k) {
                if (last[items[k]] == b) {
                    ballot = b, entry = k;
                    break;
                }
                last[items[k]] = b;
            }
        }
    }
    return nb::make_tuple(ballot, entry);
}

// For every entry 1 + the number of items in better tiers of its ballot (1, 2, 2, 4), or with `mean` the mean
// position of its tier (1, 2.5, 2.5, 4).
Out<double> tier_positions(In<int64_t> indptr, In<int32_t> tier, bool mean) {
    Buffer<double> position(tier.size());
    {
        nb::gil_scoped_release release;
        const int64_t *ptr = indptr.data();
        const int32_t *t = tier.data();
        for (size_t b = 0; b + 1 < indptr.size(); ++b) {
            for (int64_t first = ptr[b]; first < ptr[b + 1];) {
                int64_t last = first + 1;
                while (last < ptr[b + 1] && t[last] == t[first]) ++last;
                double best = static_cast<double>(first - ptr[b] + 1), worst = static_cast<double>(last - ptr[b]);
                double here = mean ? (best + worst) / 2 : best;
                for (int64_t k = first; k < last; ++k) position[k] = here;
                first = last;
            }
        }
    }
    return position.give();
}

inline uint64_t descending_bits(double score) {
    uint64_t bits;
    score += 0.0; // -0.0 and 0.0 are one score
    std::memcpy(&bits, &score, 8);
    bits = (bits >> 63) ? ~bits : bits | 0x8000000000000000ull;
    return ~bits;
}

struct Keyed {
    uint64_t key;
    int64_t slot;
};

// Stable sort of one segment: by comparison when short; when long by the upper four bytes (least significant first,
// constant bytes skipped), after which only runs that agree in all four are left to compare.
void sort_segment(std::vector<Keyed> &keyed, std::vector<Keyed> &spare) {
    auto less = [](const Keyed &a, const Keyed &b) { return a.key < b.key; };
    size_t n = keyed.size();
    if (n < 128) {
        std::stable_sort(keyed.begin(), keyed.end(), less);
        return;
    }
    spare.resize(n);
    size_t counts[4][256] = {};
    for (const Keyed &k : keyed)
        for (int d = 0; d < 4; ++d) ++counts[d][(k.key >> (32 + 8 * d)) & 255];
    for (int d = 0; d < 4; ++d) {
        int shift = 32 + 8 * d;
        size_t *count = counts[d];
        if (count[(keyed[0].key >> shift) & 255] == n) continue;
        size_t sum = 0;
        for (int c = 0; c < 256; ++c) {
            size_t here = count[c];
            count[c] = sum;
            sum += here;
        }
        for (const Keyed &k : keyed) spare[count[(k.key >> shift) & 255]++] = k;
        keyed.swap(spare);
    }
    for (size_t first = 0; first < n;) {
        size_t last = first + 1;
        bool sorted = true;
        for (; last < n && keyed[last].key >> 32 == keyed[first].key >> 32; ++last)
            sorted = sorted && keyed[last - 1].key <= keyed[last].key;
        if (!sorted)
            std::stable_sort(keyed.begin() + static_cast<std::ptrdiff_t>(first),
                             keyed.begin() + static_cast<std::ptrdiff_t>(last), less);
        first = last;
    }
}

// Slots best first inside each segment and their ranks (1, 2, 2, 4 …), aligned to the order. Neighbours within
// `tolerance` (relative) are tied and stand in slot order.
nb::tuple order_segments(In<double> score, In<int64_t> ptr, double tolerance) {
    size_t n = score.size(), segments = ptr.size() - 1;
    Buffer<int64_t> order(n);
    Buffer<int32_t> rank(n);
    {
        nb::gil_scoped_release release;
        const double *s = score.data();
        const int64_t *p = ptr.data();
        std::vector<Keyed> keyed, spare;
        for (size_t q = 0; q < segments; ++q) {
            int64_t from = p[q], to = p[q + 1];
            keyed.clear();
            bool sorted = true;
            for (int64_t k = from; k < to; ++k) {
                keyed.push_back({descending_bits(s[k]), k});
                sorted = sorted && (k == from || s[k - 1] >= s[k]);
            }
            if (!sorted) sort_segment(keyed, spare);
            for (int64_t k = from; k < to; ++k) order[k] = keyed[k - from].slot;
            for (int64_t first = from; first < to;) {
                int64_t last = first + 1;
                bool exact = true;
                while (last < to) {
                    double a = s[order[last - 1]], b = s[order[last]];
                    if (a != b) {
                        double scale = std::max(std::fabs(a), std::fabs(b));
                        if (!(std::fabs(a - b) <= tolerance * scale)) break;
                        exact = false;
                    }
                    ++last;
                }
                if (!exact) std::sort(order.get() + first, order.get() + last);
                for (int64_t k = first; k < last; ++k) rank[k] = static_cast<int32_t>(first - from + 1);
                first = last;
            }
        }
    }
    return nb::make_tuple(order.give(), rank.give());
}

} // namespace

void bind_rows(nb::module_ &m) {
    m.def("group_rows", &group_rows, "instance"_a.noconvert(), "agent"_a.noconvert(), "values"_a.noconvert());
    m.def("assign_slots", &assign_slots, "instance_of_ballot"_a.noconvert(), "indptr"_a.noconvert(),
          "item"_a.noconvert(), "n_instances"_a, "n_items"_a);
    m.def("find_slots", &find_slots, "slot_ptr"_a.noconvert(), "slot_item"_a.noconvert(),
          "instance_of_ballot"_a.noconvert(), "indptr"_a.noconvert(), "item"_a.noconvert(), "n_items"_a);
    m.def("find_repeated", &find_repeated, "indptr"_a.noconvert(), "item"_a.noconvert(), "n_items"_a);
    m.def("tier_positions", &tier_positions, "indptr"_a.noconvert(), "tier"_a.noconvert(), "mean"_a);
    m.def("order_segments", &order_segments, "score"_a.noconvert(), "ptr"_a.noconvert(), "tolerance"_a);
}
