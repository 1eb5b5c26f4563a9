/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "ctl_decode.h"

enum {
	WORD_MAX = 48, /* longer words are compared by their beginning */
};

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t m = a < b ? a : b;

	return m < c ? m : c;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '-' ? '_' : c;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b; upper and lower
 * case, - and _ count as the same. */
static uint32_t distance(const char *a, const char *b)
{
	uint32_t rows[3][WORD_MAX + 1];
	uint32_t nb_a = (uint32_t)strnlen(a, WORD_MAX), nb_b = (uint32_t)strnlen(b, WORD_MAX);

	for (uint32_t j = 0; j <= nb_b; j++)
		rows[0][j] = j;
	for (uint32_t i = 1; i <= nb_a; i++) {
		uint32_t *now = rows[i % 3];
		const uint32_t *last = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];

		now[0] = i;
		for (uint32_t j = 1; j <= nb_b; j++) {
			char ca = lower(a[i - 1]), cb = lower(b[j - 1]);

			now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (ca != cb));
			if (i > 1 && j > 1 && ca == lower(b[j - 2]) && lower(a[i - 2]) == cb &&
				older[j - 2] + 1 < now[j])
				now[j] = older[j - 2] + 1;
		}
	}
	return rows[nb_a % 3][nb_b];
}

const char *mrc_ctl_nearest(
	const char *word, const char *(*get)(const void *list, uint32_t i), const void *list)
{
	uint32_t limit = (uint32_t)strnlen(word, WORD_MAX) / 3, best = UINT32_MAX;
	const char *name, *nearest = NULL;

	if (limit < 2)
		limit = 2;
	for (uint32_t i = 0; (name = get(list, i)) != NULL; i++) {
		uint32_t d = distance(word, name);

		if (d <= limit && d < best && d < strlen(name)) {
			best = d;
			nearest = name;
		}
	}
	return nearest;
}
