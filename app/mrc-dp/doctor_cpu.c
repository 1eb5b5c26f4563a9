/* SPDX-License-Identifier: BSD-2-Clause */
/* Processors: how many, who shares them, who disturbs them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "doctor_private.h"

enum {
	LIST_LEN = 80,
	BUSY_PCT = 20, /* foreign load above which a CPU is no good for a poller */
};

bool mrc_cpuset_has(const struct mrc_cpuset *set, uint32_t cpu)
{
	return cpu < MRC_DOCTOR_CPUS && (set->words[cpu / 64] >> (cpu % 64) & 1) != 0;
}

void mrc_cpuset_add(struct mrc_cpuset *set, uint32_t cpu)
{
	if (cpu < MRC_DOCTOR_CPUS)
		set->words[cpu / 64] |= (uint64_t)1 << (cpu % 64);
}

uint32_t mrc_cpuset_count(const struct mrc_cpuset *set)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < MRC_DOCTOR_CPUS / 64; i++)
		nb += (uint32_t)__builtin_popcountll(set->words[i]);
	return nb;
}

static bool number_parse(const char **text, uint32_t *value_out)
{
	char *end;
	unsigned long value;

	if (**text < '0' || **text > '9')
		return false;
	value = strtoul(*text, &end, 10);
	if (value >= MRC_DOCTOR_CPUS)
		return false;
	*text = end;
	*value_out = (uint32_t)value;
	return true;
}

/* "a" or "a-b" from *text on. */
static bool range_parse(const char **text, struct mrc_cpuset *set)
{
	uint32_t first, last;

	if (!number_parse(text, &first))
		return false;
	last = first;
	if (**text == '-') {
		(*text)++;
		if (!number_parse(text, &last) || last < first)
			return false;
	}
	for (uint32_t cpu = first; cpu <= last; cpu++)
		mrc_cpuset_add(set, cpu);
	return true;
}

/* Ranges joined by commas up to `stop`. */
static bool ranges_parse(const char **text, char stop, struct mrc_cpuset *set)
{
	while (range_parse(text, set)) {
		if (**text == stop)
			return true;
		if (**text != ',')
			return false;
		(*text)++;
	}
	return false;
}

bool mrc_cpuset_parse(struct mrc_cpuset *set_out, const char *text)
{
	struct mrc_cpuset set = {.words = {0}};

	if (*text != '\0' && !ranges_parse(&text, '\0', &set))
		return false;
	*set_out = set;
	return true;
}

void mrc_cpuset_show(const struct mrc_cpuset *set, char *out, uint32_t room)
{
	uint32_t used = 0;

	out[0] = '\0';
	for (uint32_t cpu = 0; cpu < MRC_DOCTOR_CPUS && used + 12 < room; cpu++) {
		uint32_t last = cpu;

		if (!mrc_cpuset_has(set, cpu))
			continue;
		while (mrc_cpuset_has(set, last + 1))
			last++;
		used += (uint32_t)snprintf(
			out + used, room - used, "%s%u", used > 0 ? "," : "", cpu);
		if (last > cpu)
			used += (uint32_t)snprintf(out + used, room - used, "-%u", last);
		cpu = last;
	}
}

/* A range, or a list in parentheses. */
static bool group_parse(const char **text, struct mrc_cpuset *set_out)
{
	*set_out = (struct mrc_cpuset){.words = {0}};
	if (**text != '(')
		return range_parse(text, set_out);
	(*text)++;
	if (!ranges_parse(text, ')', set_out))
		return false;
	(*text)++;
	return true;
}

/* One item: lcores, and "@" CPUs. Without CPUs each lcore of a range gets the CPU of its number,
 * the lcores in parentheses share theirs. */
static bool lcore_item_parse(const char **text, struct mrc_lcore_map *map)
{
	struct mrc_cpuset ids, cpus;
	bool own = **text != '(';

	if (!group_parse(text, &ids))
		return false;
	cpus = ids;
	if (**text == '@') {
		(*text)++;
		own = false;
		if (!group_parse(text, &cpus))
			return false;
	}
	for (uint32_t id = 0; id < MRC_DOCTOR_CPUS; id++) {
		if (!mrc_cpuset_has(&ids, id))
			continue;
		if (map->nb == sizeof(map->lcores) / sizeof(map->lcores[0]))
			return false;
		map->lcores[map->nb].id = id;
		map->lcores[map->nb].cpus = cpus;
		if (own) {
			map->lcores[map->nb].cpus = (struct mrc_cpuset){.words = {0}};
			mrc_cpuset_add(&map->lcores[map->nb].cpus, id);
		}
		map->nb++;
	}
	return true;
}

bool mrc_lcore_map_parse(struct mrc_lcore_map *map_out, const char *text)
{
	map_out->nb = 0;
	while (lcore_item_parse(&text, map_out)) {
		if (*text == '\0')
			return true;
		if (*text != ',')
			return false;
		text++;
	}
	return false;
}

/* ---- checks */

