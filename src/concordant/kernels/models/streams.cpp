// Streams: ratings that follow the games one after the other (Elo, TrueSkill).
//
// The order of events is the order of ballots, so instances and ballots are walked in input order. A ballot of weight
// 2.5 is played three times, the last one counting half. Asked for a trail, they also return what every entry stood at
// after its ballot, NaN where nothing was played.
#include "ballots.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

// Whether two entries of a ballot say nothing of each other: both in "the rest" of an open ballot.
inline bool is_unsaid(const Ballots &g, size_t ballot, int64_t i, int64_t j) {
    return g.is_open[ballot] && g.tier[i] == g.tier[j] && g.tier[i] == g.tier[g.indptr[ballot + 1] - 1];
}

inline size_t entries(const Ballots &g) { return static_cast<size_t>(g.indptr[g.n]); }

// How much a rating lead shrinks the factor of a margin: 538's 2.2 / (2.2 + 0.001 lead), 2.2 for a draw. A favourite
// wins by more; without this the ratings of the strong would grow for ever.
constexpr double LEAD_UNIT = 2.2, LEAST_LEAD = 0.22;

inline double shrunk_by_lead(double lead, bool is_draw, double correction) {
    return is_draw ? LEAD_UNIT : LEAD_UNIT / std::max(LEAST_LEAD, LEAD_UNIT + correction * lead);
}

// Elo: every pair of a ballot is a game, all with the ratings before the ballot, the stake shared over the opponents
// and multiplied by the factor of the game, if there is one.
nb::tuple elo_stream(BallotArrays ballots, In<double> order, In<double> game_factor, double start, double stake,
                     double scale, double advantage, double correction, bool has_trail) {
    Ballots g(ballots);
    Buffer<double> rating(g.slots, start), games(g.slots, 0.0), trail(has_trail ? entries(g) : 0, std::nan(""));
    double surprise = 0;
    {
        nb::gil_scoped_release unlocked;
        const double *shown = order.size() ? order.data() : nullptr;
        const double *factor = game_factor.size() ? game_factor.data() : nullptr;
        std::vector<double> change;
        Interrupts interrupts;
        double rate = std::log(10.0) / scale;
        for (size_t b = 0; b < g.n; ++b) {
            int64_t from = g.indptr[b], to = g.indptr[b + 1];
            size_t m = static_cast<size_t>(to - from);
            if (m < 2) continue;
            double opponents = static_cast<double>(m - 1);
            for (double left = g.weight[b]; left > 1e-12; left -= 1) {
                double part = std::min(left, 1.0);
                interrupts.poll(16 * m * m);
                change.assign(m, 0.0);
                for (int64_t i = from; i < to; ++i)
                    for (int64_t j = i + 1; j < to; ++j) {
                        if (is_unsaid(g, b, i, j)) continue;
                        double lead = rating[g.slot[i]] - rating[g.slot[j]];
                        if (shown) lead += advantage * ((shown[i] < shown[j]) - (shown[i] > shown[j]));
                        double expected = 1 / (1 + std::exp(-rate * lead));
                        double result = g.tier[i] < g.tier[j] ? 1.0 : 0.5;
                        surprise -= part * (result * std::log(expected) + (1 - result) * std::log1p(-expected));
                        double points = part * stake / opponents * (result - expected);
                        if (factor) points *= factor[b];
                        if (correction > 0) points *= shrunk_by_lead(lead, result == 0.5, correction);
                        change[i - from] += points;
                        change[j - from] -= points;
                    }
                for (size_t k = 0; k < m; ++k) {
                    rating[g.slot[from + static_cast<int64_t>(k)]] += change[k];
                    games[g.slot[from + static_cast<int64_t>(k)]] += part;
                }
                if (has_trail)
                    for (int64_t i = from; i < to; ++i) trail[i] = rating[g.slot[i]];
            }
        }
    }
    return nb::make_tuple(rating.give(), games.give(), -surprise, trail.give());
}

inline double density(double x) { return 0.39894228040143267794 * std::exp(-0.5 * x * x); }
inline double normal(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }

