/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory: hugepages reserved, mounted, free; ordinary memory; and the right to lock it. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_private.h"

struct huge {
	uint64_t page_kib;
	uint64_t nb, nb_free;
};

/* Every size that the kernel offers, at most `room`. */
static uint32_t huge_read(const struct doctor *doc, struct huge *huges_out, uint32_t room)
{
	char path[PATH_MAX];
	struct dirent *entry;
	uint32_t nb = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/kernel/mm/hugepages", doc->host->root);
	dir = opendir(path);
	if (dir == NULL)
		return 0;
	while ((entry = readdir(dir)) != NULL && nb < room) {
		struct huge *huge = &huges_out[nb];

		if (sscanf(entry->d_name, "hugepages-%lukB", &huge->page_kib) == 1 &&
			mrc_doctor_number(doc, &huge->nb,
				"/sys/kernel/mm/hugepages/%s/nr_hugepages", entry->d_name) &&
			mrc_doctor_number(doc, &huge->nb_free,
				"/sys/kernel/mm/hugepages/%s/free_hugepages", entry->d_name))
			nb++;
	}
	closedir(dir);
	return nb;
}

/* Directory where hugetlbfs is mounted; false when nowhere. */
static bool mount_find(const struct doctor *doc, char *out, uint32_t room)
{
	char text[65536];

	if (!mrc_doctor_file(doc, text, sizeof(text), "/proc/mounts"))
		return false;
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		char dir[256], type[64];

		if (sscanf(line, "%*s %255s %63s", dir, type) == 2 &&
			strcmp(type, "hugetlbfs") == 0) {
			snprintf(out, room, "%s", dir);
			return true;
		}
	}
	return false;
}

static enum mrc_doctor_verdict missing_verdict(const struct doctor *doc)
{
	switch (doc->want->huge) {
	case MRC_DOCTOR_HUGE_NO:
		return MRC_DOCTOR_OK;
	case MRC_DOCTOR_HUGE_AUTO:
		return MRC_DOCTOR_WARN;
	case MRC_DOCTOR_HUGE_YES:
		break;
	}
	return MRC_DOCTOR_FAIL;
}

static void huge_pages_check(struct doctor *doc, const struct huge *huges, uint32_t nb)
{
	uint64_t all_mib = 0, free_mib = 0, need_mib = doc->want->memory_mib;
	char mend[MRC_DOCTOR_TEXT];

	if (need_mib == 0)
		need_mib = 512;
	for (uint32_t i = 0; i < nb; i++) {
		all_mib += huges[i].nb * huges[i].page_kib / 1024;
		free_mib += huges[i].nb_free * huges[i].page_kib / 1024;
	}
	snprintf(mend, sizeof(mend), "sysctl -w vm.nr_hugepages=%llu",
		(unsigned long long)(need_mib + 1) / 2);
	if (all_mib == 0)
		mrc_doctor_add(doc, missing_verdict(doc), "hugepages", mend,
			"none reserved: mrc-dp runs on ordinary pages, slower and without real "
			"NICs");
	else if (free_mib == 0)
		mrc_doctor_add(doc, missing_verdict(doc), "hugepages",
			"fuser -v /dev/hugepages/* ; then rm -f /dev/hugepages/rtemap_* of dead "
			"processes",
			"%llu MiB reserved, none free: in use, or left behind by a process that "
			"died",
			(unsigned long long)all_mib);
	else if (free_mib < need_mib)
		mrc_doctor_add(doc, missing_verdict(doc), "hugepages", mend,
			"%llu of %llu MiB free, about %llu are wanted",
			(unsigned long long)free_mib, (unsigned long long)all_mib,
			(unsigned long long)need_mib);
	else
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "hugepages", "", "%llu of %llu MiB free",
			(unsigned long long)free_mib, (unsigned long long)all_mib);
}

static void mount_check(struct doctor *doc, bool reserved)
{
	char dir[256];

	if (!reserved)
		return;
	if (!mount_find(doc, dir, sizeof(dir)))
		mrc_doctor_add(doc, missing_verdict(doc), "hugetlbfs",
			"mkdir -p /dev/hugepages && mount -t hugetlbfs nodev /dev/hugepages",
			"hugepages are reserved but hugetlbfs is not mounted (in a container: "
			"mount it there)");
	else if (!mrc_doctor_writable(doc, "%s", dir))
		mrc_doctor_add(doc, missing_verdict(doc), "hugetlbfs",
			"run as root, or mount with -o uid=,gid=",
			"%s is not writable for this user", dir);
	else
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "hugetlbfs", "", "mounted at %s, writable", dir);
}

static void available_check(struct doctor *doc)
{
	char text[4096];
	const char *line;
	uint64_t kib, need_mib = doc->want->memory_mib;

	if (!mrc_doctor_file(doc, text, sizeof(text), "/proc/meminfo"))
		return;
	line = strstr(text, "MemAvailable:");
	if (line == NULL)
		return;
	kib = strtoull(line + 13, NULL, 10);
	if (kib / 1024 < need_mib)
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, "memory",
			"ps -eo pid,rss,comm --sort=-rss | head",
			"%llu MiB available, %llu wanted (\"memory\" in the file)",
			(unsigned long long)kib / 1024, (unsigned long long)need_mib);
	else
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "memory", "", "%llu MiB available",
			(unsigned long long)kib / 1024);
}

/* Without hugepages the kernel can still back big areas by huge pages of its own. */
static void transparent_check(struct doctor *doc, bool reserved)
{
	char text[128];

	if (reserved || !mrc_doctor_file(doc, text, sizeof(text),
				"/sys/kernel/mm/transparent_hugepage/enabled"))
		return;
	if (strstr(text, "[never]") != NULL)
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, "thp",
			"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
			"transparent hugepages are off: big buffers will miss the TLB");
}

void mrc_doctor_memory(struct doctor *doc)
{
	struct huge huges[8];
	uint32_t nb = huge_read(doc, huges, 8);
	bool reserved = false;

	for (uint32_t i = 0; i < nb; i++)
		reserved |= huges[i].nb > 0;
	if (doc->want->huge != MRC_DOCTOR_HUGE_NO) {
		huge_pages_check(doc, huges, nb);
		mount_check(doc, reserved);
	}
	transparent_check(doc, reserved && doc->want->huge != MRC_DOCTOR_HUGE_NO);
	available_check(doc);
}
