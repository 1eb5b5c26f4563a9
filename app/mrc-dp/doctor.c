/* SPDX-License-Identifier: BSD-2-Clause */
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "doctor_private.h"

const char *mrc_doctor_verdict_name(enum mrc_doctor_verdict verdict)
{
	static const char *const names[] = {"OK", "WARN", "FAIL"};

	return (unsigned)verdict < 3 ? names[verdict] : "?";
}

void mrc_doctor_add(struct doctor *doc, enum mrc_doctor_verdict verdict, const char *topic,
	const char *mend, const char *fmt, ...)
{
	struct mrc_doctor_line *line;
	va_list args;

	if (doc->report->nb == MRC_DOCTOR_LINES)
		return;
	line = &doc->report->lines[doc->report->nb++];
	line->verdict = verdict;
	line->topic = topic;
	va_start(args, fmt);
	vsnprintf(line->text, sizeof(line->text), fmt, args);
	va_end(args);
	snprintf(line->mend, sizeof(line->mend), "%s", verdict == MRC_DOCTOR_OK ? "" : mend);
}

static bool has_cap(const struct doctor *doc, uint32_t cap)
{
	return (doc->host->caps >> cap & 1) != 0;
}

static bool devices_start(const struct doctor *doc, const char *head)
{
	for (uint32_t i = 0; i < doc->want->nb_devices; i++)
		if (strncmp(doc->want->devices[i], head, strlen(head)) == 0)
			return true;
	return false;
}

static void caps_check(struct doctor *doc)
{
	static const char mend[] = "sudo setcap cap_net_admin,cap_net_raw,cap_ipc_lock+ep "
				   "$(command -v mrc-dp)";
	bool raw = devices_start(doc, "net_af_packet") || devices_start(doc, "net_af_xdp") ||
		   devices_start(doc, "net_pcap") || devices_start(doc, "net_tap");

	if (raw && !has_cap(doc, CAP_NET_RAW))
		mrc_doctor_add(
			doc, MRC_DOCTOR_FAIL, "rights", mend, "the file's ports need CAP_NET_RAW");
	else if (raw && !has_cap(doc, CAP_NET_ADMIN))
		mrc_doctor_add(doc, MRC_DOCTOR_FAIL, "rights", mend,
			"the file's ports need CAP_NET_ADMIN");
	else if (doc->host->is_root)
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "rights", "", "root");
	else
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "rights", "",
			"not root; what the file's ports need is there");
}

static void memlock_check(struct doctor *doc)
{
	uint64_t limit_mib = doc->host->memlock_len >> 20, need_mib = doc->want->memory_mib;

	if (doc->host->is_root || has_cap(doc, CAP_IPC_LOCK) ||
		doc->host->memlock_len == UINT64_MAX) {
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "memlock", "", "memory may be locked");
		return;
	}
	if (limit_mib < need_mib)
		mrc_doctor_add(doc, MRC_DOCTOR_WARN, "memlock", "ulimit -l unlimited",
			"%llu MiB may be locked, %llu are used: real NICs and memory locking "
			"will fail",
			(unsigned long long)limit_mib, (unsigned long long)need_mib);
	else
		mrc_doctor_add(doc, MRC_DOCTOR_OK, "memlock", "", "%llu MiB may be locked",
			(unsigned long long)limit_mib);
}

void mrc_doctor_rights(struct doctor *doc)
{
	caps_check(doc);
	memlock_check(doc);
}

void mrc_doctor_run(const struct mrc_doctor_host *host, const struct mrc_doctor_want *want,
	struct mrc_doctor_report *report_out)
{
	struct doctor doc = {.host = host, .want = want, .report = report_out};

	report_out->nb = 0;
	mrc_doctor_cpu(&doc);
	mrc_doctor_memory(&doc);
	mrc_doctor_rights(&doc);
	mrc_doctor_ports(&doc);
}

enum mrc_doctor_verdict mrc_doctor_worst(const struct mrc_doctor_report *report)
{
	enum mrc_doctor_verdict worst = MRC_DOCTOR_OK;

	for (uint32_t i = 0; i < report->nb; i++)
		if (report->lines[i].verdict > worst)
			worst = report->lines[i].verdict;
	return worst;
}
