// Searching for consensus orders: exact dynamic programmes for small blocks, local search, pivoting, insertion, buckets.
//
// Every function works on many problems at once. Problem q owns items ptr[q]:ptr[q + 1] and a square block of the flat
// matrices: `before` at (i, j) is what putting i before j costs, `tied` what tying them costs. Costs are whole numbers
// held in doubles, so sums are exact and the same in any order. An empty `tied` means that ties are not allowed.
#include "search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace {

constexpr double NEVER = std::numeric_limits<double>::infinity();

// ---- components ------------------------------------------------------------------------------------------------

// Strongly connected components (Tarjan, without recursion); components are numbered in reverse topological order.
struct Components {
    size_t m;
    const std::vector<uint8_t> &edge;
    std::vector<int64_t> index, low, component;
    int64_t found = 0;

    Components(size_t size, const std::vector<uint8_t> &edges)
        : m(size), edge(edges), index(size, -1), low(size, 0), component(size, -1) {
        std::vector<int64_t> open;
        std::vector<std::pair<size_t, size_t>> path; // item, next item to look at
        int64_t clock = 0;
        for (size_t root = 0; root < m; ++root) {
            if (index[root] >= 0) continue;
            path.emplace_back(root, 0);
            while (!path.empty()) {
                size_t i = path.back().first, j = path.back().second;
                if (j == 0 && index[i] < 0) {
                    index[i] = low[i] = clock++;
                    open.push_back(static_cast<int64_t>(i));
                }
                bool descended = false;
                for (; j < m; ++j) {
                    if (!edge[i * m + j]) continue;
                    if (index[j] < 0) {
                        path.back().second = j + 1;
                        path.emplace_back(j, 0);
                        descended = true;
                        break;
                    }
                    if (component[j] < 0) low[i] = std::min(low[i], index[j]);
                }
                if (descended) continue;
                if (low[i] == index[i]) {
                    int64_t last;
                    do {
                        last = open.back();
                        open.pop_back();
                        component[static_cast<size_t>(last)] = found;
                    } while (last != static_cast<int64_t>(i));
                    ++found;
                }
                path.pop_back();
                if (!path.empty()) low[path.back().first] = std::min(low[path.back().first], low[i]);
            }
        }
    }
};

// Order the blocks so that every edge leads forward; where that leaves a choice, the block that starts first is first.
void split_one(size_t m, const double *before, const double *tied, const int64_t *start, int64_t base, int64_t *order,
               std::vector<int64_t> &block_end) {
    constexpr size_t side = 32;
    std::vector<uint8_t> leads_to(m * m), edge(m * m);
    for (size_t row = 0; row < m; row += side)
        for (size_t column = 0; column < m; column += side)
            for (size_t i = row; i < std::min(row + side, m); ++i)
                for (size_t j = column; j < std::min(column + side, m); ++j) {
                    double ahead = before[i * m + j], best = tied ? std::min(ahead, tied[i * m + j]) : ahead;
                    leads_to[i * m + j] = i != j && before[j * m + i] > best;
                }
    for (size_t a = 0; a < m; ++a)
        for (size_t b = 0; b < m; ++b)
            edge[a * m + b] = leads_to[static_cast<size_t>(start[a] - base) * m + static_cast<size_t>(start[b] - base)];
    Components parts(m, edge);
    size_t blocks = static_cast<size_t>(parts.found);
    std::vector<uint8_t> leads(blocks * blocks, 0);
    std::vector<size_t> waiting(blocks, 0), first(blocks, m);
    for (size_t a = 0; a < m; ++a) {
        size_t from = static_cast<size_t>(parts.component[a]);
        first[from] = std::min(first[from], a);
        for (size_t b = 0; b < m; ++b) {
            size_t to = static_cast<size_t>(parts.component[b]);
            if (!edge[a * m + b] || from == to || leads[from * blocks + to]) continue;
            leads[from * blocks + to] = 1;
            ++waiting[to];
        }
    }
    std::vector<std::vector<int64_t>> members(blocks);
    for (size_t a = 0; a < m; ++a) members[static_cast<size_t>(parts.component[a])].push_back(start[a]);
    std::vector<uint8_t> done(blocks, 0);
    int64_t *out = order;
    for (size_t step = 0; step < blocks; ++step) {
        size_t next = blocks;
        for (size_t c = 0; c < blocks; ++c)
            if (!done[c] && !waiting[c] && (next == blocks || first[c] < first[next])) next = c;
        done[next] = 1;
        for (size_t c = 0; c < blocks; ++c) waiting[c] -= leads[next * blocks + c];
        out = std::copy(members[next].begin(), members[next].end(), out);
        block_end.push_back(base + (out - order));
    }
}

