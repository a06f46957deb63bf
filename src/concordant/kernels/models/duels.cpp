// Duels: pairs of candidates with how often each won and how often they tied, and the score models fitted to them.
//
// A duel's log-likelihood depends on the scores only through d = score[first] - score[second] (plus the advantage of
// the item shown first). `x` is the tie parameter of the models that have one. `row_term` is the only place that knows
// the models; everything else adds up its derivatives.
#include "ballots.hpp"
#include "duel_rows.hpp"
#include "lanes.hpp"
#include "newton.hpp"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

namespace {

// duel_terms of Bradley-Terry where nobody is shown first, with less to read: rows by how much was counted, slots by
// how much they won more than half of that (`balance`). Sorted by `first`. Scores spread by less than 600.
nb::object worth_terms(In<int32_t> first, In<int32_t> second, In<double> total, In<double> balance, In<double> score) {
    size_t rows = first.size(), m = score.size();
    Buffer<double> gradient = copy_of(balance), diagonal(m, 0.0), curve(rows);
    double value = 0;
    {
        nb::gil_scoped_release unlocked;
        double low = m ? score.data()[0] : 0, high = low;
        for (size_t i = 0; i < m; ++i) {
            low = std::min(low, score.data()[i]);
            high = std::max(high, score.data()[i]);
        }
        std::vector<double> worth(m), counted(m, 0.0);
        for (size_t i = 0; i < m; ++i) worth[i] = std::exp(score.data()[i] - (low + high) / 2);
        auto at = std::make_unique<Worths>();
        int32_t here = rows ? first.data()[0] : 0;
        double slope = 0, level = 0, count = 0;
        auto end_run = [&] {
            gradient[here] -= slope;
            diagonal[here] += level;
            counted[here] += count;
            slope = level = count = 0;
        };
        for (size_t from = 0; from < rows; from += BLOCK) {
            size_t n = std::min(BLOCK, rows - from);
            const int32_t *i = first.data() + from, *j = second.data() + from;
            const double *t = total.data() + from;
            double *c = curve.get() + from;
            for (size_t k = 0; k < n; ++k) {
                at->a[k] = worth[i[k]];
                at->b[k] = worth[j[k]];
            }
            worth_rows(*at, t, c, n);
            double sums[4] = {0, 0, 0, 0};
            for (size_t k = 0; k < n; ++k) {
                if (i[k] != here) {
                    end_run();
                    here = i[k];
                }
                slope += at->surplus[k];
                level += c[k];
                count += t[k];
                gradient[j[k]] += at->surplus[k];
                diagonal[j[k]] += c[k];
                counted[j[k]] += t[k];
                sums[k % 4] += at->value[k];
            }
            value -= (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
        if (rows) end_run();
        // What was won times its score; worths are those of scores less the middle.
        for (size_t i = 0; i < m; ++i)
            value += (balance.data()[i] + counted[i] / 2) * (score.data()[i] - (low + high) / 2);
    }
    return named("DuelTerms", value, gradient.give(), diagonal.give(), Buffer<double>(0).give(),
                 Buffer<double>(0).give(), curve.give(), Buffer<double>(0).give(), 0.0, 0.0, 0.0);
}

// Add up values of rows by slot: for the first one, and for the second one `sign` times them. What rows in a row have of
// the same first slot is kept in a register.
void add_by_slot(const DuelRows &rows, const double *value, double sign, double *sums) {
    for (size_t r = 0; r < rows.n;) {
        int32_t i = rows.first[r];
        double own = 0;
        for (; r < rows.n && rows.first[r] == i; ++r) {
            int32_t j = rows.second[r];
            own += value[r];
            sums[j] += sign * value[r];
        }
        sums[i] += own;
    }
}

nb::object duel_terms(const DuelArrays &duels, In<double> score, double advantage, double tie, int link) {
    DuelRows rows(duels);
    bool is_plain = link == BRADLEY_TERRY, has_tie = link >= DAVIDSON;
    Buffer<double> gradient(score.size(), 0.0), diagonal(score.size(), 0.0);
    Buffer<double> side(has_tie ? score.size() : 0, 0.0);
    Buffer<double> slope(rows.n), curve(rows.n), cross(has_tie ? rows.n : 0);
    double value = 0, slope_x = 0, curve_x = 0;
    {
        nb::gil_scoped_release unlocked;
        const double *s = score.data();
        bool by_worths = has_tie && !rows.order && is_moderate(s, score.size(), tie);
        if (is_plain) value = all_bradley_terry_terms(rows, s, advantage, slope.get(), curve.get());
        if (by_worths)
            std::tie(value, slope_x, curve_x) =
                all_tie_terms(rows, s, score.size(), tie, link, slope.get(), curve.get(), cross.get());
        for (size_t r = 0; r < (is_plain || by_worths ? 0 : rows.n); ++r) {
            int32_t i = rows.first[r], j = rows.second[r];
            Term t = rows.term(link, r, s[i] - s[j], advantage, tie);
            value += t.value;
            slope_x += t.slope_x;
            curve_x += t.curve_x;
            slope[r] = t.slope;
            curve[r] = t.curve;
            if (has_tie) cross[r] = t.cross;
        }
        add_by_slot(rows, slope.get(), -1, gradient.get());
        add_by_slot(rows, curve.get(), 1, diagonal.get());
        if (has_tie) add_by_slot(rows, cross.get(), -1, side.get());
    }
    return named("DuelTerms", value, gradient.give(), diagonal.give(), side.give(), slope.give(), curve.give(),
                 cross.give(), slope_x, curve_x, bend_of_tie(link, tie, slope_x));
}

// The duels of one instance: scores, then the advantage of the item shown first, then the tie parameter.
class DuelLikelihood {
  public:
    DuelLikelihood(DuelRows rows, int link, size_t m_, int64_t base)
        : m(m_), n_extra(static_cast<size_t>(rows.order != nullptr) + static_cast<size_t>(link >= DAVIDSON)),
          rows_(rows), link_(link), base_(base), terms_(rows.n) {
        for (size_t r = 0; r < rows_.n; ++r) {
            ties_ += rows_.tied[r];
            total_ += rows_.won[r] + rows_.lost[r] + rows_.tied[r];
        }
    }

    const size_t m, n_extra;
    double total() const { return total_; }
    bool is_concave() const { return link_ != RAO_KUPPER; }

    void start(double *extra) const {
        if (link_ < DAVIDSON) return;
        double share = total_ > 0 ? ties_ / total_ : 0.0, odds = -5;
        if (share >= 1) odds = 5;
        else if (share > 0) odds = std::min(5.0, std::max(-5.0, std::log(2 * share / (1 - share))));
        extra[n_extra - 1] = odds;
    }

    double evaluate(const double *p) {
        if (link_ == BRADLEY_TERRY && !rows_.order && is_moderate(p, m, 0)) return evaluate_worths(p);
        x_ = link_ >= DAVIDSON ? p[m + n_extra - 1] : 0.0;
        double value = 0, advantage = rows_.order ? p[m] : 0.0;
        for (size_t r = 0; r < rows_.n; ++r) {
            terms_[r] = rows_.term(link_, r, p[first(r)] - p[second(r)], advantage, x_);
            value += terms_[r].value;
        }
        return value;
    }

    void gradient(double *g) const {
        for (size_t r = 0; r < rows_.n; ++r) {
            const Term &t = terms_[r];
            g[first(r)] += t.slope;
            g[second(r)] -= t.slope;
            if (rows_.order) g[m] += rows_.order[r] * t.slope;
            if (link_ >= DAVIDSON) g[m + n_extra - 1] += t.slope_x;
        }
    }

    void hessian(double *h, bool is_exact) const {
        size_t n = m + n_extra, tie = n - 1;
        double slope_x = 0;
        for (size_t r = 0; r < rows_.n; ++r) {
            const Term &t = terms_[r];
            size_t i = first(r), j = second(r);
            h[i * n + i] += t.curve;
            h[j * n + j] += t.curve;
            h[std::max(i, j) * n + std::min(i, j)] -= t.curve;
            double o = rows_.order ? rows_.order[r] : 0.0;
            if (rows_.order) {
                h[m * n + m] += o * o * t.curve;
                h[m * n + i] += o * t.curve;
                h[m * n + j] -= o * t.curve;
            }
            if (link_ >= DAVIDSON) {
                h[tie * n + i] += t.cross;
                h[tie * n + j] -= t.cross;
                if (rows_.order) h[tie * n + m] += o * t.cross;
                h[tie * n + tie] += t.curve_x;
                slope_x += t.slope_x;
            }
        }
        double bend = bend_of_tie(link_, x_, slope_x);
        if (link_ >= DAVIDSON) h[tie * n + tie] += is_exact ? bend : std::max(0.0, bend);
    }

  private:
        // By worths: an exponential per item, and rows in blocks.
    double evaluate_worths(const double *p) {
        double top = m ? *std::max_element(p, p + m) : 0.0, value = 0;
        worth_.resize(m);
        for (size_t i = 0; i < m; ++i) worth_[i] = p[i] - top;
        exponentials(worth_.data(), m, -LARGEST_SPREAD);
        Worths &at = worths_;
        for (size_t from = 0; from < rows_.n; from += BLOCK) {
            size_t n = std::min(BLOCK, rows_.n - from);
            for (size_t k = 0; k < n; ++k) {
                size_t r = from + k;
                at.a[k] = worth_[first(r)];
                at.b[k] = worth_[second(r)];
                at.total[k] = rows_.won[r] + rows_.lost[r] + rows_.tied[r];
            }
            worth_rows(at, at.total, at.curve, n);
            for (size_t k = 0; k < n; ++k) {
                size_t r = from + k;
                double surplus = (rows_.won[r] - rows_.lost[r]) / 2, i = p[first(r)] - top, j = p[second(r)] - top;
                value += surplus * (i - j) + at.total[k] * (i + j) / 2 - at.value[k];
                terms_[r].slope = surplus - at.surplus[k];
                terms_[r].curve = at.curve[k];
            }
        }
        return value;
    }

    size_t first(size_t r) const { return static_cast<size_t>(rows_.first[r] - base_); }
    size_t second(size_t r) const { return static_cast<size_t>(rows_.second[r] - base_); }

    DuelRows rows_;
    int link_;
    int64_t base_;
    std::vector<Term> terms_;
    std::vector<double> worth_;
    Worths worths_;
    double ties_ = 0, total_ = 0, x_ = 0;
};

nb::object fit_duels(In<int64_t> slot_ptr, In<int64_t> duel_ptr, const DuelArrays &duels, int link,
                     const BeliefArrays &belief, const WarmStartArrays &warm_start, double small_step, bool with_errors) {
    Fits fits(slot_ptr, belief, warm_start, with_errors);
    {
        nb::gil_scoped_release unlocked;
        for (size_t q = 0; q < fits.instances(); ++q) {
            if (fits.size(q)) {
                DuelRows rows(duels, static_cast<size_t>(duel_ptr.data()[q]),
                              static_cast<size_t>(duel_ptr.data()[q + 1]));
                DuelLikelihood likelihood(rows, link, fits.size(q), fits.first(q));
                fits.fit(q, likelihood, rows.order != nullptr, small_step);
            }
            fits.next(q);
        }
    }
    return fits.give();
}

// How likely each of n items of these worths would have won against one of worth `own` that won: add it up, and take it
// from each of their slopes.
SIMD_CLONES double beaten(double own, const double *worth, double *slope, size_t n) {
    Lanes sum{};
    size_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        Lanes other = load(worth + j), rest = other / (own + other);
        sum += rest;
        store(slope + j, load(slope + j) - rest);
    }
    double total = sum_of(sum);
    for (; j < n; ++j) {
        double rest = worth[j] / (own + worth[j]);
        total += rest;
        slope[j] -= rest;
    }
    return total;
}

// Derivatives of the log-likelihood of single ballots, all pairs of a ballot together: by entry that of its item's
// score, by ballot those of the advantage and the tie parameter. A pair counts `level` difference (or once), nothing
// inside the last tier of an open ballot. `level` and `shown` may be empty.
nb::tuple ballot_slopes(const BallotArrays &arrays, In<double> level, In<int32_t> shown, In<double> score,
                        In<double> advantage, In<double> tie, int link) {
    Ballots all(arrays);
    Buffer<double> slope(std::get<3>(arrays).size(), 0.0), extra(2 * all.n, 0.0);
    {
        nb::gil_scoped_release unlocked;
        const double *l = level.size() ? level.data() : nullptr;
        const int32_t *s = shown.size() ? shown.data() : nullptr;
        bool is_plain = link == BRADLEY_TERRY && !l && !s;
        std::vector<double> worth;
        for (size_t b = 0; b < all.n; ++b) {
            size_t from = static_cast<size_t>(all.indptr[b]), to = static_cast<size_t>(all.indptr[b + 1]);
            if (to - from < 2) continue;
            size_t q = static_cast<size_t>(all.instance[b]);
            int32_t open_tier = all.is_open[b] ? all.tier[to - 1] : -1;
            if (is_plain) {
                worth.resize(to - from);
                double top = score.data()[all.slot[from]];
                for (size_t k = from; k < to; ++k) top = std::max(top, score.data()[all.slot[k]]);
                for (size_t k = from; k < to; ++k)
                    worth[k - from] = std::exp(std::max(score.data()[all.slot[k]] - top, -600.0));
            }
            for (size_t i = from; i < to; ++i) {
                bool is_rest = all.tier[i] == open_tier;
                if (is_plain) {
                    size_t j = i + 1;
                    for (; j < to && all.tier[j] == all.tier[i] && !is_rest; ++j) {
                        double rest = worth[j - from] / (worth[i - from] + worth[j - from]) - 0.5;
                        slope[i] += rest;
                        slope[j] -= rest;
                    }
                    if (!is_rest) slope[i] += beaten(worth[i - from], worth.data() + j - from, slope.get() + j, to - j);
                    continue;
                }
                for (size_t j = i + 1; j < to; ++j) {
                    bool is_tie = all.tier[i] == all.tier[j];
                    if (is_tie && is_rest) break;
                    double lead = s ? (s[i] < s[j]) - (s[i] > s[j]) : 0.0, amount = l ? std::abs(l[i] - l[j]) : 1.0;
                    double d = score.data()[all.slot[i]] - score.data()[all.slot[j]] + lead * advantage.data()[q];
                    Term t = row_term(link, d, tie.data()[q], is_tie ? 0 : amount, 0, is_tie ? amount : 0);
                    slope[i] += t.slope;
                    slope[j] -= t.slope;
                    extra[2 * b] += lead * t.slope;
                    extra[2 * b + 1] += t.slope_x;
                }
            }
        }
    }
    return nb::make_tuple(slope.give(), extra.give2(all.n, 2));
}

} // namespace

void bind_duels(nb::module_ &m) {
    m.def("duel_terms", &duel_terms, "duels"_a.noconvert(), "score"_a.noconvert(), "advantage"_a, "tie"_a, "link"_a);
    m.def("worth_terms", &worth_terms, "first"_a.noconvert(), "second"_a.noconvert(), "total"_a.noconvert(),
          "balance"_a.noconvert(), "score"_a.noconvert());
    m.def("ballot_slopes", &ballot_slopes, "ballots"_a.noconvert(), "level"_a.noconvert(), "shown"_a.noconvert(),
          "score"_a.noconvert(), "advantage"_a.noconvert(), "tie"_a.noconvert(), "link"_a);
    m.def("fit_duels", &fit_duels, "slot_ptr"_a.noconvert(), "duel_ptr"_a.noconvert(), "duels"_a.noconvert(), "link"_a,
          "belief"_a.noconvert(), "warm_start"_a.noconvert(), "small_step"_a, "with_errors"_a);
}
