/* Decision trees and grids: the header answers as the tool does, shape by shape (trees.txt, written beside the header), in every
 * language and compiler; and the layer says who answered. */
#define KW_NO_LAUNCH
#include "tree_gemm.h"
#include "support.h"

/* Each line: device key, M, N, K, and what the model says: layer, variant, regret in thousandths. */
static int compare_all(const char *path, int *of_layer)
{
    FILE *file = fopen(path, "r");
    char key[64];
    long long M, N, K;
    int layer, variant, regret, n = 0;
    if (!file)
        return 0;
    while (fscanf(file, "%63s %lld %lld %lld %d %d %d", key, &M, &N, &K, &layer, &variant, &regret) == 7) {
        const tree_gemm_shape s = {M, N, K};
        kw_device d;
        tree_gemm_choice c;
        CHECK(kw_device_from_key(&d, key, NULL) == KW_SUCCESS);
        c = tree_gemm_select(&d, &s);
        if ((int)c.layer != layer || c.variant != variant || (int)(c.expected_regret * 1000.0f + 0.5f) != regret) {
            printf("%s %lld %lld %lld: %s %d %f, expected %d %d %d\n", key, M, N, K, kw_layer_text(c.layer), c.variant,
                   (double)c.expected_regret, layer, variant, regret);
            failures++;
        }
        of_layer[c.layer]++;
        n++;
    }
    (void)fclose(file);
    return n;
}

static tree_gemm_choice choose(const char *key, const kw_limits *limits, int64_t M, int64_t N, int64_t K)
{
    const tree_gemm_shape s = {M, N, K};
    kw_device d;
    CHECK(kw_device_from_key(&d, key, limits) == KW_SUCCESS);
    return tree_gemm_select(&d, &s);
}

/* A device nobody measured asks the tree of its architecture, else of its vendor; the answer says so. */
static void relatives(void)
{
    tree_gemm_choice own = choose("v/a/x/10", NULL, 100, 200, 300), other = choose("v/a/new/11", NULL, 100, 200, 300);
    CHECK(own.layer == KW_LAYER_TREE && own.device_match == KW_MATCH_EXACT);
    CHECK(other.layer == KW_LAYER_TREE && other.device_match == KW_MATCH_ARCH && other.variant == own.variant);
    other = choose("v/new/new/10", NULL, 100, 200, 300);
    CHECK(other.layer == KW_LAYER_TREE && other.device_match == KW_MATCH_VENDOR && other.variant == own.variant);
    other = choose("u/a/x/10", NULL, 100, 200, 300);
    CHECK(other.layer == KW_LAYER_DEFAULT && other.device_match == KW_MATCH_DEFAULT);
}

/* Of a leaf's ranks the first that the device holds; if it holds only the header's default, that one. */
static void limits(void)
{
    kw_limits l;
    kw_device d;
    tree_gemm_choice c;
    CHECK(kw_device_from_key(&d, "v/b/y/20", NULL) == KW_SUCCESS);
    c = choose("v/b/y/20", NULL, 64, 64, 64);
    CHECK(c.layer == KW_LAYER_TREE && c.variant == 3); /* 256 work-items */
    l = d.limits;
    l.max_work_group_size = 128;
    c = choose("v/b/y/20", &l, 64, 64, 64);
    CHECK(c.layer == KW_LAYER_TREE && c.variant == 1 && c.expected_regret > 1.0f);
    l.max_work_group_size = 64;
    c = choose("v/b/y/20", &l, 64, 64, 64);
    CHECK(c.layer == KW_LAYER_DEFAULT && c.variant == 0 && c.device_match == KW_MATCH_DEFAULT);
    l.max_work_group_size = 1;
    CHECK(choose("v/b/y/20", &l, 64, 64, 64).variant == -1);
}

/* A grid has an end: what lies beyond it, and within the reach, asks the cell there. */
static void grid(void)
{
    const tree_gemm_choice first = choose("w/c/z/30", NULL, 4, 8, 16), below = choose("w/c/z/30", NULL, 1, 1, 1);
    const tree_gemm_choice last = choose("w/c/z/30", NULL, 8000, 8000, 8000),
                           inside = choose("w/c/z/30", NULL, 200, 400, 800);
    CHECK(first.layer == KW_LAYER_TREE && below.layer == KW_LAYER_TREE);
    CHECK(first.expected_regret == below.expected_regret || first.variant == 2 || below.variant == 2);
    CHECK(last.layer == KW_LAYER_TREE && inside.layer == KW_LAYER_TREE);
    CHECK(choose("w/c/z/30", NULL, 8001, 8, 16).layer == KW_LAYER_DEFAULT);
    CHECK(choose("w/c/z/30", NULL, 8, 8, 0).layer == KW_LAYER_DEFAULT);
}

/* Where a tree ends: it is asked for shapes within its bounds only. */
static void reach(void)
{
    CHECK(choose("v/b/y/20", NULL, 4096, 4096, 4096).layer == KW_LAYER_TREE);
    CHECK(choose("v/b/y/20", NULL, 4097, 4096, 4096).layer == KW_LAYER_DEFAULT);
    CHECK(choose("v/b/y/20", NULL, 4096, 4096, 1).layer == KW_LAYER_DEFAULT);
    CHECK(choose("v/b/y/20", NULL, 4096, 4096, 0).layer == KW_LAYER_DEFAULT);
    CHECK(choose("v/b/y/20", NULL, INT64_C(1) << 31, 64, 64).variant == -1);
    CHECK(choose("v/b/y/20", NULL, INT64_MAX, INT64_MAX, INT64_MAX).variant == -1);
    CHECK(choose("v/b/y/20", NULL, -1, 64, 64).variant == -1);
    CHECK(choose("v/b/y/20", NULL, INT64_MIN, 64, 64).variant == -1);
}

int main(int argc, char **argv)
{
    int of_layer[4] = {0, 0, 0, 0};
    if (argc != 2)
        return 2;
    CHECK(compare_all(argv[1], of_layer) == 4000);
    CHECK(of_layer[KW_LAYER_TREE] > 1000 && of_layer[KW_LAYER_DEFAULT] > 100 && of_layer[KW_LAYER_EXACT] > 0);
    relatives();
    limits();
    grid();
    reach();
    return report("trees");
}