// Mean shift and variance shrink of a standard normal difference truncated by a win (above the margin).
inline void win_moments(double t, double &v, double &w) {
    double mass = normal(t);
    v = mass > 1e-300 ? density(t) / mass : -t;
    w = std::min(1.0, std::max(0.0, v * (v + t)));
}

// The same for a draw: the difference lies within the margin e of zero; t may have either sign.
inline void draw_moments(double t, double e, double &v, double &w) {
    double far = std::abs(t), sign = t < 0 ? -1.0 : 1.0;
    double mass = normal(e - far) - normal(-e - far);
    if (mass < 1e-300 || e <= 0) {
        v = sign * (e - far);
        w = 1.0;
        return;
    }
    double high = density(e - far), low = density(-e - far);
    v = sign * (low - high) / mass;
    w = std::min(1.0, std::max(0.0, v * v + ((e - far) * high + (e + far) * low) / mass));
}

constexpr double SETTLED = 1e-9; // how little messages may move at the end

struct Factor { // performance of `up` minus that of `down` exceeds the margin, or stays within it
    size_t up, down;
    bool is_draw;
    double margin;
    double pi_up, tau_up, pi_down, tau_down; // messages to the two performances, in natural parameters
};

// One game: its sides (items, or teams of them, whose performance is the sum of their members') and who meets whom.
struct Skill {
    double margin, noise; // of one difference between two items' performances, of one performance (variance)
    std::vector<double> pi, tau, prior_pi, prior_tau;
    std::vector<Factor> factors;
    size_t sides;
    const int32_t *tier;                 // of every side
    std::vector<int32_t> team_tier;      // where the sides are teams, and else empty:
    std::vector<double> mean, var, size; // of their performance before the game; how many items they have

    // A sum of performances varies more: the share of draws between equal sides stays as it is.
    void meet(size_t up, size_t down, bool is_draw) {
        double wide = size.empty() ? margin : margin * std::sqrt((size[up] + size[down]) / 2);
        factors.push_back({up, down, is_draw, wide, 0, 0, 0, 0});
    }

    // Take the sides of a ballot: its items, or teams of them.
    void seat(const int32_t *level, const int32_t *team, size_t items) {
        sides = items;
        tier = level;
        if (!team || !items) return;
        sides = 1 + static_cast<size_t>(*std::max_element(team, team + items));
        team_tier.assign(sides, 0);
        size.assign(sides, 0.0);
        for (size_t k = 0; k < items; ++k) {
            team_tier[static_cast<size_t>(team[k])] = level[k];
            size[static_cast<size_t>(team[k])] += 1;
        }
        tier = team_tier.data();
    }

    bool has_ties() const {
        for (size_t k = 1; k < sides; ++k)
            if (tier[k] == tier[k - 1]) return true;
        return false;
    }

    // Returns how far the messages moved.
    double pass(Factor &f, double damping, bool is_deferred, double *delta) {
        double pu = pi[f.up] - f.pi_up, tu = tau[f.up] - f.tau_up;
        double pd = pi[f.down] - f.pi_down, td = tau[f.down] - f.tau_down;
        double mean_up = tu / pu, mean_down = td / pd, var = 1 / pu + 1 / pd, sd = std::sqrt(var);
        double v, w, t = (mean_up - mean_down) / sd, e = f.margin / sd;
        if (f.is_draw) draw_moments(t, e, v, w);
        else win_moments(t - e, v, w);
        w = std::min(w, 1 - 1e-10);
        // The difference's likelihood message: precision and mean times precision.
        double c = 1 / var, d = (mean_up - mean_down) / var, shrink = 1 - w;
        double pi_diff = c / shrink - c, tau_diff = (d + std::sqrt(c) * v) / shrink - d;
        double message_pi, message_tau, moved = 0;
        auto send = [&](double other_pi, double other_tau, double sign, double &old_pi, double &old_tau, size_t to,
                        size_t place) {
            // up = down + difference: add the variances of the two sides.
            double other_var = 1 / other_pi, other_mean = other_tau / other_pi;
            if (pi_diff <= 0) {
                message_pi = message_tau = 0;
            } else {
                double mean = other_mean + sign * tau_diff / pi_diff;
                message_pi = 1 / (other_var + 1 / pi_diff);
                message_tau = mean * message_pi;
            }
            message_pi = old_pi + damping * (message_pi - old_pi);
            message_tau = old_tau + damping * (message_tau - old_tau);
            moved = std::max(moved, std::abs(message_tau - old_tau) + std::abs(message_pi - old_pi));
            if (is_deferred) {
                delta[2 * place] = message_pi - old_pi;
                delta[2 * place + 1] = message_tau - old_tau;
            } else {
                pi[to] += message_pi - old_pi;
                tau[to] += message_tau - old_tau;
            }
            old_pi = message_pi;
            old_tau = message_tau;
        };
        send(pd, td, 1.0, f.pi_up, f.tau_up, f.up, 0);
        send(pu, tu, -1.0, f.pi_down, f.tau_down, f.down, 1);
        return moved;
    }
};

