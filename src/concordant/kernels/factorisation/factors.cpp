// Leading singular pairs of pairwise preference matrices that are never formed.
//
// A group is a few ballots over the same slots; its matrix is the weighted sum of theirs. A ballot with levels z (sorted,
// equal = tied) has Y(i, j) = z_j - z_i, or 1, wherever j stands behind i. Y x and Y' x are running sums over the sorted
// entries: with S the sum of x behind an entry and D = (Y x) there, D grows by S times the step of z from one entry to the
// one before it. No term is negative, so nothing cancels.
//
// Y'Y has no negative entry: power iteration from equal weights ends at the non-negative leading pair (Perron and
// Frobenius), and where several are as strong, at the same one whatever the order of the slots. One ballot that is counted,
// not measured, and has no ties has a closed form: its vectors are sampled sine and cosine.
#include "common.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

constexpr double HALF_TURN = 3.14159265358979323846;

// The bundle PairLists.
using PairListArrays = std::tuple<In<int64_t>, In<int64_t>, In<int64_t>, In<int64_t>, In<double>, In<double>>;

struct Group {
    const int64_t *indptr, *slot; // of its first ballot on; slots counted through all groups
    const double *level, *weight;
    size_t ballots, size;
    int64_t base; // its first slot
    bool is_binary;
    std::vector<double> &step; // of every entry to the one before it, from the first entry of the group on

    // Clear y, and add to it ballot by ballot: the first and the last entry, the weight, and the steps of all entries.
    template <typename Add> void by_ballot(double *y, Add add) const {
        std::fill_n(y, size, 0.0);
        for (size_t b = 0; b < ballots; ++b) add(indptr[b], indptr[b + 1] - 1, weight[b], step.data() - indptr[0]);
    }
    // y = Y x: from the last entry of every ballot to the first.
    void multiply(const double *x, double *y) const {
        by_ballot(y, [&](int64_t first, int64_t last, double w, const double *steps) {
            double behind = 0, sum = 0;
            if (!is_binary) {
                for (int64_t k = last; k > first; --k) {
                    behind += x[slot[k] - base];
                    sum += steps[k] * behind;
                    y[slot[k - 1] - base] += w * sum;
                }
                return;
            }
            for (int64_t k = last; k > first; --k) { // sum: of all behind the tier, behind: of the tier as well
                behind += x[slot[k] - base];
                if (steps[k] > 0) sum = behind;
                y[slot[k - 1] - base] += w * sum;
            }
        });
    }
    // y = Y' x: from the first entry to the last.
    void multiply_transposed(const double *x, double *y) const {
        by_ballot(y, [&](int64_t first, int64_t last, double w, const double *steps) {
            double before = 0, sum = 0;
            for (int64_t k = first; k < last; ++k) {
                before += x[slot[k] - base];
                if (!is_binary)
                    sum += steps[k + 1] * before;
                else if (steps[k + 1] > 0)
                    sum = before;
                y[slot[k + 1] - base] += w * sum;
            }
        });
    }
    bool is_strict() const {
        for (int64_t k = indptr[0] + 1; k < indptr[1]; ++k)
            if (!(step[static_cast<size_t>(k - indptr[0])] > 0)) return false;
        return true;
    }
};

// Divide by the length and return it; zeros stay.
double normalise(double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += x[i] * x[i];
    const double length = std::sqrt(sum), inverse = length > 0 ? 1 / length : 0.0;
    for (size_t i = 0; i < n; ++i) x[i] *= inverse;
    return length;
}

// n items in strict order: u_k = cos((k + 1/2) t), v_k = sin(k t), t = pi/(2n - 1), both of squared length (2n - 1)/4.
double closed_form(const Group &group, double *u, double *v) {
    const int64_t n = group.indptr[1] - group.indptr[0];
    if (n < 2) return 0;
    const double count = static_cast<double>(2 * n - 1), angle = HALF_TURN / count, unit = 2 / std::sqrt(count);
    for (int64_t k = 0; k < n; ++k) {
        const int64_t at = group.slot[group.indptr[0] + k] - group.base;
        u[at] = k + 1 < n ? unit * std::cos((static_cast<double>(k) + 0.5) * angle) : 0.0;
        v[at] = unit * std::sin(static_cast<double>(k) * angle);
    }
    return group.weight[0] / (2 * std::sin(angle / 2));
}

double iterate(const Group &group, double tolerance, int64_t max_steps, std::vector<double> &old, double *u, double *v) {
    std::fill_n(u, group.size, 1.0);
    group.multiply_transposed(u, v);
    normalise(v, group.size);
    double strength = 0;
    for (int64_t round = 0; round < max_steps; ++round) {
        std::copy_n(v, group.size, old.begin());
        group.multiply(v, u);
        if (!(normalise(u, group.size) > 0)) break;
        group.multiply_transposed(u, v);
        strength = normalise(v, group.size);
        double change = 0;
        for (size_t i = 0; i < group.size; ++i) change = std::max(change, std::fabs(v[i] - old[i]));
        if (change <= tolerance) break;
    }
    if (!(strength > 0)) {
        std::fill_n(u, group.size, 0.0);
        std::fill_n(v, group.size, 0.0);
    }
    return strength;
}

// (left, right, strength): singular vectors by slot, singular value by group.
nb::tuple pair_factors(PairListArrays lists, bool is_binary, double tolerance, int64_t max_steps) {
    auto &[slot_ptr, ballot_ptr, indptr, slot, level, weight] = lists;
    const size_t groups = slot_ptr.size() - 1, slots = static_cast<size_t>(slot_ptr.data()[groups]);
    Buffer<double> left(slots, 0.0), right(slots, 0.0), strength(groups, 0.0);
    {
        nb::gil_scoped_release release;
        std::vector<double> step, old;
        for (size_t g = 0; g < groups; ++g) {
            const int64_t b = ballot_ptr.data()[g], base = slot_ptr.data()[g];
            const size_t ballots = static_cast<size_t>(ballot_ptr.data()[g + 1] - b);
            const size_t size = static_cast<size_t>(slot_ptr.data()[g + 1] - base);
            if (!ballots || !size) continue;
            const int64_t *own = indptr.data() + b;
            const size_t entries = static_cast<size_t>(own[ballots] - own[0]);
            if (!entries) continue;
            step.assign(entries, 0.0);
            for (size_t k = 1; k < entries; ++k)
                step[k] = level.data()[own[0] + static_cast<int64_t>(k)] - level.data()[own[0] + static_cast<int64_t>(k) - 1];
            if (old.size() < size) old.resize(size);
            const Group group{own, slot.data(), level.data(), weight.data() + b, ballots, size, base, is_binary, step};
            double *u = left.get() + base, *v = right.get() + base;
            strength[g] = is_binary && ballots == 1 && group.is_strict() ? closed_form(group, u, v)
                                                                        : iterate(group, tolerance, max_steps, old, u, v);
        }
    }
    return nb::make_tuple(left.give(), right.give(), strength.give());
}

} // namespace

void bind_factors(nb::module_ &m) {
    m.def("pair_factors", &pair_factors, "lists"_a.noconvert(), "is_binary"_a, "tolerance"_a, "max_steps"_a);
}