static void count_check(struct doctor *doc)
{
	uint32_t nb = mrc_cpuset_count(&doc->host->cpus), busy = doc->want->nb_busy;
	char list[LIST_LEN], online[LIST_LEN] = "?";

	mrc_cpuset_show(&doc->host->cpus, list, sizeof(list));
	mrc_doctor_file(doc, online, sizeof(online), "/sys/devices/system/cpu/online");
	if (nb == 0)
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, "cpus", "taskset -cp 0 $$",
			"this process may use no CPU");
	else if (busy > nb)
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, "cpus", "",
			"%u polling roles on %u CPU%s (%s; online %s): roles will take turns on "
			"one thread; more CPUs or fewer workers are faster",
			busy, nb, nb == 1 ? "" : "s", list, online);
	else
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "cpus", "", "%u usable: %s (online %s)", nb,
			list, online);
}

static bool quota_read(const struct doctor *doc, double *cpus_out)
{
	char text[128];
	unsigned long long quota, period;

	if (!mrc_doctor_file(doc, text, sizeof(text), "/sys/fs/cgroup/cpu.max") ||
		sscanf(text, "%llu %llu", &quota, &period) != 2 || period == 0)
		return false;
	*cpus_out = (double)quota / (double)period;
	return true;
}

static void quota_check(struct doctor *doc)
{
	double cpus;

	if (quota_read(doc, &cpus) && cpus < (double)mrc_cpuset_count(&doc->host->cpus))
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, "quota", "echo max > /sys/fs/cgroup/cpu.max",
			"the control group grants %.2f CPUs only: pollers will be stopped in "
			"every period",
			cpus);
}

/* Two lcores bound to the same single CPU: each round trip would cost a time slice. */
static void sharing_check(struct doctor *doc, const struct mrc_lcore_map *map)
{
	for (uint32_t i = 0; i < map->nb; i++) {
		for (uint32_t j = i + 1; j < map->nb; j++) {
			const struct mrc_cpuset *a = &map->lcores[i].cpus,
						*b = &map->lcores[j].cpus;
			char list[LIST_LEN];

			if (mrc_cpuset_count(a) != 1 || memcmp(a, b, sizeof(*a)) != 0)
				continue;
			mrc_cpuset_show(a, list, sizeof(list));
			mrc_doctor_add(doc, MRC_DOCTOR_FAIL, "pinning", "",
				"lcores %u and %u share CPU %s: two pollers on one CPU are about "
				"a hundred times slower; give each a CPU of its own in \"lcores\"",
				map->lcores[i].id, map->lcores[j].id, list);
			return;
		}
	}
}

static void pinning_check(struct doctor *doc, struct mrc_cpuset *used_out)
{
	struct mrc_lcore_map map;
	char list[LIST_LEN];
	uint32_t nb_before = doc->report->nb;

	*used_out = doc->host->cpus;
	if (doc->want->lcores == NULL)
		return;
	if (!mrc_lcore_map_parse(&map, doc->want->lcores)) {
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, "pinning", "",
			"\"%s\" is no list of lcores; write it like 0-1 or 0@2,1@3",
			doc->want->lcores);
		return;
	}
	*used_out = (struct mrc_cpuset){.words = {0}};
	for (uint32_t i = 0; i < map.nb; i++) {
		for (uint32_t cpu = 0; cpu < MRC_DOCTOR_CPUS; cpu++) {
			if (!mrc_cpuset_has(&map.lcores[i].cpus, cpu))
				continue;
			mrc_cpuset_add(used_out, cpu);
			if (mrc_cpuset_has(&doc->host->cpus, cpu))
				continue;
			mrc_cpuset_show(&doc->host->cpus, list, sizeof(list));
			mrc_doctor_add(doc, MRC_DOCTOR_FAIL, "pinning", "",
				"lcore %u wants CPU %u, the process may use %s; change \"lcores\" "
				"or the affinity (taskset)",
				map.lcores[i].id, cpu, list);
			return;
		}
	}
	sharing_check(doc, &map);
	if (doc->report->nb == nb_before)
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "pinning", "", "%u lcore%s", map.nb,
			map.nb == 1 ? "" : "s, no two on one CPU");
}

static void isolation_check(struct doctor *doc, const struct mrc_cpuset *used)
{
	struct mrc_cpuset isolated = {.words = {0}};
	char text[512] = "", list[LIST_LEN], mend[MRC_DOCTOR_TEXT];

	mrc_doctor_file(doc, text, sizeof(text), "/sys/devices/system/cpu/isolated");
	mrc_cpuset_parse(&isolated, text);
	for (uint32_t i = 0; i < MRC_DOCTOR_CPUS / 64; i++) {
		if ((used->words[i] & ~isolated.words[i]) == 0)
			continue;
		mrc_cpuset_show(used, list, sizeof(list));
		snprintf(mend, sizeof(mend),
			"kernel command line: isolcpus=%s nohz_full=%s rcu_nocbs=%s", list, list,
			list);
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, "isolation", mend,
			"the scheduler may put other work on CPU%s %s: results will vary",
			strpbrk(list, ",-") != NULL ? "s" : "", list);
		return;
	}
	mrc_doctor_add(doc, MRC_DOCTOR_OK, "isolation", "", "the CPUs used are isolated");
}

