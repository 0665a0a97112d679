#include "llm/steer.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a child may do against its parent: stay, or one level up or down in one dimension. */
enum { STAY, N_MOVES = 1 + 2 * BEHAVIOUR_DIMS };

/* A transition's weight halves with this many attempts after it: what helped a weak parent says little of a strong
 * one. */
static const double HALF_LIFE = 24;
/* Departures from a cell's neighbourhood after which its own gradient is believed as much as the prior. */
static const double BELIEF = 6;
static const double WEIGHT_FITNESS = 0.4, WEIGHT_RATE = 0.4, WEIGHT_EXPLORE = 0.2;

typedef struct rules {
    /* Weights of parents fall by e for this part of the way from the mean elite to the best: 1 / sharpness. */
    double sharpness;
    double explore; /* share of choices that leave the best alone and take any occupied cell */
    bool by_elite;  /* a new elite is fresh, however often its cell was a parent */
    bool centred;   /* gradients of fitness are against what children gain on the whole */
} rules;
/* What a simulation said of them: docs/benchmarks.md, "What steering is worth". */
#define BY_ELITE \
    { \
        .sharpness = 6, .explore = 0.1, .by_elite = true, .centred = true \
    }
static const rules rules_table[STEER_RULES] = {{.sharpness = 2, .explore = 0.15}, BY_ELITE, BY_ELITE, BY_ELITE};

/* Weight of a move for every attempt that is out on the same one from the same cell. */
static const double ALREADY_OUT = 0.25;

typedef struct errand {
    int parent, target;
    uint64_t ordinal;
} errand;

struct steer {
    steer_options o;
    const rules *rules;
    transition *all;
    size_t n, capacity;
    errand *out; /* asked for, not ended */
    size_t n_out, out_capacity;
};

steer *steer_new(const steer_options *o)
{
    steer *s = mem_calloc(1, sizeof *s);
    s->o = *o;
    s->rules = &rules_table[(o->rules >= 1 && o->rules <= STEER_RULES ? o->rules : STEER_RULES) - 1];
    return s;
}

void steer_free(steer *s)
{
    if (!s)
        return;
    free(s->all);
    free(s->out);
    free(s);
}

void steer_learn(steer *s, const archive *a, const transition *t)
{
    (void)a;
    s->all = mem_grow(s->all, &s->capacity, s->n + 1, sizeof *s->all);
    s->all[s->n++] = *t;
}

/* As behaviour_of_cell, for one dimension: distances are taken for every cell and transition. */
static int level_of(int cell, int d)
{
    static const int place[BEHAVIOUR_DIMS] = {BEHAVIOUR_LEVELS * BEHAVIOUR_LEVELS, BEHAVIOUR_LEVELS, 1};
    return cell / place[d] % BEHAVIOUR_LEVELS;
}

void steer_out(steer *s, const steer_choice *c, uint64_t ordinal)
{
    s->out = mem_grow(s->out, &s->out_capacity, s->n_out + 1, sizeof *s->out);
    s->out[s->n_out++] = (errand){.parent = c->parent_cell, .target = c->target_cell, .ordinal = ordinal};
}

void steer_done(steer *s, uint64_t ordinal)
{
    for (size_t i = 0; i < s->n_out; i++) {
        if (s->out[i].ordinal == ordinal) {
            s->out[i] = s->out[--s->n_out];
            return;
        }
    }
}

/* What attempts that are out leave of a target's weight. */
static double share_left(const steer *s, int parent, int target)
{
    double share = 1;
    for (size_t i = 0; i < s->n_out; i++)
        share *= s->out[i].parent == parent && s->out[i].target == target ? ALREADY_OUT : 1;
    return share;
}

static int distance(int from, int to)
{
    int sum = 0;
    for (int d = 0; d < BEHAVIOUR_DIMS; d++)
        sum += abs(level_of(from, d) - level_of(to, d));
    return sum;
}

static int sign(int x)
{
    return (x > 0) - (x < 0);
}

/* Weight of a transition as evidence about departures from `cell`: by age, and by how far away it began. */
static double relevance(const transition *t, int cell, uint64_t now)
{
    double age = now > t->ordinal ? (double)(now - t->ordinal) : 0;
    return exp2(-age / HALF_LIFE) / (double)(1 << distance(t->from, cell));
}

