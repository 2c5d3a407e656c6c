/* SPDX-License-Identifier: MIT */
/*
 * vgpu sanitizer: vgpu run --memcheck as users of compute-sanitizer type it; by the name compute-sanitizer it is this command too.
 * An option that we do not have is refused by name: a check that was asked for and not done would look like a clean program.
 */
#define _GNU_SOURCE
#include "vgpu.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What an option may be, and what that means here; a NULL word: anything, and no effect. */
static const struct { const char *option, *word, *why; } known[] = {
	{ "target-processes", "all", NULL },
	{ "target-processes", "application-only", "children are checked as well" },
	{ "destroy-on-device-error", "context", NULL },
	{ "destroy-on-device-error", "kernel", "an access that is not allowed ends the context, as it does on the device" },
	{ "check-device-heap", "yes", NULL },
	{ "check-device-heap", "no", "device malloc is always checked" },
	{ "racecheck-report", "analysis", NULL },
	{ "racecheck-report", "hazard", "races are told as one report for an instruction" },
	{ "racecheck-report", "all", "races are told as one report for an instruction" },
	{ "show-backtrace", "no", NULL },
	{ "show-backtrace", "device", "reports name the instruction and what it was inlined into" },
	{ "show-backtrace", "yes", "reports name the instruction and what it was inlined into" },
	{ "require-cuda-init", "no", NULL },
	{ "print-level", NULL, NULL },
	{ "language", "c", NULL },
	{ "padding", NULL, NULL },      /* bounds are known to the byte without it */
};

static const char help_text[] =
	"usage: vgpu sanitizer [options] CMD [ARG...]          also as lib/vgpu/compute-sanitizer\n"
	"  --tool memcheck|racecheck|initcheck|synccheck   what is looked for: accesses that are not allowed (always), races on\n"
	"                       shared memory, memory read before it is written, barriers that not all threads reach\n"
	"  --leak-check full|no        memory that CMD never frees, and where it was allocated\n"
	"  --report-api-errors explicit|all|no   (of memcheck) CMD's CUDA calls that fail, all: also calls inside of those. Programs that\n"
	"                       have libcuda-lite.a inside are not looked at\n"
	"  --error-exitcode N          exit status where there are errors\n"
	"  --log-file FILE             for the reports; %p is the process id\n"
	"  --print-limit N             reports in full of one launch: 32\n"
	"  --demangle full|simple|no   names of functions\n"
	"  Taken where they ask for what is done anyway: --target-processes all, --destroy-on-device-error context,\n"
	"  --check-device-heap yes, --racecheck-report analysis, --show-backtrace no, --require-cuda-init no, --padding N,\n"
	"  --print-level LEVEL. All others are refused.\n"
	"  vgpu run --memcheck [--initcheck] looks for everything at once.\n";

static int no_such(const char *option, const char *value)
{
	complain("sanitizer: --%s%s%s is not there: vgpu sanitizer --help has what is", option, value ? " " : "", value ? value : "");
	return 125;
}

static int accept_known(const char *option, const char *value)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(option, known[i].option) || (known[i].word && strcmp(value, known[i].word)))
			continue;
		if (!known[i].why)
			return 0;
		complain("sanitizer: --%s %s is not there: %s", option, value, known[i].why);
		return 125;
	}
	return no_such(option, value);
}

static int one_of(const char *value, const char *words)
{
	size_t n = strlen(value);

	for (const char *p = words; *p; p += strcspn(p, "|"), p += *p == '|')
		if (n && strcspn(p, "|") == n && !memcmp(p, value, n))
			return 1;
	return 0;
}

/* %p in a file's name */
static char *log_name(const char *value)
{
	const char *p = strstr(value, "%p");
	char *name = NULL;

	if (!p)
		return strdup(value);
	if (asprintf(&name, "%.*s%d%s", (int)(p - value), value, (int)getpid(), p + 2) < 0)
		return NULL;
	return name;
}

int cmd_sanitizer(int argc, char **argv)
{
	char **out = calloc((size_t)argc + 12, sizeof(*out)), check[128], option[64];
	const char *tool = "memcheck", *names = "full", *calls = NULL, *value;
	int n = 0, i, limit = 32, leak = 0, status = 125;

	if (!out)
		return 125;
	out[n++] = (char *)"run";
	out[n++] = (char *)"--memcheck";
	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		size_t k = strcspn(argv[i], "=");

		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			fputs(help_text, stdout);
			status = 0;
			goto out;
		}
		if (!strcmp(argv[i], "--version")) {
			puts("vgpu sanitizer " VGPU_VERSION);
			status = 0;
			goto out;
		}
		if (strncmp(argv[i], "--", 2) || k - 2 >= sizeof(option)) {
			status = no_such(argv[i] + strspn(argv[i], "-"), NULL);
			goto out;
		}
		memcpy(option, argv[i] + 2, k - 2);
		option[k - 2] = 0;
		value = argv[i][k] ? argv[i] + k + 1 : i + 1 < argc ? argv[++i] : "";
		if (!strcmp(option, "tool") && one_of(value, "memcheck|racecheck|initcheck|synccheck")) {
			tool = value;
		} else if (!strcmp(option, "leak-check") && one_of(value, "full|no")) {
			leak = *value == 'f';
		} else if (!strcmp(option, "report-api-errors") && one_of(value, "explicit|all|no")) {
			calls = value;
		} else if (!strcmp(option, "demangle") && one_of(value, "full|simple|no")) {
			names = value;
		} else if (!strcmp(option, "print-limit") && *value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 9) {
			limit = atoi(value);
		} else if (!strcmp(option, "error-exitcode")) {
			out[n++] = (char *)"--error-exitcode";
			out[n++] = (char *)value;
		} else if (!strcmp(option, "log-file") && *value) {
			out[n++] = (char *)"--log-file";
			out[n] = log_name(value);
			if (!out[n++])
				goto out;
		} else if (accept_known(option, value)) {
			goto out;
		}
	}
	if (i >= argc) {
		fputs(help_text, stderr);
		goto out;
	}
	if (leak && strcmp(tool, "memcheck")) {
		complain("sanitizer: --leak-check is of --tool memcheck");
		goto out;
	}
	if (leak)
		out[n++] = (char *)"--leak-check";
	if (calls && *calls != 'n' && strcmp(tool, "memcheck")) {
		complain("sanitizer: --report-api-errors is of --tool memcheck");
		goto out;
	}
	/* as compute-sanitizer does where nothing else is said */
	if (!calls && !strcmp(tool, "memcheck") && !getenv("VGPU_TRACE"))
		calls = "explicit";
	if (calls && *calls != 'n') {
		out[n++] = (char *)"--report-api-errors";
		out[n++] = (char *)calls;
	}
	snprintf(check, sizeof(check), "%s,limit=%d,demangle=%s", !strcmp(tool, "racecheck") ? "race" : !strcmp(tool, "initcheck") ? "init" :
		 !strcmp(tool, "synccheck") ? "sync" : "none", limit, names);
	if (setenv("VGPU_MEMCHECK", check, 1))
		goto out;
	out[n++] = (char *)"--";
	while (i < argc)
		out[n++] = argv[i++];
	status = cmd_run(n, out);
out:
	free(out);
	return status;
}
