/* Quality of the made-up ones: an NK landscape (Kauffman and Weinberger 1989) of eight loci with four alleles, a sum of
 * terms for single loci and for pairs. Three loci are the levels of behaviour. Scaled so that the plain kernel has
 * fitness 1 and the best of all has TOP. */
#include "bench/evolve_landscape.h"

#include "base/counter_rng.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOP 2.2
#define LEAST 0.5 /* of a right template: llm/trial.c */
#define PAIRS 8

const char *const landscape_names[LANDSCAPES] = {"cells", "valley", "blind", "recorded"};

typedef struct pair {
    int a, b;
    double value[ALLELES][ALLELES];
} pair;

/* What recorded runs say. */
typedef struct record {
    double cell[BEHAVIOUR_CELLS]; /* expected fitness */
    double *rest;                 /* of right candidates: fitness less their cell's */
    size_t n_rest;
    double *failed; /* fitness of those that were not right */
    size_t n_failed, n_right;
    double kept;        /* how much of a parent's rest a child keeps, 0..1 */
    double hit;         /* share of the right ones that reached a target other than the parent's cell */
    double least, most; /* of rest */
} record;

struct landscape {
    landscape_kind kind;
    uint64_t seed;
    double single[LOCI][ALLELES], basin[BEHAVIOUR_CELLS];
    pair pairs[PAIRS];
    size_t n_pairs;
    individual start;
    double raw_start, raw_best;
    record r;
};

double draw_unit(uint64_t seed, uint64_t stream, uint64_t i)
{
    return counter_rng_unit(seed + 1000003, stream, i);
}