/* The three gradients at a cell, each within -1..1 per dimension, and how much evidence there is (a weight). */
typedef struct gradients {
    double fitness[BEHAVIOUR_DIMS], rate[BEHAVIOUR_DIMS], explore[BEHAVIOUR_DIMS];
    double evidence;
} gradients;

static void fitness_and_rate(const steer *s, int cell, uint64_t now, gradients *g)
{
    double sum[BEHAVIOUR_DIMS] = {0}, steps[BEHAVIOUR_DIMS] = {0}, weight[BEHAVIOUR_DIMS] = {0};
    double spread = 0, total = 0, gained = 0, right = 0;
    double won[BEHAVIOUR_DIMS][2] = {{0}}, tried[BEHAVIOUR_DIMS][2] = {{0}};
    for (size_t i = 0; i < s->n; i++) {
        const transition *t = &s->all[i];
        if (t->from < 0)
            continue;
        double w = relevance(t, cell, now), delta = t->child_fitness - t->parent_fitness;
        int to = t->to >= 0 ? t->to : t->target; /* a failed child tried to go where it was sent */
        total += w;
        if (to < 0)
            continue;
        if (t->to >= 0) {
            gained += w * delta;
            right += w;
        }
        behaviour x = behaviour_of_cell(t->from), y = behaviour_of_cell(to);
        for (int d = 0; d < BEHAVIOUR_DIMS; d++) {
            int step = sign(y.level[d] - x.level[d]);
            if (!step)
                continue;
            /* A failure is no measure of the direction: it counts in the rate only. */
            if (t->to >= 0) {
                sum[d] += w * step * delta;
                steps[d] += w * step;
                weight[d] += w;
                spread += w * fabs(delta);
            }
            tried[d][step > 0] += w;
            won[d][step > 0] += t->to >= 0 && delta > 0 ? w : 0;
        }
    }
    double centre = s->rules->centred && right > 0 ? gained / right : 0;
    double weights = weight[0] + weight[1] + weight[2], scale = weights > 0 ? spread / weights : 0;
    for (int d = 0; d < BEHAVIOUR_DIMS; d++) {
        /* Against what a child gains on the whole: children of the best are worse than it wherever they go, and a
         * direction that is taken more often than its opposite must not lose by that. */
        double mean = weight[d] > 0 ? (sum[d] - centre * steps[d]) / (weight[d] + 1) : 0;
        g->fitness[d] = scale > 0 ? fmax(-1, fmin(1, mean / scale)) : 0;
        /* P(better | up) - P(better | down), each shrunk towards one half by one trial. */
        g->rate[d] = (won[d][1] + 0.5) / (tried[d][1] + 1) - (won[d][0] + 0.5) / (tried[d][0] + 1);
    }
    g->evidence = total;
}

/* Pull of cells that are empty or far below the best, by nearness; of length 1. */
static void exploration(const archive *a, int cell, double best, gradients *g)
{
    behaviour here = behaviour_of_cell(cell);
    double length = 0;
    for (int other = 0; other < BEHAVIOUR_CELLS; other++) {
        if (other == cell)
            continue;
        const elite *e = archive_cell(a, other);
        double want = e->occupied ? fmin(1, fmax(0, best - e->best.fitness)) : 1;
        behaviour there = behaviour_of_cell(other);
        int far = distance(cell, other);
        for (int d = 0; d < BEHAVIOUR_DIMS; d++)
            g->explore[d] += want * sign(there.level[d] - here.level[d]) / (double)(far * far);
    }
    for (int d = 0; d < BEHAVIOUR_DIMS; d++)
        length += g->explore[d] * g->explore[d];
    for (int d = 0; d < BEHAVIOUR_DIMS; d++)
        g->explore[d] = length > 0 ? g->explore[d] / sqrt(length) : 0;
}

static gradients gradients_at(const steer *s, const archive *a, int cell, uint64_t now)
{
    gradients g = {{0}, {0}, {0}, 0};
    const elite *best = archive_best(a);
    fitness_and_rate(s, cell, now, &g);
    exploration(a, cell, best ? best->best.fitness : 1, &g);
    return g;
}

