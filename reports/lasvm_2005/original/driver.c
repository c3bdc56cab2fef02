/* LASVM's own program on one set, with its kernel replaced by one over contiguous float32 rows.

   driver FILE CACHE_MB TAU SEED [MODEL]
   FILE: int32 n, int32 d, float64 C, float64 gamma, float32 x[n * d], float32 y[n]
   One epoch in random order and the finishing step; prints CPU seconds, kernel values, members and delta.
   MODEL, written after the clock has stopped: float64 dual_coef[n], intercept */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lasvm.h"

#define SEEDS 5 /* of each class */

static int n, d;
static float *x, *norms, width;
static long values = 0;

static double rbf(int i, int j, void *closure)
{
    const float *restrict a = x + (long)i * d, *restrict b = x + (long)j * d;
    float product = 0;
    (void)closure;
    values++;
    for (int k = 0; k < d; k++)
        product += a[k] * b[k];
    return expf(-width * (norms[i] + norms[j] - 2 * product));
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static unsigned drawn(unsigned long long *state, unsigned below)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)((*state >> 33) % below);
}

static int written(lasvm_t *machine, const char *path)
{
    int members = lasvm_get_l(machine), *which = malloc(4L * n);
    double *alpha = malloc(8L * n), *coef = calloc(n + 1, 8);
    lasvm_get_alpha(machine, alpha);
    lasvm_get_sv(machine, which);
    for (int i = 0; i < members; i++)
        coef[which[i]] = alpha[i];
    coef[n] = -lasvm_get_b(machine);
    FILE *file = fopen(path, "wb");
    return !file || fwrite(coef, 8, n + 1, file) != (size_t)n + 1 || fclose(file);
}

int main(int argc, char **argv)
{
    double C, gamma;
    int head[2], left = 0, seeded[2] = {0, 0};
    FILE *file = argc == 5 || argc == 6 ? fopen(argv[1], "rb") : NULL;
    if (!file || fread(head, 4, 2, file) != 2 || fread(&C, 8, 1, file) != 1 || fread(&gamma, 8, 1, file) != 1)
        return 1;
    n = head[0], d = head[1], width = (float)gamma;
    float *y = malloc(4L * n);
    int *order = malloc(4L * n);
    x = malloc(4L * n * d), norms = malloc(4L * n);
    if (fread(x, 4, (long)n * d, file) != (size_t)n * d || fread(y, 4, n, file) != (size_t)n)
        return 1;
    double tau = atof(argv[3]), began = cpu_seconds();
    unsigned long long state = 88172645463325252ULL + 7919ULL * atoi(argv[4]);
    for (int i = 0; i < n; i++) {
        norms[i] = 0;
        for (int k = 0; k < d; k++)
            norms[i] += x[(long)i * d + k] * x[(long)i * d + k];
    }
    lasvm_kcache_t *cache = lasvm_kcache_create(rbf, 0);
    lasvm_kcache_set_maximum_size(cache, (long)(atof(argv[2]) * 1024 * 1024));
    lasvm_t *machine = lasvm_create(cache, 1, C, C);
    for (int i = 0; i < n; i++) {
        if (seeded[y[i] > 0] < SEEDS) {
            seeded[y[i] > 0]++;
            lasvm_process(machine, i, y[i]);
        } else
            order[left++] = i;
    }
    while (left > 0) {
        int at = drawn(&state, left), i = order[at];
        order[at] = order[--left];
        lasvm_process(machine, i, y[i]);
        lasvm_reprocess(machine, tau);
    }
    do
        lasvm_finish(machine, tau);
    while (lasvm_get_delta(machine) > tau);
    printf("%.6f %ld %d %.3e\n", cpu_seconds() - began, values, lasvm_get_l(machine), lasvm_get_delta(machine));
    return argc == 6 ? written(machine, argv[5]) : 0;
}