static void siblings_check(struct doctor *doc, const struct mrc_cpuset *used)
{
	for (uint32_t cpu = 0; cpu < MRC_DOCTOR_CPUS; cpu++) {
		struct mrc_cpuset twins;
		char text[256];
		uint32_t nb = 0;

		if (!mrc_cpuset_has(used, cpu) ||
			!mrc_doctor_file(doc, text, sizeof(text),
				"/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
				cpu) ||
			!mrc_cpuset_parse(&twins, text))
			continue;
		for (uint32_t other = cpu; other < MRC_DOCTOR_CPUS; other++)
			nb += mrc_cpuset_has(&twins, other) && mrc_cpuset_has(used, other);
		if (nb < 2)
			continue;
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, "siblings", "lscpu -e=CPU,CORE",
			"CPUs %s are threads of one core and will share it; choose CPUs of "
			"different cores in \"lcores\"",
			text);
		return;
	}
}

static void governor_check(struct doctor *doc, const struct mrc_cpuset *used)
{
	for (uint32_t cpu = 0; cpu < MRC_DOCTOR_CPUS; cpu++) {
		char text[64];

		if (!mrc_cpuset_has(used, cpu) ||
			!mrc_doctor_file(doc, text, sizeof(text),
				"/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor", cpu) ||
			strcmp(text, "performance") == 0)
			continue;
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, "frequency",
			"cpupower frequency-set -g performance",
			"CPU %u runs under the \"%s\" governor: its clock will vary", cpu, text);
		return;
	}
}

static void clock_check(struct doctor *doc)
{
	char text[64];

	if (!mrc_doctor_file(doc, text, sizeof(text),
		    "/sys/devices/system/clocksource/clocksource0/current_clocksource"))
		return;
	if (strcmp(text, "tsc") == 0 || strcmp(text, "kvm-clock") == 0)
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "clock", "",
			"the kernel trusts the CPU's "
			"counter (%s)",
			text);
	else
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, "clock",
			"echo tsc > "
			"/sys/devices/system/clocksource/clocksource0/current_clocksource",
			"the kernel uses \"%s\" instead of tsc: the counter may not be stable "
			"over CPUs",
			text);
}

/* ---- load of the CPUs now */

struct load {
	uint64_t busy, all; /* ticks */
};

static bool load_read(const struct doctor *doc, uint32_t cpu, struct load *load_out)
{
	char text[65536], head[16];
	const char *line;
	unsigned long long v[8] = {0};

	snprintf(head, sizeof(head), "\ncpu%u ", cpu);
	if (!mrc_doctor_file(doc, text, sizeof(text), "/proc/stat"))
		return false;
	line = strstr(text, head);
	if (line == NULL || sscanf(line + strlen(head), "%llu %llu %llu %llu %llu %llu %llu %llu",
				    &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) < 4)
		return false;
	*load_out = (struct load){0};
	for (int i = 0; i < 8; i++)
		load_out->all += v[i];
	load_out->busy = load_out->all - v[3] - v[4];
	return true;
}

static void load_check(struct doctor *doc, const struct mrc_cpuset *used)
{
	const struct timespec pause = {.tv_nsec = (long)doc->host->sample_ms * 1000000};
	static const char mend[] = "ps -eo pid,psr,pcpu,comm --sort=-pcpu | head";
	struct load before[16], after;
	uint32_t worst = 0, worst_cpu = 0;

	if (doc->host->sample_ms == 0)
		return;
	for (uint32_t cpu = 0; cpu < 16; cpu++)
		if (!mrc_cpuset_has(used, cpu) || !load_read(doc, cpu, &before[cpu]))
			before[cpu].all = UINT64_MAX;
	nanosleep(&pause, NULL);
	for (uint32_t cpu = 0; cpu < 16; cpu++) {
		uint32_t pct;

		if (before[cpu].all == UINT64_MAX || !load_read(doc, cpu, &after) ||
			after.all <= before[cpu].all)
			continue;
		pct = (uint32_t)(100 * (after.busy - before[cpu].busy) /
				 (after.all - before[cpu].all));
		if (pct > worst) {
			worst = pct;
			worst_cpu = cpu;
		}
	}
	if (worst > BUSY_PCT)
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, "load", mend,
			"CPU %u is %u %% busy with other work: a poller there would be "
			"interrupted",
			worst_cpu, worst);
	else
		mrc_doctor_add(
			doc, MRC_DOCTOR_OK, "load", "", "at most %u %% of a CPU is in use", worst);
}

void mrc_doctor_cpu(struct doctor *doc)
{
	struct mrc_cpuset used;

	count_check(doc);
	quota_check(doc);
	pinning_check(doc, &used);
	isolation_check(doc, &used);
	siblings_check(doc, &used);
	governor_check(doc, &used);
	clock_check(doc);
	load_check(doc, &used);
}