// Who meets whom along a chain: every side meets the next one, as a draw inside a tier and a win across; the last named
// side beats each of an open tier, whose sides do not meet. No loops, so messages passed down and up are exact.
void lay_out_chain(Skill &game, bool is_open) {
    const int32_t *tier = game.tier;
    size_t n = game.sides, open = n; // where an open last tier starts
    if (is_open)
        while (open > 0 && tier[open - 1] == tier[n - 1]) --open;
    game.factors.clear();
    for (size_t j = 1; j < n && open > 0; ++j) {
        size_t i = std::min(j, open) - 1;
        game.meet(i, j, tier[i] == tier[j]);
    }
}

// Who meets whom with all pairs: a win over everyone in the next tier, a draw with everyone in the same one.
void lay_out_pairs(Skill &game, bool is_open) {
    const int32_t *tier = game.tier;
    size_t n = game.sides;
    game.factors.clear();
    for (size_t start = 0; start < n;) {
        size_t stop = start, end;
        while (stop < n && tier[stop] == tier[start]) ++stop;
        end = stop;
        while (end < n && tier[end] == tier[stop]) ++end;
        for (size_t i = start; i < stop; ++i) {
            if (!is_open || stop < n)
                for (size_t j = i + 1; j < stop; ++j) game.meet(i, j, true);
            for (size_t j = stop; j < end; ++j) game.meet(i, j, false);
        }
        start = stop;
    }
}

