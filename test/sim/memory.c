/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c - memory and randomness of the simulator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim.h"

enum {
	HUGE_LEN = 2 << 20,
	CHUNK_LEN = 32 << 20,
	ALIAS_LEN = 64 << 10, /* of real memory behind an aliased mapping */
	GUARD_LEN = 4096,
	GUARD_BYTE = 0xA5,
};

/* Large tables go to huge pages where the kernel gives some: random access to many engines costs
 * more in page walks than in cache misses. */
void *sim_alloc(size_t size)
{
	void *mem = NULL;
	size_t align = size >= HUGE_LEN ? HUGE_LEN : 64;

	if (posix_memalign(&mem, align, size != 0 ? size : 1) != 0) {
		fprintf(stderr, "mrc-sim: out of memory (%zu bytes)\n", size);
		exit(3);
	}
	if (size >= HUGE_LEN)
		(void)madvise(mem, size, MADV_HUGEPAGE);
	return memset(mem, 0, size);
}

void *sim_realloc(void *mem, size_t size)
{
	mem = realloc(mem, size);
	if (mem == NULL) {
		fprintf(stderr, "mrc-sim: out of memory (%zu bytes)\n", size);
		exit(3);
	}
	return mem;
}

#if defined(__SANITIZE_ADDRESS__)
#define EXACT_BLOCKS 1 /* a sanitizer wants to see the end of every block */
#else
#define EXACT_BLOCKS 0
#endif

/* Memory of engines, sets and loads comes from large chunks and goes back all at once: a thousand
 * small engines on pages of 4 KiB cost more in page walks than in work. */
static struct {
	uint8_t *chunks[4096];
	uint32_t nb;
	size_t used; /* of the last chunk */
} arena;

static void *arena_take(size_t size)
{
	void *mem;

	size = (size + 63) / 64 * 64;
	if (size > CHUNK_LEN / 4)
		return NULL;
	if (arena.nb == 0 || arena.used + size > CHUNK_LEN) {
		if (arena.nb == sizeof(arena.chunks) / sizeof(arena.chunks[0]))
			return NULL;
		arena.chunks[arena.nb++] = sim_alloc(CHUNK_LEN);
		arena.used = 0;
	}
	mem = arena.chunks[arena.nb - 1] + arena.used;
	arena.used += size;
	return mem;
}

void sim_arena_done(void)
{
	while (arena.nb > 0)
		free(arena.chunks[--arena.nb]);
}

static void *env_alloc(void *ctx, size_t size, size_t align)
{
	void *mem = EXACT_BLOCKS || align > 64 ? NULL : arena_take(size);

	return mem != NULL ? mem : sim_alloc(size);
}

static void env_free(void *ctx, void *mem, size_t size)
{
	/* What came from the arena stays until its end. */
	for (uint32_t i = 0; i < arena.nb; i++) {
		if ((uint8_t *)mem >= arena.chunks[i] &&
			(uint8_t *)mem < arena.chunks[i] + CHUNK_LEN)
			return;
	}
	free(mem);
}

void sim_env_init(struct mrc_env *env, void *rng_ctx, uint64_t (*random64)(void *ctx))
{
	*env = (struct mrc_env){
		.ctx = rng_ctx, .alloc = env_alloc, .free = env_free, .random64 = random64};
}

static uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

/* xoshiro256** of Blackman and Vigna. */
uint64_t sim_random(uint64_t rng[4])
{
	uint64_t result = rotl(rng[1] * 5, 7) * 9, t = rng[1] << 17;

	rng[2] ^= rng[0];
	rng[3] ^= rng[1];
	rng[1] ^= rng[2];
	rng[0] ^= rng[3];
	rng[2] ^= t;
	rng[3] = rotl(rng[3], 45);
	return result;
}

void sim_seed(uint64_t rng[4], uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = (seed += 0x9E3779B97F4A7C15u);

		z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
		z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
		rng[i] = z ^ (z >> 31);
	}
}

/* Memory between two zones that nobody may write to. */
void *sim_guarded_alloc(uint64_t len)
{
	uint8_t *mem = sim_alloc(len + 2 * GUARD_LEN);

	memset(mem, GUARD_BYTE, GUARD_LEN);
	memset(mem + GUARD_LEN + len, GUARD_BYTE, GUARD_LEN);
	return mem + GUARD_LEN;
}

void sim_guarded_free(void *mem)
{
	if (mem != NULL)
		free((uint8_t *)mem - GUARD_LEN);
}

bool sim_guarded_ok(const void *mem, uint64_t len)
{
	const uint8_t *low = (const uint8_t *)mem - GUARD_LEN, *high = (const uint8_t *)mem + len;

	for (uint32_t i = 0; i < GUARD_LEN; i++) {
		if (low[i] != GUARD_BYTE || high[i] != GUARD_BYTE)
			return false;
	}
	return true;
}

uint64_t sim_memory_resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long long pages = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%*u %llu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t alias_round(uint64_t len)
{
	return (len + ALIAS_LEN - 1) / ALIAS_LEN * ALIAS_LEN;
}

void *sim_alias_map(uint64_t len)
{
	uint64_t whole = alias_round(len);
	uint8_t *mem = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("mrc-sim", 0);
	bool ok = mem != MAP_FAILED && fd >= 0 && ftruncate(fd, ALIAS_LEN) == 0;

	for (uint64_t at = 0; ok && at < whole; at += ALIAS_LEN)
		ok = mmap(mem + at, ALIAS_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			     0) != MAP_FAILED;
	if (fd >= 0)
		close(fd);
	if (!ok) {
		fprintf(stderr, "mrc-sim: cannot map %llu bytes, use smaller messages\n",
			(unsigned long long)len);
		exit(3);
	}
	return mem;
}

void sim_alias_unmap(void *mem, uint64_t len)
{
	if (mem != NULL)
		munmap(mem, alias_round(len));
}

void sim_pool_init(struct sim_pool *pool, uint32_t room, uint64_t nb)
{
	uint64_t len = (sizeof(struct sim_block) + room + 63) / 64 * 64;

	*pool = (struct sim_pool){.room = room, .nb = nb, .mem_len = len * nb};
	pool->mem = sim_alloc(pool->mem_len);
	for (uint64_t i = nb; i > 0; i--) {
		struct sim_block *b = (void *)(pool->mem + (i - 1) * len);

		b->next = pool->free;
		pool->free = b;
	}
}

void sim_pool_done(struct sim_pool *pool)
{
	free(pool->mem);
}