/* How often children left this cell for the better, shrunk towards the rate of all cells. */
static double improvement_rate(const steer *s, int cell, uint64_t now)
{
    double won = 0, tried = 0, all_won = 0, all_tried = 0;
    for (size_t i = 0; i < s->n; i++) {
        const transition *t = &s->all[i];
        if (t->from < 0)
            continue;
        double w = relevance(t, cell, now);
        bool better = t->to >= 0 && t->child_fitness > t->parent_fitness;
        all_tried += 1;
        all_won += better;
        if (t->from == cell) {
            tried += w;
            won += better ? w : 0;
        }
    }
    double prior = (all_won + 0.5) / (all_tried + 1);
    return (won + 2 * prior) / (tried + 2);
}

/* Draws an index by weights, `u` uniform in 0..1; -1 when they are all zero. */
static int draw(const double *weights, int n, double u)
{
    double sum = 0;
    int last = -1;
    for (int i = 0; i < n; i++)
        sum += weights[i];
    for (int i = 0; i < n && sum > 0; i++) {
        if (!(weights[i] > 0))
            continue;
        last = i;
        u -= weights[i] / sum;
        if (u < 0)
            break;
    }
    return last;
}

/* Fitness is in units of its own. */
static int choose_parent(const steer *s, const archive *a, uint64_t now, double u_explore, double u)
{
    double weights[BEHAVIOUR_CELLS] = {0}, best = archive_best(a)->best.fitness, mean = 0;
    size_t n = archive_occupied(a);
    for (int i = 0; i < BEHAVIOUR_CELLS; i++)
        mean += archive_cell(a, i)->occupied ? archive_cell(a, i)->best.fitness / (double)n : 0;
    double unit = fmax(0.05, (best - mean) / s->rules->sharpness);
    for (int i = 0; i < BEHAVIOUR_CELLS; i++) {
        const elite *e = archive_cell(a, i);
        if (!e->occupied)
            continue;
        weights[i] = u_explore < s->rules->explore ? 1 : exp((e->best.fitness - best) / unit);
        if (s->o.gradient)
            weights[i] *= 0.25 + improvement_rate(s, i, now);
        /* Parents that were asked often without result give way to others. */
        weights[i] /= sqrt(1 + (double)(s->rules->by_elite ? e->tries : e->visits));
    }
    return draw(weights, BEHAVIOUR_CELLS, u);
}

/* Share of the targets one step this way (dimension, up or down) that were reached, shrunk towards one half. */
static double hit_rate(const steer *s, int d, int step)
{
    double hit = 1, asked = 2;
    for (size_t i = 0; i < s->n; i++) {
        const transition *t = &s->all[i];
        if (t->target < 0 || t->from < 0)
            continue;
        int wanted = behaviour_of_cell(t->target).level[d] - behaviour_of_cell(t->from).level[d];
        if (sign(wanted) != step)
            continue;
        asked += 1;
        hit += t->to >= 0 && sign(behaviour_of_cell(t->to).level[d] - behaviour_of_cell(t->from).level[d]) == step;
    }
    return hit / asked;
}

/* Tiles in local memory without a barrier, and barriers without local memory. On the way up one brings the other along;
 * on the way down there is no such kernel to ask for. */
static bool contradicts(const behaviour *b)
{
    const int memory = b->level[BEHAVIOUR_MEMORY], parallelism = b->level[BEHAVIOUR_PARALLELISM];
    return (memory >= 2 && parallelism == 0) || (memory < 2 && parallelism == 1);
}

static int move_of(int d, int step)
{
    return 1 + 2 * d + (step > 0);
}

static const char *const move_names[N_MOVES] = {"improve within the cell", "lower memory",  "raise memory",
                                                "lower compute",           "raise compute", "lower parallelism",
                                                "raise parallelism"};

