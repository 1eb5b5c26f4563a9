/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * driver.c - runs a fuzz target without libFuzzer, so that any compiler and every `meson test` can:
 * the corpus as it is, then mutated copies of it. Each input follows from seed and number alone.
 *
 *   mutate_TARGET [-runs=N] [-seed=S] [-from=K] CORPUS...
 *
 * When the target fails, the driver names seed and number; -seed=S -from=K -runs=1 repeats it
 * alone.
 */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	MAX_INPUTS = 4096,
	MAX_LEN = 8192, /* of a mutated input */
	MAX_STEPS = 8,
};

struct input {
	uint8_t *data;
	size_t len;
};

static struct input corpus[MAX_INPUTS];
static uint32_t nb_inputs;
static uint64_t rng;

/* What the signal handler reports. */
static char report[160];

static void on_signal(int signo)
{
	ssize_t done = write(STDERR_FILENO, report, strlen(report));

	(void)done;
	signal(signo, SIG_DFL);
	raise(signo);
}

/* splitmix64: good enough to mutate, and any state is a good one. */
static uint64_t random64(void)
{
	uint64_t z = (rng += 0x9E3779B97F4A7C15u);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static size_t below(size_t bound)
{
	return bound == 0 ? 0 : (size_t)(random64() % bound);
}

static void die(const char *what, const char *which)
{
	fprintf(stderr, "%s: %s\n", which, what);
	exit(2);
}

static void load_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	static uint8_t buf[MAX_LEN];
	struct input *in = &corpus[nb_inputs];

	if (file == NULL)
		die("cannot open", path);
	in->len = fread(buf, 1, sizeof(buf), file);
	fclose(file);
	in->data = malloc(in->len ? in->len : 1);
	if (in->data == NULL)
		die("out of memory", path);
	memcpy(in->data, buf, in->len);
	nb_inputs++;
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* In the order of the names, so that a number means the same everywhere. */
static void load_dir(const char *path)
{
	struct dirent **names;
	int nb = scandir(path, &names, is_file, alphasort);

	if (nb < 0)
		die("cannot read the folder", path);
	for (int i = 0; i < nb; i++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		if (nb_inputs < MAX_INPUTS)
			load_file(file);
		free(names[i]);
	}
	free(names);
}

/* In a block of its exact size, so that a sanitizer sees every byte read too much. */
static void run_one(const uint8_t *data, size_t len)
{
	uint8_t *exact = malloc(len ? len : 1);

	if (exact == NULL)
		die("out of memory", "driver");
	memcpy(exact, data, len);
	LLVMFuzzerTestOneInput(len ? exact : exact + 1, len);
	free(exact);
}

static void put_number(uint8_t *buf, size_t len)
{
	static const uint32_t numbers[] = {0, 1, 2, 3, 4, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF,
		0x8000, 0xFFFF, 0x10000, 0x7FFFFF, 0x800000, 0xFFFFFF, 0x7FFFFFFF, 0x80000000,
		0xFFFFFFFF};
	uint32_t value = numbers[below(sizeof(numbers) / sizeof(numbers[0]))];
	size_t width = (size_t)1 << below(3);
	size_t at = len < width ? 0 : below(len - width + 1);

	for (size_t i = 0; i < width && at + i < len; i++)
		buf[at + i] = (uint8_t)(value >> 8 * (width - 1 - i));
}

static size_t insert(uint8_t *buf, size_t len)
{
	size_t nb = 1 + below(40), at = below(len + 1);

	if (len + nb > MAX_LEN)
		return len;
	memmove(buf + at + nb, buf + at, len - at);
	for (size_t i = 0; i < nb; i++)
		buf[at + i] = (uint8_t)random64();
	return len + nb;
}

static size_t erase(uint8_t *buf, size_t len)
{
	size_t at = below(len), nb = 1 + below(len - at < 40 ? len - at : 40);

	if (at + nb > len)
		return len;
	memmove(buf + at, buf + at + nb, len - at - nb);
	return len - nb;
}

/* A piece of another input in its own place, or anywhere. */
static void splice(uint8_t *buf, size_t len)
{
	const struct input *other = &corpus[below(nb_inputs)];
	size_t from = below(other->len), nb = 1 + below(32);
	size_t to = random64() & 1 ? from : below(len);

	for (size_t i = 0; i < nb && from + i < other->len && to + i < len; i++)
		buf[to + i] = other->data[from + i];
}

static size_t mutate(uint8_t *buf, size_t len)
{
	switch (below(10)) {
	case 0:
	case 1:
	case 2:
		if (len != 0)
			buf[below(len)] ^= (uint8_t)(1u << below(8));
		return len;
	case 3:
	case 4:
		if (len != 0)
			buf[below(len)] = (uint8_t)random64();
		return len;
	case 5:
		put_number(buf, len);
		return len;
	case 6:
		return insert(buf, len);
	case 7:
		return erase(buf, len);
	case 8:
		splice(buf, len);
		return len;
	default:
		return below(len + 1);
	}
}

static void run_mutated(uint64_t seed, uint64_t number)
{
	static uint8_t buf[MAX_LEN];
	const struct input *in;
	size_t len, steps;

	rng = seed * 0xD1342543DE82EF95u + number;
	random64();
	in = &corpus[below(nb_inputs)];
	len = in->len;
	memcpy(buf, in->data, len);
	for (steps = 1 + below(MAX_STEPS); steps > 0; steps--)
		len = mutate(buf, len);
	run_one(buf, len);
}

static uint64_t number_after(const char *arg, const char *name, uint64_t otherwise)
{
	size_t len = strlen(name);

	return strncmp(arg, name, len) == 0 ? strtoull(arg + len, NULL, 0) : otherwise;
}

int main(int argc, char **argv)
{
	const char *text = getenv("MRC_TEST_SEED");
	uint64_t runs = 1000000, from = 0, seed = text != NULL ? strtoull(text, NULL, 0) : 1;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-' && strncmp(argv[i], "-runs=", 6) != 0 &&
			strncmp(argv[i], "-seed=", 6) != 0 && strncmp(argv[i], "-from=", 6) != 0)
			die("is no option; there are -runs=N, -seed=N, -from=N", argv[i]);
		runs = number_after(argv[i], "-runs=", runs);
		seed = number_after(argv[i], "-seed=", seed);
		from = number_after(argv[i], "-from=", from);
		if (argv[i][0] != '-')
			load_dir(argv[i]);
	}
	if (nb_inputs == 0)
		die("no input in the corpus", argv[0]);
	signal(SIGABRT, on_signal);
	signal(SIGSEGV, on_signal);
	printf("%u inputs in the corpus, %llu mutated, seed %llu\n", nb_inputs,
		(unsigned long long)runs, (unsigned long long)seed);
	fflush(stdout);
	for (uint32_t i = 0; i < nb_inputs; i++) {
		snprintf(report, sizeof(report), "failed on number %u of the corpus\n", i);
		run_one(corpus[i].data, corpus[i].len);
	}
	for (uint64_t number = from; number < from + runs; number++) {
		snprintf(report, sizeof(report),
			"failed; -seed=%llu -from=%llu -runs=1 repeats it\n",
			(unsigned long long)seed, (unsigned long long)number);
		run_mutated(seed, number);
	}
	for (uint32_t i = 0; i < nb_inputs; i++)
		free(corpus[i].data);
	return 0;
}
