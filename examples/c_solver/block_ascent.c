/* Coordinate ascent on the dual of the SVM without a bias, over the points of one block.

   max  y'coef - 1/2 coef' K coef     s.t.  0 <= y_i coef_i <= upper_i

   points      (q,) their numbers
   rows        (q, n) rows[k] holds the kernel values of point points[k] with all n points
   y, upper    (n,)
   coef        (n,) signed coefficients; those of the block are changed
   scores      (n,) K coef; kept
*/
#include <stddef.h>
#include <stdint.h>

void sweep(int64_t q, int64_t n, const int64_t *points, const double *rows, const double *y, const double *upper,
           double *coef, double *scores)
{
    for (int64_t k = 0; k < q; k++) {
        const int64_t i = points[k];
        const double *row = rows + k * n;
        double alpha = y[i] * coef[i], rise = 1.0 - y[i] * scores[i];
        if (row[i] > 0.0)
            alpha += rise / row[i];
        else if (rise > 0.0) /* a point at the origin: its row is 0, and its loss stays */
            alpha = upper[i];
        alpha = alpha < 0.0 ? 0.0 : alpha > upper[i] ? upper[i] : alpha;
        const double step = y[i] * alpha - coef[i];
        if (step == 0.0)
            continue;
        coef[i] += step;
        for (int64_t j = 0; j < n; j++)
            scores[j] += step * row[j];
    }
}