nb::tuple split_blocks(In<int64_t> ptr, In<double> before, In<double> tied, In<int64_t> start) {
    size_t problems = ptr.size() - 1, items = start.size();
    Buffer<int64_t> order(items), blocks(items + 1);
    size_t count;
    {
        nb::gil_scoped_release release;
        std::vector<int64_t> end;
        const double *cost = before.data(), *tie = tied.size() ? tied.data() : nullptr;
        for (size_t q = 0; q < problems; ++q) {
            int64_t base = ptr.data()[q];
            size_t m = static_cast<size_t>(ptr.data()[q + 1] - base);
            if (m) split_one(m, cost, tie, start.data() + base, base, order.get() + base, end);
            cost += m * m;
            if (tie) tie += m * m;
        }
        blocks[0] = 0;
        std::copy(end.begin(), end.end(), blocks.get() + 1);
        count = end.size() + 1;
    }
    return nb::make_tuple(order.give(), blocks.give_first(count));
}

// ---- exact: dynamic programmes over sets -----------------------------------------------------------------------

// The cost of putting a set before an item, from two tables over halves of the set.
struct SetCosts {
    size_t m, low_bits;
    std::vector<double> low, high;

    SetCosts(size_t size, const double *before) : m(size), low_bits(size / 2) {
        low = table(before, 0, low_bits);
        high = table(before, low_bits, m - low_bits);
    }
    std::vector<double> table(const double *before, size_t from, size_t bits) const {
        std::vector<double> sums(m << bits, 0.0);
        for (size_t item = 0; item < m; ++item) {
            double *sum = sums.data() + (item << bits);
            for (size_t set = 1; set < size_t{1} << bits; ++set) {
                size_t lowest = lowest_bit(set);
                sum[set] = sum[set & (set - 1)] + before[(from + lowest) * m + item];
            }
        }
        return sums;
    }
    double operator()(size_t set, size_t item) const {
        size_t high_bits = m - low_bits;
        return low[(item << low_bits) + (set & ((size_t{1} << low_bits) - 1))] + high[(item << high_bits) + (set >> low_bits)];
    }
};

// best[S] is the least cost of ordering the set S; ways[S] how many orders cost that.
void order_one(size_t m, const double *before, int64_t *order, double *total, double *ways_total) {
    size_t sets = size_t{1} << m;
    std::vector<double> best(sets, 0.0), ways(sets, 1.0);
    SetCosts cost(m, before);
    for (size_t set = 1; set < sets; ++set) {
        double least = NEVER, count = 0;
        for (size_t rest = set; rest; rest &= rest - 1) {
            size_t last = lowest_bit(rest), others = set & ~(size_t{1} << last);
            double value = best[others] + cost(others, last);
            if (value < least) least = value, count = 0;
            if (value == least) count += ways[others];
        }
        best[set] = least;
        ways[set] = count;
    }
    *total = best[sets - 1];
    *ways_total = ways[sets - 1];
    for (size_t set = sets - 1, place = m; place--;) {
        for (size_t last = m; last--;) {
            size_t others = set & ~(size_t{1} << last);
            if (others == set || best[others] + cost(others, last) != best[set]) continue;
            order[place] = static_cast<int64_t>(last);
            set = others;
            break;
        }
    }
}

nb::tuple best_orders(In<int64_t> ptr, In<double> before) {
    size_t problems = ptr.size() - 1;
    Buffer<int64_t> order(static_cast<size_t>(ptr.data()[problems]));
    Buffer<double> total(problems, 0.0), ways(problems, 1.0);
    {
        nb::gil_scoped_release release;
        for_each_problem(ptr.data(), problems, 2, [&](size_t q, size_t base, size_t m, size_t at) {
            order_one(m, before.data() + at, order.get() + base, &total[q], &ways[q]);
        });
    }
    return nb::make_tuple(order.give(), total.give(), ways.give());
}

