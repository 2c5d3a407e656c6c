/* SPDX-License-Identifier: MIT */
/* vgpu smi dmon, pmon and topo: lines as nvidia-smi has them; "-" for what a device does not have. */
#include "smi.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEADER_EVERY 30u

struct watch {
	struct smi o;
	int processes;
	unsigned count, delay_s;
	const char *select, *order;     /* order: D, T: the date, the time before each line */
};

/* What -s selects, in the order of its letters; columns and their units. */
static const struct group {
	char letter;
	const char *names, *units;
} groups[] = {
	{ 'p', "    pwr  gtemp  mtemp", "      W      C      C" },
	{ 'u', "     sm    mem    enc    dec    jpg    ofa", "      %      %      %      %      %      %" },
	{ 'c', "   mclk   pclk", "    MHz    MHz" },
	{ 'v', "  pviol  tviol", "      %   bool" },
	{ 'm', "     fb   bar1   ccpm", "     MB     MB     MB" },
	{ 'e', "  sbecc  dbecc    pci", "   errs   errs   errs" },
	{ 't', "  rxpci  txpci", "   MB/s   MB/s" },
};

static const struct group *group_of(char letter)
{
	for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (groups[i].letter == letter)
			return &groups[i];
	return NULL;
}

/* In front of a line (0), or of the two of a header. */
static void when(const struct watch *w, int header)
{
	static const struct { const char *date, *clock; } is[] = { { "%Y%m%d", "%H:%M:%S" }, { "Date    ", "Time    " }, { "YYYYMMDD", "HH:MM:SS" } };
	int d = strchr(w->order, 'D') != NULL, t = strchr(w->order, 'T') != NULL;
	char date[32], clock[32];

	smi_now(date, sizeof(date), is[header].date);
	smi_now(clock, sizeof(clock), is[header].clock);
	if (d || t)
		printf("%s%s%s%s ", header ? "#" : "", d ? date : "", d && t ? " " : "", t ? clock : "");
	if (header)
		fputs(d || t ? "  " : "# ", stdout);
}

static void dashes(unsigned n)
{
	while (n--)
		printf(" %6s", "-");
}

static void device_header(const struct watch *w)
{
	when(w, 1);
	printf("gpu ");
	for (const char *s = w->select; *s; s++)
		fputs(group_of(*s)->names, stdout);
	printf(" \n");
	when(w, 2);
	printf("Idx ");
	for (const char *s = w->select; *s; s++)
		fputs(group_of(*s)->units, stdout);
	printf(" \n");
}

static void device_lines(const struct watch *w)
{
	for (unsigned i = 0; i < w->o.s.devices; i++) {
		const struct vgpu_load *l = &w->o.s.load.device[i];

		if (!w->o.chosen[i])
			continue;
		when(w, 0);
		printf("%5u ", i);
		for (const char *s = w->select; *s; s++) {
			if (*s == 'u' && l->state) {
				printf(" %6u %6u", smi_percent(l->permille), smi_percent(l->permille));
				dashes(4);
			} else if (*s == 'm' && l->state) {
				printf(" %6" PRIu64, l->memory_used >> 20);
				dashes(2);
			} else {
				dashes((unsigned)strlen(group_of(*s)->names) / 7);
			}
		}
		printf(" \n");
	}
}

static void process_header(const struct watch *w)
{
	int u = strchr(w->select, 'u') != NULL, m = strchr(w->select, 'm') != NULL;

	when(w, 1);
	printf("gpu         pid   type %s%s   command \n", u ? "    sm    mem    enc    dec    jpg    ofa " : "", m ? "    fb   ccpm " : "");
	when(w, 2);
	printf("Idx           #    C/G %s%s   name \n", u ? "     %      %      %      %      %      % " : "", m ? "    MB     MB " : "");
}