// `team` is the number of every entry's side inside its ballot, in order of appearance; empty where items stand alone.
nb::tuple trueskill_stream(BallotArrays ballots, In<int32_t> team, double mean, double sigma, double beta, double drift,
                           double margin, bool all_pairs, bool has_trail) {
    Ballots g(ballots);
    Buffer<double> mu(g.slots, mean), sd(g.slots, sigma);
    size_t kept = has_trail ? entries(g) : 0;
    Buffer<double> trail(kept, std::nan("")), trail_sd(kept, std::nan(""));
    {
        nb::gil_scoped_release unlocked;
        Skill skill;
        skill.margin = margin;
        skill.noise = beta * beta;
        std::vector<double> delta;
        Interrupts interrupts;
        for (size_t b = 0; b < g.n; ++b) {
            int64_t from = g.indptr[b];
            size_t m = static_cast<size_t>(g.indptr[b + 1] - from);
            const int32_t *side_of = team.size() ? team.data() + from : nullptr;
            skill.seat(g.tier + from, side_of, m);
            size_t n = skill.sides;
            if (n < 2) continue;
            for (double left = g.weight[b]; left > 1e-12; left -= 1) {
                double part = std::min(left, 1.0);
                bool is_chain = !all_pairs || !skill.has_ties() || n == 2;
                if (is_chain) lay_out_chain(skill, g.is_open[b]);
                else lay_out_pairs(skill, g.is_open[b]);
                skill.pi.assign(n, 0.0);
                skill.tau.assign(n, 0.0);
                skill.mean.assign(side_of ? n : 0, 0.0);
                skill.var.assign(side_of ? n : 0, 0.0);
                for (size_t k = 0; k < m; ++k) {
                    size_t slot = static_cast<size_t>(g.slot[from + static_cast<int64_t>(k)]);
                    sd[slot] = std::sqrt(sd[slot] * sd[slot] + part * drift * drift);
                    double var = sd[slot] * sd[slot] + skill.noise;
                    if (side_of) {
                        skill.mean[side_of[k]] += mu[slot];
                        skill.var[side_of[k]] += var;
                    } else {
                        skill.pi[k] = 1 / var;
                        skill.tau[k] = mu[slot] * skill.pi[k];
                    }
                }
                for (size_t side = 0; side < skill.mean.size(); ++side) {
                    skill.pi[side] = 1 / skill.var[side];
                    skill.tau[side] = skill.mean[side] * skill.pi[side];
                }
                skill.prior_pi = skill.pi;
                skill.prior_tau = skill.tau;
                size_t f = skill.factors.size();
                delta.resize(4 * f);
                for (int sweep = 0; sweep < (f == 1 ? 1 : 400); ++sweep) {
                    double moved = 0;
                    interrupts.poll(256 * f);
                    if (is_chain) { // down and up again, each message at once: exact after few sweeps
                        for (size_t k = 0; k < f; ++k) moved = std::max(moved, skill.pass(skill.factors[k], 1.0, false, nullptr));
                        for (size_t k = f; k-- > 0;) moved = std::max(moved, skill.pass(skill.factors[k], 1.0, false, nullptr));
                    } else { // all at once, so that the order of tied items cannot matter
                        double damping = 1.0 / static_cast<double>(n);
                        for (size_t k = 0; k < f; ++k)
                            moved = std::max(moved, skill.pass(skill.factors[k], damping, true, delta.data() + 4 * k));
                        for (size_t k = 0; k < f; ++k) {
                            const Factor &x = skill.factors[k];
                            skill.pi[x.up] += delta[4 * k];
                            skill.tau[x.up] += delta[4 * k + 1];
                            skill.pi[x.down] += delta[4 * k + 2];
                            skill.tau[x.down] += delta[4 * k + 3];
                        }
                    }
                    if (moved < SETTLED) break;
                }
                for (size_t k = 0; k < m; ++k) {
                    size_t slot = static_cast<size_t>(g.slot[from + static_cast<int64_t>(k)]);
                    size_t side = side_of ? static_cast<size_t>(side_of[k]) : k;
                    double pi = skill.pi[side] - skill.prior_pi[side], tau = skill.tau[side] - skill.prior_tau[side];
                    if (!(pi > 0)) continue;
                    // What the games say of the side's performance, less what its other members show, seen through the
                    // noise of one performance.
                    double shown = tau / pi, var = 1 / pi;
                    if (side_of) {
                        shown -= skill.mean[side] - mu[slot];
                        var += skill.var[side] - (sd[slot] * sd[slot] + skill.noise);
                    }
                    double own = 1 / (sd[slot] * sd[slot]), seen = part / (skill.noise + var);
                    mu[slot] = (mu[slot] * own + shown * seen) / (own + seen);
                    sd[slot] = std::sqrt(1 / (own + seen));
                }
                if (has_trail)
                    for (int64_t i = from; i < g.indptr[b + 1]; ++i) {
                        trail[i] = mu[g.slot[i]];
                        trail_sd[i] = sd[g.slot[i]];
                    }
            }
        }
    }
    return nb::make_tuple(mu.give(), sd.give(), trail.give(), trail_sd.give());
}

} // namespace

void bind_streams(nb::module_ &m) {
    m.def("elo_stream", &elo_stream, "ballots"_a.noconvert(), "order"_a.noconvert(), "game_factor"_a.noconvert(),
          "start"_a, "stake"_a, "scale"_a, "advantage"_a, "correction"_a, "has_trail"_a);
    m.def("trueskill_stream", &trueskill_stream, "ballots"_a.noconvert(), "team"_a.noconvert(), "mean"_a, "sigma"_a,
          "beta"_a, "drift"_a, "margin"_a, "all_pairs"_a, "has_trail"_a);
}