static void choose_target(const steer *s, const gradients *g, steer_choice *c, double u)
{
    double weights[N_MOVES] = {0}, known = g->evidence / (g->evidence + BELIEF);
    behaviour here = behaviour_of_cell(c->parent_cell);
    weights[STAY] = share_left(s, c->parent_cell, c->parent_cell);
    for (int d = 0; d < BEHAVIOUR_DIMS; d++) {
        for (int step = -1; step <= 1; step += 2) {
            int level = here.level[d] + step;
            if (level < 0 || level >= BEHAVIOUR_LEVELS)
                continue;
            behaviour there = here;
            there.level[d] = level;
            if (step < 0 && contradicts(&there))
                continue;
            /* Without evidence more optimisation is the better guess than less. */
            double logit = step > 0 ? 0 : -1.5;
            if (s->o.gradient) {
                double pull = WEIGHT_FITNESS * g->fitness[d] + WEIGHT_RATE * g->rate[d];
                logit = (1 - known) * logit + known * 4 * step * pull + 2 * WEIGHT_EXPLORE * step * g->explore[d];
            }
            weights[move_of(d, step)] =
                exp(logit) * 2 * hit_rate(s, d, step) * share_left(s, c->parent_cell, behaviour_cell(&there));
        }
    }
    int move = draw(weights, N_MOVES, u);
    behaviour target = here;
    if (move > STAY)
        target.level[(move - 1) / 2] += (move - 1) % 2 ? 1 : -1;
    c->target_cell = behaviour_cell(&target);
    c->move = move_names[move];
}

/* The best of other cells, those near the target first: what a crossover could take from. */
static void choose_inspirations(const archive *a, steer_choice *c)
{
    int around = c->target_cell >= 0 ? c->target_cell : c->parent_cell;
    for (size_t k = 0; k < sizeof c->inspirations / sizeof *c->inspirations; k++) {
        int best = -1;
        double best_score = -INFINITY;
        for (int i = 0; i < BEHAVIOUR_CELLS; i++) {
            const elite *e = archive_cell(a, i);
            bool taken = i == c->parent_cell;
            for (size_t j = 0; j < k; j++)
                taken |= c->inspirations[j] == i ||
                         strcmp(archive_cell(a, c->inspirations[j])->best.template_hash, e->best.template_hash) == 0;
            if (!e->occupied || taken ||
                strcmp(e->best.template_hash, archive_cell(a, c->parent_cell)->best.template_hash) == 0)
                continue;
            double score = e->best.fitness - 0.1 * distance(i, around);
            if (score > best_score) {
                best_score = score;
                best = i;
            }
        }
        if (best < 0)
            return;
        c->inspirations[k] = best;
    }
}

steer_choice steer_choose(steer *s, const archive *a, uint64_t ordinal)
{
    steer_choice c = {.parent_cell = -1, .target_cell = -1, .inspirations = {-1, -1, -1}, .move = "write from scratch"};
    if (archive_occupied(a) == 0)
        return c;
    enum { STREAM = 1 };
    double u[3];
    for (uint64_t i = 0; i < 3; i++)
        u[i] = counter_rng_unit(s->o.seed + STREAM, ordinal, i);
    if (s->o.archive)
        c.parent_cell = choose_parent(s, a, ordinal, u[0], u[1]);
    else
        c.parent_cell = behaviour_cell(&archive_best(a)->best.where);
    c.move = "improve";
    gradients g = gradients_at(s, a, c.parent_cell, ordinal);
    c.confidence = s->o.gradient ? g.evidence / (g.evidence + BELIEF) : 0;
    for (int d = 0; d < BEHAVIOUR_DIMS && s->o.gradient; d++)
        c.gradient[d] = WEIGHT_FITNESS * g.fitness[d] + WEIGHT_RATE * g.rate[d] + WEIGHT_EXPLORE * g.explore[d];
    if (s->o.targets)
        choose_target(s, &g, &c, u[2]);
    choose_inspirations(a, &c);
    return c;
}

steer_report steer_report_of(const steer *s)
{
    steer_report r = {0, 0, 0, 0, 0};
    for (size_t i = 0; i < s->n; i++) {
        const transition *t = &s->all[i];
        r.total++;
        r.improved += t->to >= 0 && t->child_fitness > t->parent_fitness;
        if (t->target < 0)
            continue;
        r.asked++;
        r.hit += t->to == t->target;
        r.nearer += t->to >= 0 && t->from >= 0 &&
                    (t->to == t->target || distance(t->to, t->target) < distance(t->from, t->target));
    }
    return r;
}