// The same with ties: the last tier of a set S is any subset of it, 3^m steps in all.
void weak_order_one(size_t m, const double *before, const double *tied, int64_t *tier, double *total, double *ways_total) {
    size_t sets = size_t{1} << m, all = sets - 1;
    std::vector<double> inner(sets, 0.0), best(sets, NEVER), ways(sets, 0.0), cross(sets, 0.0), column(m);
    std::vector<uint32_t> last_tier(sets, 0);
    for (size_t set = 1; set < sets; ++set) {
        size_t item = lowest_bit(set), rest = set & (set - 1);
        inner[set] = inner[rest];
        for (size_t others = rest; others; others &= others - 1) inner[set] += tied[item * m + lowest_bit(others)];
    }
    best[0] = 0;
    ways[0] = 1;
    for (size_t head = 0; head < all; ++head) {
        size_t free = all & ~head;
        for (size_t rest = free; rest; rest &= rest - 1) {
            size_t item = lowest_bit(rest);
            column[item] = 0;
            for (size_t set = head; set; set &= set - 1) column[item] += before[lowest_bit(set) * m + item];
        }
        double so_far = best[head], count = ways[head];
        for (size_t group = free & (~free + 1); group; group = (group - free) & free) {
            cross[group] = cross[group & (group - 1)] + column[lowest_bit(group)];
            double value = so_far + cross[group] + inner[group];
            size_t set = head | group;
            if (value < best[set]) {
                best[set] = value;
                ways[set] = 0;
                last_tier[set] = static_cast<uint32_t>(group);
            }
            if (value == best[set]) ways[set] += count;
        }
    }
    *total = best[all];
    *ways_total = ways[all];
    int64_t tiers = 0;
    for (size_t set = all; set; set &= ~size_t{last_tier[set]}) ++tiers;
    for (size_t set = all; set;) {
        size_t group = last_tier[set];
        --tiers;
        for (size_t rest = group; rest; rest &= rest - 1) tier[lowest_bit(rest)] = tiers;
        set &= ~group;
    }
}

nb::tuple best_weak_orders(In<int64_t> ptr, In<double> before, In<double> tied) {
    size_t problems = ptr.size() - 1;
    Buffer<int64_t> tier(static_cast<size_t>(ptr.data()[problems]));
    Buffer<double> total(problems, 0.0), ways(problems, 1.0);
    {
        nb::gil_scoped_release release;
        for_each_problem(ptr.data(), problems, 2, [&](size_t q, size_t base, size_t m, size_t at) {
            weak_order_one(m, before.data() + at, tied.data() + at, tier.get() + base, &total[q], &ways[q]);
        });
    }
    return nb::make_tuple(tier.give(), total.give(), ways.give());
}

// ---- simple constructions --------------------------------------------------------------------------------------

// Quicksort with the item of least priority as pivot. An item goes left of the pivot if its chance to be before it
// exceeds the number drawn for the pair; exactly one half without draws is left to the items' order.
struct Pivoting {
    size_t m;
    const double *chance, *priority, *draw;

    bool goes_left(size_t item, size_t pivot) const {
        double p = chance[item * m + pivot];
        if (draw) return draw[item * m + pivot] < p;
        return p != 0.5 ? p > 0.5 : item < pivot;
    }
    void sort(int64_t *from, int64_t *to, std::vector<int64_t> &right) const {
        while (to - from > 1) {
            int64_t *least = std::min_element(from, to, [&](int64_t a, int64_t b) { return priority[a] < priority[b]; });
            int64_t pivot = *least, *out = from;
            right.clear();
            for (int64_t *at = from; at < to; ++at) {
                if (*at == pivot) continue;
                if (goes_left(static_cast<size_t>(*at), static_cast<size_t>(pivot))) *out++ = *at;
                else right.push_back(*at);
            }
            *out = pivot;
            std::copy(right.begin(), right.end(), out + 1);
            sort(from, out, right);
            from = out + 1;
        }
    }
};