double draw_normal(uint64_t seed, uint64_t stream, uint64_t i)
{
    double u = draw_unit(seed, stream, 2 * i), v = draw_unit(seed, stream, 2 * i + 1);
    return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

int individual_cell(const individual *x)
{
    behaviour b = {.level = {x->locus[0], x->locus[1], x->locus[2]}};
    return behaviour_cell(&b);
}

bool individual_same(const individual *a, const individual *b)
{
    return memcmp(a->locus, b->locus, sizeof a->locus) == 0 && !(a->rest < b->rest) && !(a->rest > b->rest);
}

static int distance(int x, int y)
{
    behaviour a = behaviour_of_cell(x), b = behaviour_of_cell(y);
    int sum = 0;
    for (int d = 0; d < BEHAVIOUR_DIMS; d++)
        sum += abs(a.level[d] - b.level[d]);
    return sum;
}

/* ---- made-up ones ---- */

enum { STREAM_TABLES = 1, STREAM_PAIRS, STREAM_BASINS, STREAM_MODEL = 1000 };

static double raw(const landscape *l, const individual *x)
{
    double sum = l->kind == LANDSCAPE_VALLEY ? l->basin[individual_cell(x)] : 0;
    for (int i = 0; i < LOCI; i++)
        sum += l->single[i][x->locus[i]];
    for (size_t k = 0; k < l->n_pairs; k++)
        sum += l->pairs[k].value[x->locus[l->pairs[k].a]][x->locus[l->pairs[k].b]];
    return sum;
}

static void add_pair(landscape *l, int a, int b, double weight)
{
    pair *p = &l->pairs[l->n_pairs];
    *p = (pair){.a = a, .b = b};
    for (int i = 0; i < ALLELES * ALLELES; i++)
        p->value[i / ALLELES][i % ALLELES] =
            weight * draw_unit(l->seed, STREAM_PAIRS, l->n_pairs * ALLELES * ALLELES + (uint64_t)i);
    l->n_pairs++;
}

static int draw_below(int n, uint64_t seed, uint64_t stream, uint64_t i)
{
    return (int)(draw_unit(seed, stream, i) * n);
}

/* Single terms: of the levels rising (more of an optimisation is better on the whole), of hidden loci random. */
static void fill_single(landscape *l, double rise, double levels, double hidden)
{
    for (int i = 0; i < LOCI * ALLELES; i++) {
        double u = draw_unit(l->seed, STREAM_TABLES, (uint64_t)i);
        int locus = i / ALLELES, allele = i % ALLELES;
        l->single[locus][allele] = locus < BEHAVIOUR_DIMS ? rise * allele + levels * u : hidden * u;
    }
}

static void fill_pairs(landscape *l)
{
    static const double weight = 0.4;
    for (int h = 0; h < HIDDEN; h++) {
        int other =
            l->kind == LANDSCAPE_BLIND
                ? BEHAVIOUR_DIMS + (h + 1 + draw_below(HIDDEN - 1, l->seed, STREAM_BASINS, (uint64_t)h)) % HIDDEN
                : draw_below(BEHAVIOUR_DIMS, l->seed, STREAM_BASINS, (uint64_t)h);
        add_pair(l, BEHAVIOUR_DIMS + h, other, weight);
    }
    for (int d = 0; d < BEHAVIOUR_DIMS && l->kind == LANDSCAPE_CELLS; d++)
        add_pair(l, d, (d + 1) % BEHAVIOUR_DIMS, weight);
}

/* A good cell two or three steps from the plain kernel, a better one at least four steps from that. */
static void fill_basins(landscape *l)
{
    int near = 0, far = 0, plain = 0;
    uint64_t i = 100;
    do
        near = draw_below(BEHAVIOUR_CELLS, l->seed, STREAM_BASINS, i++);
    while (distance(plain, near) < 2 || distance(plain, near) > 3);
    do
        far = draw_below(BEHAVIOUR_CELLS, l->seed, STREAM_BASINS, i++);
    while (distance(near, far) < 4);
    for (int c = 0; c < BEHAVIOUR_CELLS; c++)
        l->basin[c] = 1.5 * fmax(0.6 * exp(-distance(c, near) / 1.5), exp(-distance(c, far) / 1.5));
}

static void find_best(landscape *l)
{
    l->raw_best = -INFINITY;
    for (int code = 0; code < 1 << (2 * LOCI); code++) {
        individual x = {.rest = 0};
        for (int i = 0; i < LOCI; i++)
            x.locus[i] = code >> (2 * i) & 3;
        l->raw_best = fmax(l->raw_best, raw(l, &x));
    }
}

static void make_up(landscape *l)
{
    switch (l->kind) {
    case LANDSCAPE_CELLS:
        fill_single(l, 0.22, 0.5, 0.4);
        break;
    case LANDSCAPE_VALLEY:
        fill_single(l, 0, 0, 0.4);
        fill_basins(l);
        break;
    case LANDSCAPE_BLIND:
    case LANDSCAPE_RECORDED:
    case LANDSCAPES:
        fill_single(l, 0, 0, 0.8);
        break;
    }
    fill_pairs(l);
    /* The plain kernel: no level, and of every hidden thing the worst. */
    for (int i = BEHAVIOUR_DIMS; i < LOCI; i++) {
        for (int a = 1; a < ALLELES; a++) {
            if (l->single[i][a] < l->single[i][l->start.locus[i]])
                l->start.locus[i] = a;
        }
    }
    l->raw_start = raw(l, &l->start);
    find_best(l);
}

/* ---- recorded ones ---- */

/* Expected fitness of a cell: mean of the right candidates, shrunk by one towards cells around it. */
static void fill_cells(landscape *l, const recorded_run *runs, size_t n_runs)
{
    double sum[BEHAVIOUR_CELLS] = {0}, n[BEHAVIOUR_CELLS] = {0};
    for (size_t i = 0; i < n_runs; i++) {
        if (runs[i].base_cell >= 0) {
            sum[runs[i].base_cell] += runs[i].base_fitness;
            n[runs[i].base_cell]++;
        }
        for (size_t k = 0; k < runs[i].n; k++) {
            const recorded_attempt *a = &runs[i].attempts[k];
            if (a->right && a->to >= 0) {
                sum[a->to] += a->fitness;
                n[a->to]++;
            }
        }
    }
    for (int c = 0; c < BEHAVIOUR_CELLS; c++) {
        double around = 0, weight = 0;
        for (int other = 0; other < BEHAVIOUR_CELLS; other++) {
            double w = n[other] / (double)(1 << (2 * distance(c, other)));
            around += w > 0 ? w * sum[other] / n[other] : 0;
            weight += w;
        }
        l->r.cell[c] = (sum[c] + around / weight) / (n[c] + 1);
    }
}

/* What is left beyond the cell, and how much of it is passed on: least squares through the origin. */
static void fill_rest(landscape *l, const recorded_run *runs, size_t n_runs)
{
    record *r = &l->r;
    double xy = 0, xx = 0, hit = 1, moves = 2;
    size_t most = 2;
    for (size_t i = 0; i < n_runs; i++)
        most += runs[i].n;
    r->rest = mem_calloc(most, sizeof *r->rest);
    r->failed = mem_calloc(most, sizeof *r->failed);
    for (size_t i = 0; i < n_runs; i++) {
        for (size_t k = 0; k < runs[i].n; k++) {
            const recorded_attempt *a = &runs[i].attempts[k];
            if (a->duplicate)
                continue;
            if (!a->right || a->to < 0) {
                r->failed[r->n_failed++] = isnan(a->fitness) ? 0 : a->fitness;
                continue;
            }
            double rest = a->fitness - r->cell[a->to];
            r->rest[r->n_rest++] = rest;
            r->least = fmin(r->least, rest);
            r->most = fmax(r->most, rest);
            if (a->from >= 0 && !isnan(a->parent_fitness)) {
                double before = a->parent_fitness - r->cell[a->from];
                xy += before * rest;
                xx += before * before;
            }
            if (a->from >= 0 && a->target >= 0 && a->target != a->from) {
                moves++;
                hit += a->to == a->target;
            }
        }
    }
    r->n_right = r->n_rest;
    r->kept = xx > 0 ? fmax(0, fmin(1, xy / xx)) : 0;
    r->hit = hit / moves;
}

static double first_base(const recorded_run *runs, size_t n_runs, int *cell)
{
    for (size_t i = 0; i < n_runs; i++) {
        if (runs[i].base_cell >= 0) {
            *cell = runs[i].base_cell;
            return runs[i].base_fitness;
        }
    }
    return 1;
}

static bool from_record(landscape *l, const recorded_run *runs, size_t n_runs)
{
    fill_cells(l, runs, n_runs);
    fill_rest(l, runs, n_runs);
    if (l->r.n_right == 0)
        return false;
    int cell = 0;
    double base = first_base(runs, n_runs, &cell);
    behaviour b = behaviour_of_cell(cell);
    memcpy(l->start.locus, b.level, sizeof b.level);
    l->start.rest = base - l->r.cell[cell];
    /* The plain kernel is a template like others: what it has, a child may have. */
    l->r.rest[l->r.n_rest++] = l->start.rest;
    l->r.least = fmin(l->r.least, l->start.rest);
    l->r.most = fmax(l->r.most, l->start.rest);
    return true;
}

landscape *landscape_new(landscape_kind kind, uint64_t seed, const recorded_run *runs, size_t n_runs)
{
    landscape *l = mem_calloc(1, sizeof *l);
    l->kind = kind;
    l->seed = seed;
    if (kind != LANDSCAPE_RECORDED) {
        make_up(l);
    } else if (!from_record(l, runs, n_runs)) {
        landscape_free(l);
        return NULL;
    }
    return l;
}

void landscape_free(landscape *l)
{
    if (!l)
        return;
    free(l->r.rest);
    free(l->r.failed);
    free(l);
}

individual landscape_start(const landscape *l)
{
    return l->start;
}

double landscape_fitness(const landscape *l, const individual *x)
{
    if (l->kind == LANDSCAPE_RECORDED)
        return fmax(LEAST, l->r.cell[individual_cell(x)] + x->rest);
    return fmax(LEAST, 1 + (TOP - 1) * (raw(l, x) - l->raw_start) / (l->raw_best - l->raw_start));
}

double landscape_best(const landscape *l)
{
    double best = 0;
    if (l->kind != LANDSCAPE_RECORDED)
        return TOP;
    for (int c = 0; c < BEHAVIOUR_CELLS; c++)
        best = fmax(best, l->r.cell[c]);
    return best + l->r.most;
}

/* ---- the model ---- */

/* Random numbers of one answer, by place: what one part draws does not shift those of another. */
typedef struct dice {
    uint64_t seed, ordinal;
} dice;

enum { ROLL_FAIL, ROLL_HOW, ROLL_FOLLOW, ROLL_DRIFT, ROLL_DIM, ROLL_UP, ROLL_MANY, ROLL_REST, ROLL_GAMMA, ROLL_HIDDEN };

static double roll(const dice *d, uint64_t i)
{
    return draw_unit(d->seed, STREAM_MODEL + d->ordinal, i);
}

static double how_it_failed(const landscape *l, const dice *d)
{
    static const struct {
        double share, fitness;
    } kinds[] = {{0.11, 0}, {0.15, 0.1}, {0.29, 0.2}, {0.11, 0.3}, {0.34, 0.4}};
    double u = roll(d, ROLL_HOW);
    if (l->kind == LANDSCAPE_RECORDED && l->r.n_failed > 0)
        return l->r.failed[(size_t)(u * (double)l->r.n_failed)];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        u -= kinds[i].share;
        if (u < 0)
            return kinds[i].fitness;
    }
    return 0.4;
}

