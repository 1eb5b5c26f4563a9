/* SPDX-License-Identifier: BSD-2-Clause */
#include "osenv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

enum {
	PAGE_LEN = 4096,
	LARGE_PAGE_LEN = 2 << 20,
	LARGE_FROM = 256 << 10, /* smaller blocks come from malloc */
	ASK_FROM = 64 << 20,    /* larger ones are worth a look at what is available */
};

static size_t round_up(size_t len, size_t unit)
{
	return (len + unit - 1) / unit * unit;
}

uint64_t mrc_osmem_available(void)
{
	unsigned long long kib = 0;
	char line[128];
	FILE *file = fopen("/proc/meminfo", "r");

	while (file != NULL && kib == 0 && fgets(line, sizeof(line), file) != NULL)
		(void)!sscanf(line, "MemAvailable: %llu kB", &kib);
	if (file != NULL)
		fclose(file);
	return kib != 0 ? kib * 1024 : UINT64_MAX;
}

void *mrc_osmem_alloc(size_t len)
{
	size_t want = round_up(len, LARGE_PAGE_LEN), skip;
	uint8_t *mem;

	if (want < len || (want >= ASK_FROM && want > mrc_osmem_available()))
		return NULL;
	mem = mmap(NULL, want + LARGE_PAGE_LEN, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED)
		return NULL;
	/* Cut to an aligned piece, so that large pages fit. */
	skip = (LARGE_PAGE_LEN - ((uintptr_t)mem & (LARGE_PAGE_LEN - 1))) & (LARGE_PAGE_LEN - 1);
	if (skip)
		munmap(mem, skip);
	if (skip < LARGE_PAGE_LEN)
		munmap(mem + skip + want, LARGE_PAGE_LEN - skip);
	mem += skip;
	madvise(mem, want, MADV_HUGEPAGE);
	for (size_t at = 0; at < want; at += PAGE_LEN)
		*(volatile uint8_t *)(mem + at) = 0;
	return mem;
}

void mrc_osmem_free(void *mem, size_t len)
{
	if (mem)
		munmap(mem, round_up(len, LARGE_PAGE_LEN));
}

static void *env_alloc(void *ctx, size_t size, size_t align)
{
	void *mem = NULL;

	if (size >= LARGE_FROM && align <= LARGE_PAGE_LEN)
		return mrc_osmem_alloc(size);
	if (posix_memalign(
		    &mem, align < sizeof(void *) ? sizeof(void *) : align, size ? size : 1) != 0)
		return NULL;
	return memset(mem, 0, size);
}

static void env_free(void *ctx, void *mem, size_t size)
{
	if (size >= LARGE_FROM)
		mrc_osmem_free(mem, size);
	else
		free(mem);
}

static uint64_t env_random64(void *ctx)
{
	struct mrc_osenv *osenv = ctx;

	if (osenv->nb_left == 0) {
		uint8_t *at = (uint8_t *)osenv->words;
		size_t left = sizeof(osenv->words);

		while (left > 0) {
			ssize_t got = getrandom(at, left, 0);

			if (got > 0) {
				at += got;
				left -= (size_t)got;
			}
		}
		osenv->nb_left = MRC_OSENV_WORDS;
	}
	return osenv->words[--osenv->nb_left];
}

void mrc_osenv_init(struct mrc_osenv *osenv)
{
	osenv->nb_left = 0;
	osenv->env = (struct mrc_env){
		.ctx = osenv, .alloc = env_alloc, .free = env_free, .random64 = env_random64};
}