Out2<int64_t> pivot_orders(In<int64_t> ptr, In<double> chance, In2<double> priority, In2<double> draw) {
    size_t problems = ptr.size() - 1, repeats = priority.shape(0), items = priority.shape(1), width = draw.shape(1);
    Buffer<int64_t> order(repeats * items);
    {
        nb::gil_scoped_release release;
        for_each_problem(ptr.data(), problems, repeats, [&](size_t, size_t base, size_t m, size_t at) {
            std::vector<int64_t> right;
            for (size_t r = 0; r < repeats; ++r) {
                int64_t *own = order.get() + r * items + base;
                std::iota(own, own + m, int64_t{0});
                Pivoting{m, chance.data() + at, priority.data() + r * items + base,
                         width ? draw.data() + r * width + at : nullptr}
                    .sort(own, own + m, right);
            }
        });
    }
    return order.give2(repeats, items);
}

// Insert the items one after the other at the end, and let each rise while the majority prefers it to the one above.
Out2<int64_t> insertion_orders(In<int64_t> ptr, In<double> before, In2<int64_t> sequence) {
    size_t problems = ptr.size() - 1, repeats = sequence.shape(0), items = sequence.shape(1);
    Buffer<int64_t> order(repeats * items);
    {
        nb::gil_scoped_release release;
        for_each_problem(ptr.data(), problems, repeats, [&](size_t, size_t base, size_t m, size_t at) {
            const double *cost = before.data() + at;
            for (size_t r = 0; r < repeats; ++r) {
                const int64_t *given = sequence.data() + r * items + base;
                int64_t *own = order.get() + r * items + base;
                for (size_t k = 0; k < m; ++k) {
                    size_t place = k, item = static_cast<size_t>(given[k]);
                    for (; place; --place) {
                        size_t above = static_cast<size_t>(own[place - 1]);
                        if (!(cost[item * m + above] < cost[above * m + item])) break;
                        own[place] = own[place - 1];
                    }
                    own[place] = given[k];
                }
            }
        });
    }
    return order.give2(repeats, items);
}

// ---- from an order to tiers ------------------------------------------------------------------------------------

// Tying the items from place a to place b changes the cost by the sum of (tied - before) over their pairs. The exact way
// chooses the best place where each tier starts, the greedy one lets each item join the tier above if that is cheaper.
void bucket_one(size_t m, const double *before, const double *tied, const int64_t *order, bool is_greedy, int64_t *tier) {
    auto gain = [&](size_t a, size_t b) {
        size_t at = static_cast<size_t>(order[a]) * m + static_cast<size_t>(order[b]);
        return tied[at] - before[at];
    };
    std::vector<size_t> start(m, 0); // where the tier that ends with each place starts
    if (is_greedy) {
        for (size_t b = 1; b < m; ++b) {
            double change = 0;
            for (size_t a = start[b - 1]; a < b; ++a) change += gain(a, b);
            start[b] = change < 0 ? start[b - 1] : b;
        }
        int64_t current = -1;
        for (size_t b = 0; b < m; ++b) {
            if (start[b] == b) ++current;
            tier[order[b]] = current;
        }
        return;
    }
    std::vector<double> best(m + 1, 0.0), inner(m, 0.0); // inner[a]: change of cost of a tier from a to b
    for (size_t b = 0; b < m; ++b) {
        double change = 0;
        best[b + 1] = NEVER;
        for (size_t a = b + 1; a--;) {
            if (a < b) change += gain(a, b);
            inner[a] += change;
            if (best[a] + inner[a] < best[b + 1]) {
                best[b + 1] = best[a] + inner[a];
                start[b] = a;
            }
        }
    }
    int64_t tiers = 0;
    for (size_t end = m; end; end = start[end - 1]) ++tiers;
    for (size_t end = m; end;) {
        size_t from = start[end - 1];
        --tiers;
        for (size_t place = from; place < end; ++place) tier[order[place]] = tiers;
        end = from;
    }
}