/* Where it goes: to the target, or as it likes: half of the time nowhere, else one level, mostly up. */
static void move(const dice *d, int target, double follow, individual *x)
{
    behaviour to = behaviour_of_cell(target >= 0 ? target : 0);
    if (target >= 0 && roll(d, ROLL_FOLLOW) < follow) {
        memcpy(x->locus, to.level, sizeof to.level);
        return;
    }
    if (roll(d, ROLL_DRIFT) < 0.5)
        return;
    int dim = (int)(roll(d, ROLL_DIM) * BEHAVIOUR_DIMS), level = x->locus[dim] + (roll(d, ROLL_UP) < 0.7 ? 1 : -1);
    if (level >= 0 && level < BEHAVIOUR_LEVELS)
        x->locus[dim] = level;
}

/* One change of what the archive does not see: a guess, the better of two, or what an inspiration has. */
static void change_hidden(const landscape *l, const dice *d, int k, double skill, const individual *inspirations,
                          size_t n, individual *x)
{
    uint64_t at = ROLL_HIDDEN + 6 * (uint64_t)k;
    int locus = BEHAVIOUR_DIMS + (int)(roll(d, at) * HIDDEN);
    int one = (int)(roll(d, at + 1) * ALLELES), two = (int)(roll(d, at + 2) * ALLELES);
    if (n > 0 && roll(d, at + 3) < 0.3) {
        x->locus[locus] = inspirations[(size_t)(roll(d, at + 4) * (double)n)].locus[locus];
        return;
    }
    individual a = *x, b = *x;
    a.locus[locus] = one;
    b.locus[locus] = two;
    bool knows = roll(d, at + 5) < skill;
    *x = knows && landscape_fitness(l, &b) > landscape_fitness(l, &a) ? b : a;
}

