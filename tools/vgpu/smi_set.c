/* SPDX-License-Identifier: MIT */
/*
 * vgpu smi: nvidia-smi's options that set something, the queries of what this device does not have, and its other subcommands. What is
 * as it is asked for already is told so (exit 0); what cannot be had, by its name (exit 3, nvidia-smi's: not available on the device).
 */
#include "smi.h"

#include <string.h>
#include <strings.h>

enum { NOT_AVAILABLE = 3 };

/* holds: the values that are so already; takes: all that nvidia-smi knows, NULL: any. */
static const struct setting {
	const char *shorter, *longer, *what;
	const char *holds, *says, *takes;
	int value;
} settings[] = {
	{ "-pm", "--persistence-mode", "persistence mode", "1 ENABLED", "Persistence mode is already Enabled", "0 1 DISABLED ENABLED", 1 },
	{ "-c", "--compute-mode", "compute mode", "0 DEFAULT", "Compute mode is already set to DEFAULT",
	  "0 1 2 3 DEFAULT EXCLUSIVE_THREAD PROHIBITED EXCLUSIVE_PROCESS", 1 },
	{ "-mig", "--multi-instance-gpu", "MIG mode", "0 DISABLED", "MIG Mode is already Disabled", "0 1 DISABLED ENABLED", 1 },
	{ "-am", "--accounting-mode", "accounting mode", "0 DISABLED", "Accounting mode is already set to Disabled", "0 1 DISABLED ENABLED", 1 },
	{ "-e", "--ecc-config", "ECC mode", "", NULL, "0 1 DISABLED ENABLED", 1 },
	{ "-p", "--reset-ecc-errors", "ECC errors", "", NULL, "0 1 VOLATILE AGGREGATE", 1 },
	{ "-gom", "--gom", "GPU operation mode", "", NULL, NULL, 1 },
	{ "-r", "--gpu-reset", "the device anew", "", NULL, NULL, 0 },
	{ "-vm", "--virt-mode", "virtualization mode", "", NULL, NULL, 1 },
	{ "-lgc", "--lock-gpu-clocks", "locked GPU clocks", "", NULL, NULL, 1 },
	{ "-rgc", "--reset-gpu-clocks", "locked GPU clocks", "", NULL, NULL, 0 },
	{ "-lmc", "--lock-memory-clocks", "locked memory clocks", "", NULL, NULL, 1 },
	{ "-rmc", "--reset-memory-clocks", "locked memory clocks", "", NULL, NULL, 0 },
	{ "-lmcd", "--lock-memory-clocks-deferred", "locked memory clocks", "", NULL, NULL, 1 },
	{ "-rmcd", "--reset-memory-clocks-deferred", "locked memory clocks", "", NULL, NULL, 0 },
	{ "-ac", "--applications-clocks", "applications clocks", "", NULL, NULL, 1 },
	{ "-rac", "--reset-applications-clocks", "applications clocks", "", NULL, NULL, 0 },
	{ "-pl", "--power-limit", "power management limit", "", NULL, NULL, 1 },
	{ "-cc", "--cuda-clocks", "CUDA clocks", "", NULL, NULL, 1 },
	{ "-caa", "--clear-accounted-apps", "accounted applications", "", NULL, NULL, 0 },
	{ "-abd", "--auto-boost-default", "auto boost", "", NULL, NULL, 1 },
	{ "-gtt", "--gpu-target-temp", "target temperature", "", NULL, NULL, 1 },
};

/* Fields that nvidia-smi has of things that are not here; those of any device are smi_query.c's. */
static const struct absent {
	const char *option, *fields;
} absent[] = {
	{ "--query-accounted-apps", "vgpu_instance pid gpu_utilization gpu_util mem_utilization mem_util max_memory_usage max_mem time" },
	{ "--query-retired-pages", "retired_pages.address retired_pages.timestamp retired_pages.cause" },
	{ "--query-remapped-rows", "remapped_rows.correctable remapped_rows.uncorrectable remapped_rows.pending remapped_rows.failure" },
	{ "--query-supported-clocks", "memory mem graphics gr" },
};