Out<int64_t> bucket_orders(In<int64_t> ptr, In<double> before, In<double> tied, In<int64_t> order, bool is_greedy) {
    size_t problems = ptr.size() - 1;
    Buffer<int64_t> tier(order.size());
    {
        nb::gil_scoped_release release;
        for_each_problem(ptr.data(), problems, 1, [&](size_t, size_t base, size_t m, size_t at) {
            bucket_one(m, before.data() + at, tied.data() + at, order.data() + base, is_greedy, tier.get() + base);
        });
    }
    return tier.give();
}

// ---- cuts ------------------------------------------------------------------------------------------------------

struct Cut {
    double excess;
    int32_t i, j, k;
};

// Find triples with x(i,j) + x(j,k) - x(i,k) > 1 + tolerance, the most violated first, each pair in at most
// `per_pair` of them. Where x(i,j) + x(j,i) = 1 the three turns of a cycle are the same cut: only one is looked at.
// Looks at the triples whose i lies in [begin, end): the whole may take long.
nb::tuple violated_triangles(In2<double> x, double tolerance, int64_t per_pair, bool is_cyclic, size_t begin,
                             size_t end) {
    size_t n = x.shape(0);
    end = std::min(end, n);
    std::vector<Cut> chosen;
    {
        nb::gil_scoped_release release;
        const double *value = x.data();
        std::vector<Cut> found;
        for (size_t i = begin; i < end; ++i)
            for (size_t j = is_cyclic ? i + 1 : 0; j < n; ++j) {
                double first = value[i * n + j] - 1 - tolerance;
                if (i == j || first <= -1) continue;
                const double *row = value + j * n, *over = value + i * n;
                for (size_t k = is_cyclic ? i + 1 : 0; k < n; ++k)
                    if (first + row[k] - over[k] > 0 && k != j && k != i)
                        found.push_back({first + row[k] - over[k], static_cast<int32_t>(i), static_cast<int32_t>(j),
                                         static_cast<int32_t>(k)});
            }
        std::stable_sort(found.begin(), found.end(), [](const Cut &a, const Cut &b) { return a.excess > b.excess; });
        std::vector<int32_t> used(n * n, 0);
        for (const Cut &cut : found) {
            size_t i = static_cast<size_t>(cut.i), j = static_cast<size_t>(cut.j), k = static_cast<size_t>(cut.k);
            int32_t *pair[3] = {&used[std::min(i, j) * n + std::max(i, j)], &used[std::min(j, k) * n + std::max(j, k)],
                                &used[std::min(i, k) * n + std::max(i, k)]};
            if (*pair[0] >= per_pair || *pair[1] >= per_pair || *pair[2] >= per_pair) continue;
            for (int32_t *count : pair) ++*count;
            chosen.push_back(cut);
        }
    }
    Buffer<int32_t> i(chosen.size()), j(chosen.size()), k(chosen.size());
    for (size_t c = 0; c < chosen.size(); ++c) i[c] = chosen[c].i, j[c] = chosen[c].j, k[c] = chosen[c].k;
    return nb::make_tuple(i.give(), j.give(), k.give());
}

} // namespace

void bind_search(nb::module_ &m) {
    m.def("split_blocks", &split_blocks, "ptr"_a.noconvert(), "before"_a.noconvert(), "tied"_a.noconvert(),
          "start"_a.noconvert());
    m.def("best_orders", &best_orders, "ptr"_a.noconvert(), "before"_a.noconvert());
    m.def("best_weak_orders", &best_weak_orders, "ptr"_a.noconvert(), "before"_a.noconvert(), "tied"_a.noconvert());
    m.def("pivot_orders", &pivot_orders, "ptr"_a.noconvert(), "chance"_a.noconvert(), "priority"_a.noconvert(),
          "draw"_a.noconvert());
    m.def("insertion_orders", &insertion_orders, "ptr"_a.noconvert(), "before"_a.noconvert(),
          "sequence"_a.noconvert());
    m.def("bucket_orders", &bucket_orders, "ptr"_a.noconvert(), "before"_a.noconvert(), "tied"_a.noconvert(),
          "order"_a.noconvert(), "is_greedy"_a);
    m.def("violated_triangles", &violated_triangles, "x"_a.noconvert(), "tolerance"_a, "per_pair"_a, "is_cyclic"_a,
          "begin"_a, "end"_a);
}
