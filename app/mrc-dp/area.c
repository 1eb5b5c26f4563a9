/* SPDX-License-Identifier: BSD-2-Clause */
#include "area.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "osenv.h"
#include "reason.h"

#define SLOTS     32 /* mapped areas at a time */
#define KEY(w)    ((w) ? "store" : "file")
#define VERB(w)   ((w) ? "write" : "read")
#define PRIVATE_0 (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)

/* What the handler may replace. It runs in any thread that polls, so nothing here is locked: an
 * address is published last and withdrawn first. */
static struct slot {
	_Atomic uintptr_t mem;
	_Atomic uint64_t len;
	_Atomic bool hurt;
} slots[SLOTS];
static uintptr_t page_len;

/* mmap(2) is a plain system call in every C library of Linux: safe here, if not on the list. */
static void on_sigbus(int number, siginfo_t *info, void *context)
{
	const uintptr_t at = (uintptr_t)info->si_addr;
	const int kept = errno;

	for (uint32_t i = 0; i < SLOTS; i++) {
		const uintptr_t mem = atomic_load(&slots[i].mem);

		if (mem == 0 || at < mem || at - mem >= atomic_load(&slots[i].len))
			continue;
		if (mmap((void *)(at & ~(page_len - 1)), page_len, PROT_READ | PROT_WRITE,
			    PRIVATE_0, -1, 0) == MAP_FAILED)
			break;
		atomic_store(&slots[i].hurt, true);
		errno = kept;
		return;
	}
	/* Not ours: it comes again at once and ends the process as it always would. */
	signal(number, SIG_DFL);
	errno = kept;
}

static void handler_set(void)
{
	struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};

	page_len = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, &action, NULL);
}

static bool slot_take(struct mrc_area *area)
{
	/* Each time: EAL and others take the signal for a while and may not give it back. */
	handler_set();
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (atomic_load(&slots[i].mem) != 0)
			continue;
		atomic_store(&slots[i].hurt, false);
		atomic_store(&slots[i].len, area->len);
		atomic_store(&slots[i].mem, (uintptr_t)area->mem);
		area->slot = i;
		return true;
	}
	return false;
}

int mrc_area_alloc(struct mrc_area *area_out, uint64_t len, char *reason_out)
{
	void *mem = mrc_osmem_alloc(len);

	if (mem == NULL)
		return mrc_refuse(reason_out,
			"workload: no memory for a region of %llu bytes; lower \"message\", "
			"\"depth\" or \"qps\"",
			(unsigned long long)len);
	*area_out = (struct mrc_area){.mem = mem, .len = len};
	return MRC_OK;
}

/* Room on the disk for all of it: a page that finds none later would be a fatal signal. */
static bool reserve(int fd, uint64_t len)
{
	int err;

	if (ftruncate(fd, 0) != 0 || ftruncate(fd, (off_t)len) != 0)
		return false;
	err = posix_fallocate(fd, 0, (off_t)len);
	if (err == 0)
		return true;
	/* What it got of a full disk is given back. */
	(void)!ftruncate(fd, 0);
	errno = err;
	return false;
}

static bool same_file(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

static bool is_long(int fd, uint64_t len)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (uint64_t)st.st_size >= len;
}

/* Maps an open file that is good for it, or says why not. */
static int file_map(struct mrc_area *area, const char *path, bool write, char *reason)
{
	const int protection = write ? PROT_READ | PROT_WRITE : PROT_READ;
	void *mem = MAP_FAILED;

	if (!write && !is_long(area->fd, area->len))
		return mrc_refuse(
			reason, "workload.file: \"%s\" was cut short at this moment", path);
	if (!write || reserve(area->fd, area->len))
		mem = mmap(NULL, area->len, protection, MAP_SHARED, area->fd, 0);
	if (mem == MAP_FAILED)
		return mrc_refuse(reason, "workload.%s: cannot %s \"%s\": %s", KEY(write),
			VERB(write), path, strerror(errno));
	area->mem = mem;
	if (slot_take(area))
		return MRC_OK;
	munmap(mem, area->len);
	return mrc_refuse(reason, "workload.%s: more than %d files at a time", KEY(write), SLOTS);
}

int mrc_area_map(struct mrc_area *area_out, const char *path, uint64_t len, bool write,
	const struct mrc_area *spared, char *reason_out)
{
	struct mrc_area area = {.len = len, .mapped = true};
	int err;

	area.fd = open(path, (write ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0644);
	if (area.fd < 0)
		return mrc_refuse(reason_out, "workload.%s: cannot %s \"%s\": %s", KEY(write),
			VERB(write), path, strerror(errno));
	if (spared != NULL && spared->mapped && same_file(area.fd, spared->fd))
		err = mrc_refuse(reason_out,
			"workload.store: \"%s\" is the file that is sent; name another", path);
	else
		err = file_map(&area, path, write, reason_out);
	if (err)
		close(area.fd);
	else
		*area_out = area;
	return err;
}

bool mrc_area_is_hurt(const struct mrc_area *area)
{
	return area->mem != NULL && area->mapped &&
	       (atomic_load(&slots[area->slot].hurt) || !is_long(area->fd, area->len));
}

void mrc_area_free(struct mrc_area *area)
{
	if (area->mem == NULL)
		return;
	if (area->mapped) {
		atomic_store(&slots[area->slot].mem, (uintptr_t)0);
		munmap(area->mem, area->len);
		close(area->fd);
	} else {
		mrc_osmem_free(area->mem, area->len);
	}
	area->mem = NULL;
}