static const struct { const char *name, *lacks; } commands[] = {
	{ "nvlink", "NVLink" }, { "c2c", "chip-to-chip links" }, { "mig", "MIG" }, { "vgpu", "NVIDIA vGPU" }, { "clocks", "clocks that can be set" },
	{ "encodersessions", "an encoder" }, { "fbcsessions", "frame capture" }, { "boost-slider", "boost" }, { "power-hint", "a power model" },
	{ "power-smoothing", "power smoothing" }, { "power-profiles", "power profiles" }, { "conf-compute", "confidential computing" },
	{ "compute-policy", "compute policies" }, { "pci", "PCI counters" }, { "gpm", "performance counters" }, { "prm", "PRM registers" },
	{ "drain", "a drain by nvidia-smi; see vgpu ctl drain" }, { "daemon", "nvidia-smi's daemon; see vgpu metrics --listen" },
	{ "replay", "nvidia-smi's logs" }, { "stats", "such samples; see vgpu smi dmon, vgpu metrics" },
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static int among(const char *words, const char *word, size_t n)
{
	for (const char *w = words; *w; w += strcspn(w, " "), w += *w == ' ')
		if (strcspn(w, " ") == n && !strncasecmp(w, word, n))
			return 1;
	return 0;
}

int smi_option_of(struct smi *o, int argc, char **argv, int *i)
{
	for (unsigned k = 0; k < COUNT(settings); k++) {
		const struct setting *s = &settings[k];
		size_t n = strlen(s->longer);
		const char *v = NULL;

		if (s->value && !strncmp(argv[*i], s->longer, n) && argv[*i][n] == '=')
			v = argv[*i] + n + 1;
		else if (strcmp(argv[*i], s->shorter) && strcmp(argv[*i], s->longer))
			continue;
		else if (s->value)
			v = *i + 1 < argc ? argv[++*i] : NULL;
		if (s->value && (!v || !*v || (s->takes && !among(s->takes, v, strlen(v)))))
			return -1;
		o->what = SMI_SET;
		o->setting = k;
		o->value = v;
		return 1;
	}
	for (unsigned k = 0; k < COUNT(absent); k++) {
		size_t n = strlen(absent[k].option);

		if (strncmp(argv[*i], absent[k].option, n) || (argv[*i][n] && argv[*i][n] != '='))
			continue;
		o->fields = argv[*i][n] ? argv[*i] + n + 1 : *i + 1 < argc ? argv[++*i] : NULL;
		o->what = SMI_ABSENT;
		o->setting = k;
		return o->fields ? 1 : -1;
	}
	return 0;
}

int smi_set(const struct smi *o)
{
	const struct setting *s = &settings[o->setting];
	int st = 0;
	char bus[32];

	for (unsigned i = 0; i < o->s.devices; i++) {
		if (!o->chosen[i])
			continue;
		smi_bus_id(bus, o->s.device[i].bus_id);
		if (o->value && among(s->holds, o->value, strlen(o->value))) {
			printf("%s for GPU %s.\n", s->says, bus);
		} else {
			printf("Setting %s is not supported for GPU %s.\n", s->what, bus);
			st = NOT_AVAILABLE;
		}
	}
	puts(st ? "Nothing is changed." : "All done.");
	return st;
}

/* Whether the fields are nvidia-smi's; there are no rows. */
int smi_absent_field(const struct smi *o, const char *name, size_t n)
{
	return among(absent[o->setting].fields, name, n);
}

int smi_other(const char *name)
{
	if (!strcmp(name, "mig")) {
		puts("No MIG-enabled devices found.");
		return 6;
	}
	for (unsigned k = 0; k < COUNT(commands); k++)
		if (!strcmp(name, commands[k].name)) {
			complain("smi %s: not supported: no device here has %s", name, commands[k].lacks);
			return NOT_AVAILABLE;
		}
	return -1;
}