static void process_lines(const struct watch *w)
{
	char name[512];
	unsigned n, any;
	struct smi_process *p = smi_processes(&w->o, &n);

	for (unsigned d = 0; d < w->o.s.devices; d++) {
		any = 0;
		for (unsigned i = 0; i < n; i++) {
			const char *base;

			if (p[i].device != d)
				continue;
			any = 1;
			when(w, 0);
			printf("%5u %11u %6s ", d, p[i].pid, "C");
			if (strchr(w->select, 'u'))
				printf("%6u %6u      -      -      -      - ", smi_percent(p[i].permille), smi_percent(p[i].permille));
			if (strchr(w->select, 'm'))
				printf("%6" PRIu64 "      - ", p[i].memory >> 20);
			smi_process(p[i].pid, p[i].comm, name, sizeof(name));
			base = strrchr(name, '/');
			printf("   %s \n", base ? base + 1 : name);
		}
		if (!any && w->o.chosen[d]) {
			when(w, 0);
			printf("%5u %11s %6s ", d, "-", "-");
			if (strchr(w->select, 'u'))
				printf("     -      -      -      -      -      - ");
			if (strchr(w->select, 'm'))
				printf("     -      - ");
			printf("   - \n");
		}
	}
	free(p);
}

static int refuse(const char *which, const char *what)
{
	complain("smi %s: %s: not understood; vgpu smi --help", which, what);
	return 2;
}

int smi_watch(int argc, char **argv)
{
	struct watch w = { .processes = argv[0][0] == 'p', .delay_s = 1 };
	int st;

	w.select = w.processes ? "u" : "puc";
	w.order = "";
	for (int i = 1; i < argc; i++) {
		char *end = argv[i];

		if (i + 1 == argc || argv[i][0] != '-' || !argv[i][1] || argv[i][2])
			return refuse(argv[0], argv[i]);
		switch (argv[i++][1]) {
		case 'c': w.count = (unsigned)strtoul(argv[i], &end, 10); break;
		case 'd': w.delay_s = (unsigned)strtoul(argv[i], &end, 10); break;
		case 'i': w.o.ids = argv[i]; break;
		case 's': w.select = argv[i]; break;
		case 'o': w.order = argv[i]; break;
		case 'f': w.o.file = argv[i]; break;
		default: return refuse(argv[0], argv[i - 1]);
		}
		if ((argv[i - 1][1] == 'c' || argv[i - 1][1] == 'd') && (*end || end == argv[i] || !strtoul(argv[i], NULL, 10)))
			return refuse(argv[0], argv[i]);
	}
	if (!*w.select || w.select[strspn(w.select, w.processes ? "um" : "pucvmet")])
		return refuse(argv[0], w.select);
	if (w.order[strspn(w.order, "DT")] || strlen(w.order) > 2)
		return refuse(argv[0], w.order);
	if (w.o.file && !freopen(w.o.file, "w", stdout)) {
		complain("smi: cannot write %s: %s", w.o.file, strerror(errno));
		return 1;
	}
	for (unsigned n = 0;; n++) {
		st = smi_ask(&w.o);
		st = st ? st : smi_choose(&w.o);
		if (st)
			return st;
		if (n % HEADER_EVERY == 0)
			(w.processes ? process_header : device_header)(&w);
		(w.processes ? process_lines : device_lines)(&w);
		agent_status_free(&w.o.s);
		if (fflush(stdout) || (w.count && n + 1 == w.count))
			return 0;
		nanosleep(&(struct timespec){ w.delay_s, 0 }, NULL);
	}
}

static void first_line(const char *path, char *out, size_t n)
{
	FILE *f = fopen(path, "re");

	snprintf(out, n, "N/A");
	if (f) {
		if (fgets(out, (int)n, f))
			out[strcspn(out, "\n")] = 0;
		fclose(f);
	}
}

int smi_topo(int argc, char **argv)
{
	struct smi o = { .what = SMI_TABLE };
	char cpus[256], nodes[64];
	int st;

	if (argc != 2 || (strcmp(argv[1], "-m") && strcmp(argv[1], "--matrix")))
		return refuse("topo", argc > 1 ? argv[1] : "-m is missing");
	st = smi_ask(&o);
	if (st)
		return st;
	first_line("/sys/devices/system/cpu/online", cpus, sizeof(cpus));
	first_line("/sys/devices/system/node/has_memory", nodes, sizeof(nodes));
	for (unsigned i = 0; i < o.s.devices; i++)
		printf("\tGPU%u", i);
	printf("\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n");
	for (unsigned i = 0; i < o.s.devices; i++) {
		printf("GPU%u", i);
		for (unsigned k = 0; k < o.s.devices; k++)
			printf("\t%s", i == k ? " X " : "SYS");
		printf("\t%s\t%s\t\tN/A\n", cpus, nodes);
	}
	printf("\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing the machine's memory: there is no link between these devices\n");
	agent_status_free(&o.s);
	return 0;
}