bool model_answer(const landscape *l, const scripted_model *m, const individual *parent, int target,
                  const individual *inspirations, size_t n, double quality, uint64_t ordinal, individual *out,
                  double *failed)
{
    const dice d = {l->seed, ordinal};
    const record *r = &l->r;
    bool recorded = l->kind == LANDSCAPE_RECORDED;
    double fail = recorded ? (double)r->n_failed / (double)(r->n_failed + r->n_right) : m->fail;
    *failed = 0;
    if (roll(&d, ROLL_FAIL) < fail * (1.5 - quality)) {
        *failed = how_it_failed(l, &d);
        return false;
    }
    *out = *parent;
    move(&d, target, recorded ? r->hit : m->follow, out);
    double skill = fmin(1, m->skill * (0.5 + quality));
    if (recorded) {
        double one = r->rest[(size_t)(roll(&d, ROLL_REST) * (double)r->n_rest)],
               two = r->rest[(size_t)(roll(&d, ROLL_MANY) * (double)r->n_rest)];
        double fresh = roll(&d, ROLL_GAMMA) < skill ? fmax(one, two) : one;
        out->rest = fmax(r->least, fmin(r->most, r->kept * parent->rest + sqrt(1 - r->kept * r->kept) * fresh));
        return true;
    }
    int changes = roll(&d, ROLL_MANY) < 0.3 ? 2 : 1;
    for (int k = 0; k < changes; k++)
        change_hidden(l, &d, k, skill, inspirations, n, out);
    return true;
}
