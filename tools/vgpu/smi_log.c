/* SPDX-License-Identifier: MIT */
/* vgpu smi -q: all that is known, as nvidia-smi lays it out: text, or with -x XML (element names of nvsmi_device_v12.dtd). */
#include "smi.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct log {
	int xml, depth;
	const char *tag[8];
};

static void escaped(const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '&': fputs("&amp;", stdout); break;
		case '<': fputs("&lt;", stdout); break;
		case '>': fputs("&gt;", stdout); break;
		case '"': fputs("&quot;", stdout); break;
		default: putchar(*s);
		}
}

static void open_section(struct log *l, const char *label, const char *tag)
{
	if (l->xml)
		printf("%*s<%s>\n", l->depth, "", tag);
	else
		printf("%*s%s\n", l->depth * 4, "", label);
	l->tag[l->depth++] = tag;
}

static void close_section(struct log *l)
{
	l->depth--;
	if (l->xml)
		printf("%*s</%s>\n", l->depth, "", l->tag[l->depth]);
}

static void put(struct log *l, const char *label, const char *tag, const char *value)
{
	if (!l->xml) {
		printf("%*s%-*s: %s\n", l->depth * 4, "", 42 - l->depth * 4, label, value);
		return;
	}
	printf("%*s<%s>", l->depth, "", tag);
	escaped(value);
	printf("</%s>\n", tag);
}

static void put_mib(struct log *l, const char *label, const char *tag, uint64_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 " MiB", bytes >> 20);
	put(l, label, tag, text);
}

/* 0, or the section that -d names and that there is not. What the device has nothing of is one all the same. */
const char *smi_no_section(const char *list)
{
	static const char *const known[] = { "MEMORY", "UTILIZATION", "ECC", "TEMPERATURE", "POWER", "CLOCK", "COMPUTE", "PIDS", "PERFORMANCE",
		"SUPPORTED_CLOCKS", "PAGE_RETIREMENT", "ACCOUNTING", "ENCODER_STATS", "SUPPORTED_GPU_TARGET_TEMP", "VOLTAGE", "FBC_STATS", "ROW_REMAPPER",
		"RESET_STATUS", "GSP_FIRMWARE_VERSION", "POWER_SMOOTHING", "POWER_PROFILES" };

	for (const char *s = list; *s; s += strcspn(s, ","), s += *s == ',') {
		size_t i = 0, n = strcspn(s, ",");

		while (i < sizeof(known) / sizeof(known[0]) && (strlen(known[i]) != n || strncasecmp(s, known[i], n)))
			i++;
		if (i == sizeof(known) / sizeof(known[0]))
			return s;
	}
	return NULL;
}

static int wanted(const struct smi *o, const char *section)
{
	size_t k = strlen(section);

	if (!o->sections)
		return 1;
	for (const char *s = o->sections; *s; s += strcspn(s, ","), s += *s == ',')
		if (strcspn(s, ",") == k && !strncasecmp(s, section, k))
			return 1;
	return 0;
}

/* Sections of which there is nothing but that. */
static void absent(struct log *l, const char *label, const char *tag, const char *const *fields)
{
	open_section(l, label, tag);
	for (; *fields; fields += 2)
		put(l, fields[0], fields[1], "N/A");
	close_section(l);
}

static void identity(const struct smi *o, struct log *l, unsigned i)
{
	const struct vgpu_device_info *d = &o->s.device[i];
	char text[64];

	put(l, "Product Name", "product_name", d->name);
	put(l, "Product Brand", "product_brand", "Unknown");
	snprintf(text, sizeof(text), "CC %u.%u", d->cc_major, d->cc_minor);
	put(l, "Product Architecture", "product_architecture", text);
	put(l, "Display Mode", "display_mode", "Disabled");
	put(l, "Display Active", "display_active", "Disabled");
	put(l, "Persistence Mode", "persistence_mode", "Enabled");
	put(l, "Addressing Mode", "addressing_mode", "None");
	open_section(l, "MIG Mode", "mig_mode");
	put(l, "Current", "current_mig", "Disabled");
	put(l, "Pending", "pending_mig", "Disabled");
	close_section(l);
	put(l, "Serial Number", "serial", "N/A");
	smi_uuid(text, d->uuid);
	put(l, "GPU UUID", "uuid", text);
	snprintf(text, sizeof(text), "%u", i);
	put(l, "Minor Number", "minor_number", text);
	put(l, "VBIOS Version", "vbios_version", "N/A");
	put(l, "MultiGPU Board", "multigpu_board", "No");
}

static void pci(struct log *l, const struct vgpu_device_info *d)
{
	static const char *const none[] = { "Link Generation", "link_gen", "Link Width", "link_widths", NULL };
	char bus[32], text[32];

	smi_bus_id(bus, d->bus_id);
	open_section(l, "PCI", "pci");
	snprintf(text, sizeof(text), "0x%.2s", bus + 9);
	put(l, "Bus", "pci_bus", l->xml ? text + 2 : text);
	snprintf(text, sizeof(text), "0x%.2s", bus + 12);
	put(l, "Device", "pci_device", l->xml ? text + 2 : text);
	snprintf(text, sizeof(text), "0x%.4s", bus + 4);
	put(l, "Domain", "pci_domain", l->xml ? text + 2 : text);
	snprintf(text, sizeof(text), "%s%04X%04X", l->xml ? "" : "0x", d->pci_device & 0xffff, d->pci_vendor & 0xffff);
	put(l, "Device Id", "pci_device_id", text);
	put(l, "Bus Id", "pci_bus_id", bus);
	absent(l, "GPU Link Info", "pci_gpu_link_info", none);
	close_section(l);
}

