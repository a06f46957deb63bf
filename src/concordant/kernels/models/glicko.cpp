// Glicko-2 ratings, period by period (Glickman 2013, steps 3 to 8): all games of a period are processed together.
#include "common.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

constexpr int64_t NEVER = -(int64_t{1} << 60);
constexpr double MIN_TAU = 1e-9, SETTLED = 1e-10, MIN_CHANCE = 1e-9, PI = 3.14159265358979323846;

inline double shrink(double sd) {
    double share = sd / PI;
    return 1 / std::sqrt(1 + 3 * (share * share));
}

// The win probability at a lead, given the standard error of the difference.
inline double expected(double lead, double factor) {
    return 1 / (1 + std::exp(std::min(std::max(-factor * lead, -700.0), 700.0)));
}

// The new volatility: the logarithm of its square solves f(x) = 0, by the Illinois variant of false position.
double new_volatility(double volatility, double sd, double variance, double change, double tau) {
    if (tau < MIN_TAU) return volatility;
    double log_before = std::log(volatility * volatility), total_before = sd * sd + variance, square = change * change;
    auto f = [&](double x) {
        double power = std::exp(x), total = total_before + power;
        return power * (square - total) / (2 * (total * total)) - (x - log_before) / (tau * tau);
    };
    double left = log_before, right, excess = square - total_before;
    if (excess > 0) {
        right = std::log(std::max(excess, 1e-300));
    } else {
        right = log_before - tau;
        for (double step = tau; f(right) < 0; step *= 2) right -= step;
    }
    double at_left = f(left), at_right = f(right);
    for (int round = 0; round < 200 && std::abs(right - left) > SETTLED && at_left != at_right; ++round) {
        double middle = left + (left - right) * at_left / (at_right - at_left), at_middle = f(middle);
        if (at_middle * at_right <= 0) left = right, at_left = at_right;
        else at_left /= 2;
        right = middle, at_right = at_middle;
    }
    return std::exp(left / 2);
}

// What the games of a period tell of a slot, summed over the games it is first in, and over those it is second in.
struct Told {
    double information[2], gain[2];
};

nb::object glicko_periods(In<int64_t> first, In<int64_t> second, In<double> result, In<double> weight,
                          In<int64_t> period, int64_t n_slots, double sd, double volatility, double tau) {
    size_t n = first.size(), m = static_cast<size_t>(n_slots);
    Buffer<double> mean(m, 0.0), error(m, sd), spread(m, volatility), chance(n);
    Buffer<int64_t> seen(m, NEVER);
    std::vector<int64_t> row_slot, row_period;
    std::vector<double> row_mean, row_sd;
    {
        nb::gil_scoped_release unlocked;
        const int64_t *a = first.data(), *b = second.data(), *at = period.data();
        std::vector<Told> told(m);
        std::vector<double> before(m), factor(m);
        std::vector<int64_t> playing;
        Interrupts interrupts;
        for (size_t from = 0, to; from < n; from = to) {
            int64_t now = at[from];
            playing.clear();
            for (to = from; to < n && at[to] == now; ++to)
                for (int64_t slot : {a[to], b[to]})
                    if (seen[slot] != now) {
                        // The deviation grows in periods without games, up to that of a new item.
                        double idle = static_cast<double>(std::max(now - 1 - seen[slot], int64_t{0}));
                        double grown = std::sqrt(error[slot] * error[slot] + idle * (spread[slot] * spread[slot]));
                        before[slot] = std::min(grown, std::max(sd, error[slot]));
                        factor[slot] = shrink(before[slot]);
                        told[slot] = Told{};
                        seen[slot] = now;
                        playing.push_back(slot);
                    }
            for (size_t k = from; k < to; ++k) {
                double lead = mean[a[k]] - mean[b[k]];
                chance[k] = expected(lead, shrink(std::hypot(before[a[k]], before[b[k]])));
                for (int side = 0; side < 2; ++side) {
                    int64_t player = side ? b[k] : a[k], opponent = side ? a[k] : b[k];
                    double g = factor[opponent], scored = side ? 1 - result.data()[k] : result.data()[k];
                    double e = expected(side ? -lead : lead, g), w = weight.data()[k];
                    e = std::min(std::max(e, MIN_CHANCE), 1 - MIN_CHANCE);
                    told[player].information[side] += w * (g * g) * e * (1 - e);
                    told[player].gain[side] += w * g * (scored - e);
                }
            }
            std::sort(playing.begin(), playing.end());
            for (int64_t slot : playing) {
                double information = told[slot].information[0] + told[slot].information[1];
                double gain = told[slot].gain[0] + told[slot].gain[1], variance = 1 / information;
                spread[slot] = new_volatility(spread[slot], before[slot], variance, variance * gain, tau);
                double after = 1 / (1 / (before[slot] * before[slot] + spread[slot] * spread[slot]) + information);
                mean[slot] += after * gain;
                error[slot] = std::sqrt(after);
                row_slot.push_back(slot), row_period.push_back(now);
                row_mean.push_back(mean[slot]), row_sd.push_back(error[slot]);
            }
            interrupts.poll(64 * (to - from) + 512 * playing.size());
        }
    }
    auto given = [](const auto &values) {
        Buffer<std::decay_t<decltype(values[0])>> buffer(values.size());
        std::copy(values.begin(), values.end(), buffer.get());
        return buffer.give();
    };
    return named("GlickoRun", mean.give(), error.give(), spread.give(), seen.give(), chance.give(), given(row_slot),
                 given(row_period), given(row_mean), given(row_sd));
}

} // namespace

void bind_glicko(nb::module_ &m) {
    m.def("glicko_periods", &glicko_periods, "first"_a.noconvert(), "second"_a.noconvert(), "result"_a.noconvert(),
          "weight"_a.noconvert(), "period"_a.noconvert(), "n_slots"_a, "sd"_a, "volatility"_a, "tau"_a);
}