static void processes(const struct smi *o, struct log *l, unsigned dev)
{
	struct smi_process *p;
	char name[512], text[32];
	unsigned n, any = 0;

	p = smi_processes(o, &n);
	open_section(l, "Processes", "processes");
	for (unsigned i = 0; i < n; i++) {
		if (p[i].device != dev)
			continue;
		any = 1;
		snprintf(text, sizeof(text), "%u", p[i].pid);
		smi_process(p[i].pid, p[i].comm, name, sizeof(name));
		if (l->xml)
			open_section(l, "", "process_info");
		put(l, "Process ID", "pid", text);
		put(l, "    Type", "type", "C");
		put(l, "    Name", "process_name", name);
		put_mib(l, "    Used GPU Memory", "used_memory", p[i].memory);
		if (l->xml)
			close_section(l);
	}
	if (!any && !l->xml)
		put(l, "None", "", "");
	close_section(l);
	free(p);
}

static void device(const struct smi *o, struct log *l, unsigned i)
{
	static const char *const temperature[] = { "GPU Current Temp", "gpu_temp", "GPU Shutdown Temp", "gpu_temp_max_threshold",
		"Memory Current Temp", "memory_temp", NULL };
	static const char *const power[] = { "Average Power Draw", "average_power_draw", "Instantaneous Power Draw", "instant_power_draw",
		"Current Power Limit", "current_power_limit", NULL };
	static const char *const clocks[] = { "Graphics", "graphics_clock", "SM", "sm_clock", "Memory", "mem_clock", "Video", "video_clock", NULL };
	static const char *const ecc[] = { "Current", "current_ecc", "Pending", "pending_ecc", NULL };
	const struct vgpu_device_info *d = &o->s.device[i];
	const struct vgpu_load *u = &o->s.load.device[i];
	uint64_t used = u->memory_used < d->memory_bytes ? u->memory_used : d->memory_bytes;
	char text[32];

	if (!u->state)
		put(l, "State", "state", "GPU is lost");
	if (!o->sections) {
		identity(o, l, i);
		pci(l, d);
		put(l, "Fan Speed", "fan_speed", "N/A");
	}
	if (wanted(o, "PERFORMANCE"))
		put(l, "Performance State", "performance_state", "N/A");
	if (wanted(o, "MEMORY") && u->state) {
		open_section(l, "FB Memory Usage", "fb_memory_usage");
		put_mib(l, "Total", "total", d->memory_bytes);
		put_mib(l, "Reserved", "reserved", 0);
		put_mib(l, "Used", "used", used);
		snprintf(text, sizeof(text), "%" PRIu64 " MiB", (d->memory_bytes >> 20) - (used >> 20));
		put(l, "Free", "free", text);
		close_section(l);
	}
	if (wanted(o, "COMPUTE"))
		put(l, "Compute Mode", "compute_mode", "Default");
	if (wanted(o, "UTILIZATION") && u->state) {
		open_section(l, "Utilization", "utilization");
		snprintf(text, sizeof(text), "%u %%", smi_percent(u->permille));
		put(l, "GPU", "gpu_util", text);
		put(l, "Memory", "memory_util", text);
		put(l, "Encoder", "encoder_util", "N/A");
		put(l, "Decoder", "decoder_util", "N/A");
		close_section(l);
	}
	if (wanted(o, "ECC"))
		absent(l, "ECC Mode", "ecc_mode", ecc);
	if (wanted(o, "TEMPERATURE"))
		absent(l, "Temperature", "temperature", temperature);
	if (wanted(o, "POWER"))
		absent(l, "GPU Power Readings", "gpu_power_readings", power);
	if (wanted(o, "CLOCK"))
		absent(l, "Clocks", "clocks", clocks);
	if (wanted(o, "PIDS"))
		processes(o, l, i);
}

void smi_log(const struct smi *o)
{
	struct log l = { .xml = o->xml };
	char text[64], bus[32], cuda[SMI_CUDA];

	if (o->xml) {
		printf("<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n");
		open_section(&l, "", "nvidia_smi_log");
	} else {
		printf("\n==============NVSMI LOG==============\n\n");
	}
	smi_now(text, sizeof(text), "%a %b %e %H:%M:%S %Y");
	put(&l, "Timestamp", "timestamp", text);
	put(&l, "Driver Version", "driver_version", VGPU_NVIDIA_DRIVER);
	put(&l, "CUDA Version", "cuda_version", smi_cuda(cuda, &o->s));
	if (!o->xml)
		putchar('\n');
	snprintf(text, sizeof(text), "%u", o->s.devices);
	put(&l, "Attached GPUs", "attached_gpus", text);
	for (unsigned i = 0; i < o->s.devices; i++) {
		if (!o->chosen[i])
			continue;
		smi_bus_id(bus, o->s.device[i].bus_id);
		if (o->xml)
			printf(" <gpu id=\"%s\">\n", bus);
		else
			printf("GPU %s\n", bus);
		l.tag[l.depth++] = "gpu";
		device(o, &l, i);
		close_section(&l);
		if (!o->xml)
			putchar('\n');
	}
	if (o->xml)
		close_section(&l);
}
